"""How well language models predict a text, line by line, and whether a difference between two could be chance.

Lines are what is resampled: each is a row of counts, as a sentence is of a translation's metrics. Figures a word and a
character compare across tokenizers; what a line's last token predicts, its end, is counted to the line.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import torch
from torch import Tensor, nn

from transduce.corpora.corpus import TextCorpus
from transduce.data.text_store import TextStore, first_token
from transduce.data.windows import WindowsConfig, windows_in_order
from transduce.errors import DataError, InputError
from transduce.evaluation.evaluate import log_probabilities_of
from transduce.evaluation.metrics import Score, SentenceCounts
from transduce.evaluation.pairs import Pair, against, compare_pairs
from transduce.evaluation.significance import Counts, Difference
from transduce.models.interface import SegmentRecurrence
from transduce.nn.losses import log_probabilities
from transduce.text.tokenizer import Tokenizer

SHOWN = 10


@dataclass(frozen=True)
class TextMetric:
    """A figure of a model on a text; lower is better."""

    title: str
    """What it is called in tables."""
    score_of: Callable[[list[float]], float]
    """Of summed counts: nats, words, characters."""
    higher_is_better: bool = False
    digits: int = 3
    """Decimals shown."""


TEXT_METRICS: Mapping[str, TextMetric] = {
    "bits_per_character": TextMetric("bits per character", lambda sums: sums[0] / math.log(2) / max(sums[2], 1.0)),
    "word_perplexity": TextMetric(
        "perplexity per word", lambda sums: math.exp(min(sums[0] / max(sums[1], 1.0), 700)), digits=2
    ),
}


def find_text_metric(name: str) -> TextMetric:
    """The metric of that name; InputError where there is none."""
    if name not in TEXT_METRICS:
        raise InputError(f"no metric '{name}' of language models; there are {', '.join(TEXT_METRICS)}")
    return TEXT_METRICS[name]


def read_in_order(model: nn.Module, store: TextStore, config: WindowsConfig) -> Iterator[Tensor]:
    """Log-probabilities of all tokens of a text but the first, as float32 vectors on the CPU.

    Each token is predicted from the part of its window that stands before it; by a model that remembers earlier
    segments, from all that its memory reaches.
    """
    if isinstance(model, SegmentRecurrence):
        return _read_segments(model, store, config)
    return log_probabilities_of(model, windows_in_order(store, config))


@torch.inference_mode()
def _read_segments(model: Any, store: TextStore, config: WindowsConfig) -> Iterator[Tensor]:
    device = next(model.parameters()).device
    state = None
    for batch in windows_in_order(store, WindowsConfig(window=config.window, target_tokens=config.window)):
        batch = batch.to(device)
        state = model.start(model.encode(batch.source, batch.source_is_real)) if state is None else state
        hidden, state = model.decoder.read(batch.target_in, state)
        yield log_probabilities(hidden, model.decoder.output, batch.target_out, batch.target_is_real)[0].cpu()


def count_text(
    model: nn.Module, tokenizer: Tokenizer, store: TextStore, text: TextCorpus, config: WindowsConfig
) -> Counts:
    """[lines, 3] of a text: nats that a model spends on a line, words, and characters, the line's end one of both.

    The text's first token, which nothing comes before, is not counted.

    Args:
        model: a language model.
        tokenizer: its tokenizer.
        store: the text's tokens for this model.
        text: the same text.
        config: how much the model reads at once.
    """
    nats = np.concatenate([-found.numpy() for found in read_in_order(model, store, config)])
    # Of each token that is predicted; a token that ends several lines counts to the first.
    lines = np.cumsum(np.array(tokenizer.line_ends)[store.ids[:-1]])
    words_and_characters = np.array([(len(line.split()) + 1, len(line) + 1) for line in text], dtype=np.float64)
    words_and_characters[0] -= first_token(tokenizer, next(iter(text)))
    spent = np.bincount(lines, weights=nats, minlength=len(words_and_characters))
    return np.column_stack([spent, words_and_characters])


def scored(counts: Counts, metric: str) -> SentenceCounts:
    """What was counted in each line, as a metric's scores are made of it."""
    return SentenceCounts(counts, find_text_metric(metric).score_of, "")


@dataclass(frozen=True)
class TextSystem:
    """What one model scored."""

    name: str
    scores: dict[str, Score]
    """By the metrics' names."""
    against_baseline: dict[str, Difference] | None
    """How it differs from the baseline, in each metric; None for the baseline itself."""


@dataclass(frozen=True)
class DifferingLine:
    """A line that the models predicted with different success."""

    line: int
    """Of the text, from 1."""
    text: str
    nats: dict[str, float]
    """Spent by each model."""


@dataclass(frozen=True)
class TextComparison:
    """All that is told of models that predicted one text."""

    text: str
    lines: int
    systems: list[TextSystem]
    """The first is the baseline."""
    most_different: list[DifferingLine]
    """Those with the widest span of nats between models, widest first."""
    pairs: list[Pair]
    """Every two models, each tested against the other."""

    def to_dict(self) -> dict[str, Any]:
        """What `transduce compare --json` prints."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        del facts["pairs"]
        facts["systems"] = [system.pop("scores") | system for system in facts["systems"]]
        return facts


def compare_texts(systems: Mapping[str, Counts], text: TextCorpus) -> TextComparison:
    """Compare models, by name, with the first, the baseline, from what `count_text` counted in one text."""
    if len(systems) < 2:
        raise InputError(f"there is nothing to compare {', '.join(systems) or 'no models'} with; name two or more")
    lines = list(text)
    for name, counts in systems.items():
        if len(counts) != len(lines):
            raise DataError(f"{name}: counts of {len(counts):,} lines, but {text.name} has {len(lines):,}")
    counted = {metric: {name: scored(counts, metric) for name, counts in systems.items()} for metric in TEXT_METRICS}
    pairs, baseline = compare_pairs(counted), next(iter(systems))
    return TextComparison(
        text.name,
        len(lines),
        [
            TextSystem(
                name,
                {metric: counts[name].summary() for metric, counts in counted.items()},
                against(pairs, baseline, name),
            )
            for name in systems
        ],
        _most_different({name: counts[:, 0].tolist() for name, counts in systems.items()}, lines),
        pairs,
    )


def _most_different(nats: Mapping[str, Sequence[float]], lines: Sequence[str]) -> list[DifferingLine]:
    of_lines = list(zip(*nats.values(), strict=True))
    widest = sorted(range(len(lines)), key=lambda i: min(of_lines[i]) - max(of_lines[i]))[:SHOWN]
    return [
        DifferingLine(i + 1, lines[i], dict(zip(nats, of_lines[i], strict=True)))
        for i in widest
        if max(of_lines[i]) > min(of_lines[i])
    ]
