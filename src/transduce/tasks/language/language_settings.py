"""All settings of a run that learns a language model."""

from typing import ClassVar

from transduce.base.config import Settings
from transduce.base.ranges import ShareWithin
from transduce.data.windows import WindowsConfig
from transduce.models.families import LanguageModelConfig
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.text.tokenizer_settings import TokenizerConfig, tokenizer_setting

DEFAULT_SHARE = 0.05


class TextConfig(Settings, frozen=True):
    """A built-in text, or files of text; paths are relative to the file that names them."""

    dataset: str | None = None
    """Name of a built-in text; `transduce data list` shows them."""
    language: str = "text"
    """Language of the text."""
    train: str | list[str] | None = None
    """Training files, plain text or .gz, .xz and .zst, read one after another."""
    validation: str | list[str] | None = None
    """Validation files (default: the last lines of the training files)."""
    test: str | list[str] | None = None
    """Test files, scored when training ends."""
    general_validation: str | list[str] | None = None
    """Validation files of text like that of the model to start from, to measure what it forgets."""
    general_test: str | list[str] | None = None
    """Test files of that text, scored when training ends."""
    validation_share: ShareWithin | None = None
    """Share of the training files' lines to validate on (default: 0.05)."""

    def _check_together(self) -> None:
        for name in ("train", "validation", "test", "general_validation", "general_test"):
            if (files := getattr(self, name)) is not None and not files:
                raise ValueError(f"{name} names no file; name one or more, or leave it out")
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.validation_share is not None and (self.validation is not None or self.dataset is not None):
            raise ValueError("validation_share: validation data are given; leave one of them out")


class LanguageConfig(ExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a language model."""

    objects: ClassVar = {"tokenizer": tokenizer_setting}

    data: TextConfig
    """The text to learn from."""
    model: LanguageModelConfig
    """The model to train."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """The tokenizer, which makes tokens of text."""
    batching: WindowsConfig = WindowsConfig()
    """Context length and batch size."""
