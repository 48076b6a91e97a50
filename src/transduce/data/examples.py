"""Batches of labelled examples for each epoch: a function of the seed and the epoch alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Generic, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from transduce.base.config import Settings
from transduce.base.ranges import PositiveInt
from transduce.data.planned import (
    Epoch,
    Largest,
    Plan,
    PlannedData,
    Rows,
    count_parts,
    in_order,
    largest_part,
    split_evenly,
)
from transduce.data.text_batch import Ids, row_length, shorten
from transduce.text.tokenizer import Tokenizer

EXAMPLES = 32  # of a batch, unless settings say otherwise
SORTED_BATCHES = 50  # whose examples are sorted by length, where a batch is measured in tokens

B = TypeVar("B")


class TextBatchingConfig(Settings, frozen=True):
    """Batch size of texts: by texts, or by tokens. Padding is not computed."""

    examples: PositiveInt | None = None
    """Texts (or pairs, passages, ...) per batch, drawn at random (default: 32, unless tokens is set)."""
    tokens: PositiveInt | None = None
    """Tokens per batch, special ones included, instead of a number of texts, which are then of similar length."""
    max_tokens: Annotated[int, Meta(ge=8, le=1_000_000)] = 128
    """Maximum tokens read at once, special ones included; longer texts are cut."""

    def _check_together(self) -> None:
        if self.examples is not None and self.tokens is not None:
            raise ValueError("give either examples or tokens")


@dataclass(frozen=True)
class EncodedTexts:
    """Texts, or pairs of them, as ids without special tokens."""

    rows: list[tuple[Ids, Ids | None]]
    lengths: NDArray[np.int64]
    """Tokens of each row, special ones included."""
    is_cut: NDArray[np.bool_]
    """True for examples that were longer than the limit and were cut."""


def encode_texts(texts: Sequence[tuple[str, str | None]], tokenizer: Tokenizer, max_tokens: int) -> EncodedTexts:
    """Encodes texts, cut to `max_tokens` with the special ones."""
    firsts = tokenizer.encode_batch([first for first, _ in texts])
    seconds = iter(tokenizer.encode_batch([second for _, second in texts if second is not None]))
    rows: list[tuple[Ids, Ids | None]] = []
    is_cut = []
    for first, (_, second) in zip(firsts, texts, strict=True):
        row = (first, None if second is None else next(seconds))
        is_cut.append(row_length(*row) > max_tokens)
        rows.append(shorten(*row, max_tokens))
    return EncodedTexts(rows, np.array([row_length(*row) for row in rows], dtype=np.int64), np.array(is_cut))


@dataclass(frozen=True)
class ExampleData(Generic[B]):
    """Examples in batches, sorted by length; `make` makes a batch of the examples with some indices."""

    lengths: NDArray[np.int64]
    """Tokens of each example."""
    make: Callable[[Rows], B]
    config: TextBatchingConfig
    seed: int

    def planned(self) -> PlannedData[B]:
        """Returns the plan of epochs: the same examples in different batches in each."""
        return PlannedData(self.epoch)

    def epoch(self, number: int) -> Epoch[B]:
        """Returns the batches of an epoch, a function of the seed and its number."""
        random = np.random.default_rng([self.seed, number])
        order = random.permutation(len(self.lengths))
        if self.config.tokens is None:
            batches = in_order(order, self.size)
        else:
            at_once = max(SORTED_BATCHES * self.config.tokens // max(int(self.lengths.mean()), 1), 1)
            chunks = [self._by_length(chunk) for chunk in in_order(order, at_once)]
            batches = [batch for chunk in chunks for batch in self._that_fit(chunk, self.config.tokens)]
            batches = [batches[i] for i in random.permutation(len(batches))]
        batches = [self._by_length(batch) for batch in batches]
        return Epoch(batches, self._tokens, self.make, self._too_large, _split, self._find_largest)

    @property
    def size(self) -> int:
        """The number of examples in a batch that is not measured in tokens."""
        return self.config.examples or EXAMPLES

    def _find_largest(self, epoch: Epoch[B], parts: int, processes: int) -> Largest:
        """Returns the largest part that any epoch may have: the longest examples, if batches are drawn at random."""
        if self.config.tokens is None:
            epoch = replace(epoch, batches=[self._by_length(np.arange(len(self.lengths)))[-self.size :]])
        return largest_part(epoch, parts, processes)

    def _tokens(self, examples: Rows) -> int:
        """Returns the tokens of some examples; padding is not computed."""
        return int(self.lengths[examples].sum())

    def _too_large(self, examples: Rows) -> tuple[str, str]:
        part = f"the largest part of a batch, {len(examples):,} texts of {self._tokens(examples):,} tokens,"
        return part, "lower batching.examples (or tokens) or batching.max_tokens"

    def _by_length(self, examples: Rows) -> Rows:
        return examples[np.argsort(self.lengths[examples], kind="stable")]

    def _that_fit(self, examples: Rows, tokens: int) -> Plan:
        """Splits examples into consecutive batches of about `tokens` tokens."""
        number = (np.cumsum(self.lengths[examples]) - 1) // tokens
        return np.split(examples, np.flatnonzero(np.diff(number)) + 1)


def _split(rows: Rows, parts: int, processes: int = 1) -> Plan:
    """Splits a batch, sorted by length, into runs of equally many examples; for several processes, into parts of about
    equally many tokens, since padding is not computed. See SplitRows."""
    if processes == 1:
        return split_evenly(rows, parts)
    count = count_parts(len(rows), parts, processes)
    return [rows[::-1][number::count][::-1] for number in range(count)]  # the longest example is in the first part
