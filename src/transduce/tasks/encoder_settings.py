"""Settings shared by the runs of all tasks with text encoders."""

from typing import ClassVar

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.base.ranges import ShareWithin
from transduce.data.examples import TextBatchingConfig
from transduce.models.families import EncoderConfig
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.two_texts import check_weight
from transduce.text.tokenizer_settings import TokenizerConfig, tokenizer_setting
from transduce.training.training_settings import TeacherForcing


class ExamplesConfig(Settings, frozen=True):
    """A built-in data set of examples, or files of them; paths are relative to the file that names them."""

    dataset: str | None = None
    """Name of a built-in data set; `transduce data list` shows them."""
    language: str = "en"
    """Language of the texts."""
    train: str | list[str] | None = None
    """Training files; .gz, .xz and .zst are read too."""
    validation: str | list[str] | None = None
    """Validation files (default: a share of the training examples)."""
    test: str | list[str] | None = None
    """Test files, scored when training ends."""
    validation_share: ShareWithin | None = None
    """Share of the training texts to validate on, drawn at random with all their examples (default: 0.1)."""

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


class EncoderExperimentConfig(ExperimentConfig, frozen=True, kw_only=True):
    """Settings of runs that train an encoder of texts."""

    objects: ClassVar = {"tokenizer": tokenizer_setting}

    model: EncoderConfig | None = None
    """The encoder (default: that of `training.start_from`)."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """The tokenizer, which makes tokens of text; a model to start from keeps its tokenizer."""
    batching: TextBatchingConfig = TextBatchingConfig()
    """Size of batches and longest text."""


def check_encoder(config: EncoderExperimentConfig) -> None:
    """Raises ConfigError for a run without an encoder, or with settings that encoders do not support."""
    if config.model is None and config.training.start_from is None:
        raise ConfigError(
            "training.start_from is missing: give the folder of a pre-trained encoder (see docs/bert.md), or set "
            'model.kind = "bert" and model.size to train one from random weights'
        )
    if config.training.new_words is not None:
        raise ConfigError("training.new_words is for translation and language models; leave it out")
    check_weight(config.validation, has_general=False)
    if config.training.teacher_forcing != TeacherForcing():
        raise ConfigError("training.teacher_forcing is for models that write; leave it out")
    if not config.tokenizer.is_shared:
        raise ConfigError("tokenizer: an encoder has one vocabulary; leave out shared, source and target")
