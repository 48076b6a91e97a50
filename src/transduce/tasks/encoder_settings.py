"""The settings that the runs of all tasks of text encoders share."""

from transduce.data.examples import TextBatchingConfig
from transduce.errors import ConfigError
from transduce.models.families import EncoderConfig
from transduce.tasks.settings import ExperimentConfig
from transduce.text.tokenizer import TokenizerConfig


class EncoderExperimentConfig(ExperimentConfig, frozen=True, kw_only=True):
    """Settings of runs that train an encoder of texts."""

    model: EncoderConfig | None = None
    """The encoder; that of `training.start_from` unless given."""
    tokenizer: TokenizerConfig = TokenizerConfig()
    """How text becomes tokens; a model to start from keeps its tokenizer."""
    batching: TextBatchingConfig = TextBatchingConfig()
    """How much text is read at once."""


def check_validation(metrics: tuple[str, ...], best_by: str, known: list[str]) -> None:
    """Raise ConfigError for metrics of other tasks."""
    if metrics:
        raise ConfigError(f"validation.metrics: all of {', '.join(known)} are always told; leave it out")
    if best_by not in ("loss", *known):
        raise ConfigError(f"validation.best_by = '{best_by}': choose from loss, {', '.join(known)}")
