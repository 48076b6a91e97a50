"""All settings of a run that learns to classify texts, or to give them scores."""

from typing import Literal

from transduce.config import Settings
from transduce.ranges import ShareWithin
from transduce.tasks.encoder_settings import EncoderExperimentConfig

DEFAULT_SHARE = 0.1
Column = int | str


class LabelledConfig(Settings, frozen=True):
    """A built-in data set of labelled texts, or files of them; paths are relative to the file that names them.

    A .tsv file has a text, or two, and a label on each line, with tabs between; a .jsonl file an object on each line.
    """

    dataset: str | None = None
    """Name of a built-in data set; `transduce data list` shows them."""
    language: str = "en"
    """Language of the texts."""
    train: str | list[str] | None = None
    """Training files, .tsv or .jsonl; .gz, .xz and .zst are read too."""
    validation: str | list[str] | None = None
    """Validation files; a share of the training texts unless given."""
    test: str | list[str] | None = None
    """Test files, scored when training ends."""
    validation_share: ShareWithin | None = None
    """Share of the training texts to validate on, drawn at random; 0.1 unless given."""
    text: Column | None = None
    """Column of the text: its number, or its name in the first line, or its key; default: the first, or "text"."""
    second: Column | None = None
    """Column of a second text, which is read together with the first; default: there is none."""
    label: Column | None = None
    """Column of the label; default: the one after the texts, or "label"."""

    def _check_together(self) -> None:
        for name in ("train", "validation", "test"):
            if (files := getattr(self, name)) is not None and not files:
                raise ValueError(f"{name} names no file; name one or more, or leave it out")
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.dataset is not None and (self.validation is not None or self.test is not None):
            raise ValueError("validation and test are for files; a data set has its own")
        if self.validation_share is not None and self.validation is not None:
            raise ValueError("validation_share: validation data are given; leave one of them out")


class ClassificationConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a classifier."""

    data: LabelledConfig
    """What is learned from."""
    predict: Literal["class", "score"] = "class"
    """What a label is: one of some classes, or a number."""
