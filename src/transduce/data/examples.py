"""Which examples of labelled text make up each batch of an epoch: a function of the seed and the epoch alone."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Generic, TypeVar

import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from transduce.config import Settings
from transduce.data.batching import Largest, Plan, split_evenly
from transduce.data.text_batch import Ids, row_length, shorten
from transduce.ranges import PositiveInt
from transduce.text.tokenizer import Tokenizer

EXAMPLES = 32  # of a batch, unless settings say otherwise
SORTED_BATCHES = 50  # whose examples are sorted by length, where a batch is measured in tokens

B = TypeVar("B")


class TextBatchingConfig(Settings, frozen=True):
    """How large a batch of texts is: by texts, or by tokens. Padding is not computed."""

    examples: PositiveInt | None = None
    """Texts (or pairs, passages, ...) per batch, drawn at random; 32 unless tokens is set."""
    tokens: PositiveInt | None = None
    """Tokens per batch, special ones included, instead; its texts are of similar length."""
    max_tokens: Annotated[int, Meta(ge=8, le=1_000_000)] = 128
    """Most tokens read at once, special ones included; longer texts are cut."""

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
    """Whether it was longer than what is read at once."""


def encode_texts(texts: Sequence[tuple[str, str | None]], tokenizer: Tokenizer, max_tokens: int) -> EncodedTexts:
    """The ids of texts, cut to so many tokens with the special ones."""
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
    """Examples in batches; see training/batches.py. `make` makes one of the examples with some numbers."""

    lengths: NDArray[np.int64]
    """Tokens of each example."""
    make: Callable[[NDArray[np.int64]], B]
    config: TextBatchingConfig
    seed: int

    def plan(self, epoch: int) -> Plan:
        """The examples of each batch, the longest last; the same for the same seed and epoch."""
        return self._first_plan if epoch == 0 else self._plan(epoch)

    @cached_property
    def _first_plan(self) -> Plan:
        return self._plan(0)

    def _plan(self, epoch: int) -> Plan:
        random = np.random.default_rng([self.seed, epoch])
        order = random.permutation(len(self.lengths))
        if self.config.tokens is None:
            batches = _of_size(order, self.config.examples or EXAMPLES)
        else:
            at_once = max(SORTED_BATCHES * self.config.tokens // max(int(self.lengths.mean()), 1), 1)
            chunks = [self._by_length(chunk) for chunk in _of_size(order, at_once)]
            batches = [batch for chunk in chunks for batch in self._that_fit(chunk, self.config.tokens)]
            batches = [batches[i] for i in random.permutation(len(batches))]
        return [self._by_length(batch) for batch in batches]

    def split(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        """A batch in so many parts, each of similar lengths."""
        return split_evenly(pairs, parts)

    def largest(self, parts: int) -> Largest:
        """The largest part that any epoch may have: of the longest examples."""
        if self.config.tokens is None:
            longest = self._by_length(np.arange(len(self.lengths)))[-(self.config.examples or EXAMPLES) :]
        else:
            longest = max(self.plan(0), key=self.padded_tokens)
        part = self.split(longest, parts)[-1]
        return Largest([part], (self.padded_tokens(part),), has_several=parts > 1)

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Tokens of some examples; padding is not computed."""
        return int(self.lengths[pairs].sum())

    def too_large(self, pairs: NDArray[np.int64]) -> tuple[str, str]:
        """What to say of some examples whose batch is beyond the memory, and what to do then."""
        what = f"the largest part of a batch, {len(pairs):,} texts of {self.padded_tokens(pairs):,} tokens,"
        return what, "raise training.accumulate, or lower batching.examples (or tokens) or batching.max_tokens"

    def batch(self, pairs: NDArray[np.int64]) -> B:
        """A batch of some examples."""
        return self.make(pairs)

    def _by_length(self, examples: NDArray[np.int64]) -> NDArray[np.int64]:
        return examples[np.argsort(self.lengths[examples], kind="stable")]

    def _that_fit(self, examples: NDArray[np.int64], tokens: int) -> Plan:
        """Examples that follow one another, as many as have so many tokens together."""
        number = (np.cumsum(self.lengths[examples]) - 1) // tokens
        return np.split(examples, np.flatnonzero(np.diff(number)) + 1)


def _of_size(order: NDArray[np.int64], size: int) -> Plan:
    return [order[start : start + size] for start in range(0, len(order), size)]
