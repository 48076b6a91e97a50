"""The initial tokenizers and weights of a run: made for it, from a bundle, or from the run's own checkpoint."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import nn

from transduce.base.config import differences
from transduce.base.errors import CheckpointError, ConfigError
from transduce.base.task_table import check_task
from transduce.bundle.bundle_config import BundleConfig, read_config
from transduce.bundle.model_bundle import ModelBundle, read_history, read_tokenizers
from transduce.corpora.language_detector import DETECTION
from transduce.models.families import ModelConfig, build_model
from transduce.models.larger_vocabulary import with_new_tokens
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.task import Tell
from transduce.text.new_words import Growth, frequent_words, grow, read_words
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import DEFAULT_SUBWORDS, TokenizerConfig
from transduce.training.checkpoint import BUNDLE
from transduce.training.distributed import Processes
from transduce.training.training_settings import TrainingConfig

NEW_WORDS = "new_words"
"""Key in a bundle's history: how many source and target tokens were added to the initial model's vocabulary."""
NEW_LANGUAGES = "new_languages"
"""Key in a bundle's history: languages that were added to a model, each with the numbers of its tokens."""

Texts = Callable[[], Iterable[str]]
"""Reads the training text of one side."""


@dataclass(frozen=True)
class Origin:
    """The tokenizers and the model that a run begins with."""

    tokenizers: Tokenizers
    config: TokenizerConfig
    """Settings that the tokenizers were made with."""
    model: nn.Module | None
    """The model of `training.start_from`; None for random initial weights."""
    start: BundleConfig | None = None
    """The settings of the bundle or checkpoint that it begins with; None without one."""
    history: dict[str, Any] = field(default_factory=dict)
    """The part of that bundle's history that stays true after further training: where it was imported from."""

    def describe_vocabulary(self) -> str:
        """Describes the vocabulary sizes on one line, and says if the text yields fewer subwords than the default."""
        source, target = self.tokenizers.source, self.tokenizers.target
        line = f"vocabulary: {len(source):,} source and {len(target):,} target tokens"
        sides = ((self.config.of_source, source), (self.config.of_target, target))
        if any(side.is_smaller_than_default(len(tokenizer)) for side, tokenizer in sides):
            line += f", all that the training text yields of the {DEFAULT_SUBWORDS:,} that are the default"
        return line


def with_new_words(
    origin: Origin, config: TrainingConfig, model: ModelConfig, folder: Path, source: Texts, target: Texts, tell: Tell
) -> Origin:
    """Returns the origin of a run, with words added to the vocabulary of the model it starts from if the settings ask
    for it.

    Raises ConfigError if they cannot be added.
    """
    asked = config.new_words
    if asked is None or origin.model is None:
        return origin
    named = read_words(folder / asked.file) if asked.file is not None else []

    def grown(tokenizer: Tokenizer, texts: Iterable[str]) -> Growth:
        frequent = frequent_words(tokenizer, texts, asked.frequent, asked.min_pieces) if asked.frequent else []
        growth = grow(tokenizer, [*named, *frequent])
        given = [tokenizer.pieces(former) for former in growth.former]
        example = f", such as {growth.tokenizer.pieces([len(tokenizer)])[0]} ({' '.join(given[0])})" if given else ""
        tell(f"new words: {len(given):,} of {len(named):,} from the file and {len(frequent):,} frequent ones{example}")
        return growth

    before = origin.tokenizers
    if before.source is before.target:
        both = grown(before.target, (text for texts in (source, target) for text in texts()))
        growths = (both, both)
    else:
        growths = (grown(before.source, source()), grown(before.target, target()))
    sizes = (len(before.source), len(before.target))
    larger = with_new_tokens(model, origin.model, sizes, growths[0].former, growths[1].former)
    tokenizers = Tokenizers(growths[0].tokenizer, growths[1].tokenizer)
    untrained = origin.history.get(NEW_WORDS, [0, 0])
    counts = {NEW_WORDS: [len(growth.former) + more for growth, more in zip(growths, untrained, strict=True)]}
    return replace(origin, tokenizers=tokenizers, model=larger, history=origin.history | counts)


def find_origin(
    config: ExperimentConfig,
    model: ModelConfig,
    tokenizer: TokenizerConfig,
    folder: Path,
    checkpoint: Path | None,
    processes: Processes,
    make_tokenizers: Callable[[], Tokenizers],
    tell: Tell,
) -> Origin:
    """Returns the tokenizers and the model that a run begins with, or resumes from a checkpoint.

    Reports settings of `[tokenizer]` without effect, because a model to start from keeps its tokenizers.

    Raises ConfigError or CheckpointError for a bundle to start from that does not fit.
    """
    if checkpoint is not None:
        known, history = read_config(checkpoint / BUNDLE), read_history(checkpoint / BUNDLE)
        lasting = _lasting(history) | {name: history[name] for name in (NEW_WORDS,) if name in history}
        return Origin(read_tokenizers(checkpoint / BUNDLE, known), known.tokenizer, None, known, lasting)
    if config.training.start_from is None:
        return Origin(processes.broadcast(make_tokenizers), tokenizer, None)
    try:
        start = ModelBundle.load(folder / config.training.start_from)
    except CheckpointError as error:
        raise CheckpointError(f"training.start_from: {error}") from None
    check_task(f"training.start_from: {config.training.start_from}", start.config.task, config.task)
    changed = differences(start.config.model, model, "model.")
    if fixed := [line for key, line in changed.items() if not key.endswith("dropout")]:
        raise ConfigError(
            f"training.start_from: {fixed[0]}; the model's settings must be those of the bundle, but for rates of "
            "dropout: leave the others out of [model]"
        )
    changes = {} if tokenizer == TokenizerConfig() else differences(start.config.tokenizer, tokenizer, "tokenizer.")
    if changes:
        tell(
            f"tokenizer: that of {config.training.start_from} is kept; these settings differ from it and have no "
            f"effect: {', '.join(changes)}"
        )
    started = start.model
    if changed:  # other rates of dropout
        started = build_model(model, len(start.tokenizers.source), len(start.tokenizers.target))
        started.load_state_dict(start.model.state_dict())
    known_history = _lasting(start.history) | _untrained(start.history)
    return Origin(start.tokenizers, start.config.tokenizer, started, start.config, known_history)


def with_new_language(history: dict[str, Any], language: str, counts: list[int]) -> dict[str, Any]:
    """Returns the history of a model with a language more, whose tokens are still to be trained."""
    untrained = _untrained(history).get(NEW_WORDS, [0, 0])
    languages = {NEW_LANGUAGES: history.get(NEW_LANGUAGES, {}) | {language: counts}}
    return _lasting(history) | languages | {NEW_WORDS: [a + b for a, b in zip(untrained, counts, strict=True)]}


def _lasting(history: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of a bundle's history that also holds for models trained from it."""
    return {name: history[name] for name in ("imported", NEW_LANGUAGES, DETECTION) if name in history}


def _untrained(history: dict[str, Any]) -> dict[str, Any]:
    """Returns the part of the history of a model to start from that says which of its tokens were never trained."""
    is_trained = "updates" in history
    return {name: history[name] for name in (NEW_WORDS,) if name in history and not is_trained}
