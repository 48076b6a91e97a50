"""Scoring language models on a text line by line, and testing differences between them.

Lines are resampled: each is a row of counts, like a sentence for a translation's metrics. Figures per word and
character are comparable across tokenizers; a line's end, which its last token predicts, belongs to the line.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from transduce.corpora.corpus import TextCorpus
from transduce.data.text_store import TextStore, first_token
from transduce.data.windows import WindowsConfig, windows_in_order
from transduce.evaluation.loss import log_probabilities_of
from transduce.evaluation.metric import Scoring, SentenceCounts
from transduce.evaluation.significance import Counts
from transduce.models.interface import SegmentRecurrence
from transduce.nn.losses import log_probabilities
from transduce.text.tokenizer import Tokenizer


def read_in_order(
    model: nn.Module, store: TextStore, config: WindowsConfig, rank: int = 0, count: int = 1
) -> Iterator[Tensor]:
    """Yields log-probabilities of all tokens of a text but the first, as float32 vectors on the CPU.

    Each token is predicted from the part of its window before it; by a model that remembers earlier segments, from all
    that its memory reaches. One of `count` processes reads every `count`-th batch of windows; if each segment follows
    the one before, the first process reads all.
    """
    if isinstance(model, SegmentRecurrence):
        return _read_segments(model, store, config) if rank == 0 else iter(())
    return log_probabilities_of(model, islice(windows_in_order(store, config), rank, None, count))


@torch.inference_mode()
def _read_segments(model: Any, store: TextStore, config: WindowsConfig) -> Iterator[Tensor]:
    device = next(model.parameters()).device
    state = None
    for batch in windows_in_order(store, WindowsConfig(window=config.window, target_tokens=config.window)):
        batch = batch.to(device)
        state = model.start(model.encode(batch.source, batch.source_is_real)) if state is None else state
        hidden, state = model.decoder.read(batch.target_in, state)
        yield log_probabilities(hidden, model.decoder.output, batch.target_out, batch.target_is_real)[0].cpu()


@dataclass(frozen=True)
class LineCounts:
    """The nats that a language model spends on each line of a text."""

    counts: Counts
    """Counts [lines, 3]: the nats spent on a line, its words, and its characters; the line's end is one of both."""


def count_bits(lines: LineCounts, scoring: Scoring) -> SentenceCounts:
    """Scores a text in bits per character."""
    return SentenceCounts(lines.counts, lambda sums: sums[0] / math.log(2) / max(sums[2], 1.0))


def count_perplexity(lines: LineCounts, scoring: Scoring) -> SentenceCounts:
    """Scores a text by perplexity per word: the exponential of a model's nats per word."""
    return SentenceCounts(lines.counts, lambda sums: math.exp(min(sums[0] / max(sums[1], 1.0), 700)))


def count_text(
    model: nn.Module, tokenizer: Tokenizer, store: TextStore, text: TextCorpus, config: WindowsConfig
) -> LineCounts:
    """Counts the nats that a model spends on each line of a text.

    The text's first token, which nothing comes before, is not counted.

    Args:
        model: a language model.
        tokenizer: its tokenizer.
        store: the text's tokens for this model.
        text: the same text.
        config: the windows that the model reads.
    """
    nats = np.concatenate([-scores.numpy() for scores in read_in_order(model, store, config)])
    # the line of each token that is predicted; a token that ends several lines counts to the first
    lines = np.cumsum(np.array(tokenizer.line_ends)[store.ids[:-1]])
    words_and_characters = np.array([(len(line.split()) + 1, len(line) + 1) for line in text], dtype=np.float64)
    words_and_characters[0] -= first_token(tokenizer, next(iter(text)))
    spent = np.bincount(lines, weights=nats, minlength=len(words_and_characters))
    return LineCounts(np.column_stack([spent, words_and_characters]))
