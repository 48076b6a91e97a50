"""Sentence pairs whose words are segmented anew in each epoch, as a function of the seed and the epoch alone."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import IO

import numpy as np
from numpy.typing import NDArray

from transduce.data.batch import Batch
from transduce.data.batching import Largest, Plan, TrainingData
from transduce.data.store import Side, TokenStore
from transduce.text.bpe_dropout import BpeDropout, Segmented

EPOCH = 2**40  # by which the numbers of an epoch's pairs differ from those of the epoch before
SENTENCES_AT_ONCE = 4096


@dataclass(frozen=True)
class SubwordDropoutData:
    """Training data with BPE-dropout (Provilkov et al. 2020) on a side or both; see training/batches.py.

    An epoch has the pairs and sentences of the plain data. One that would become longer than the longest sentence that
    is segmented plainly stays plain, so no model, limit or memory sees longer ones.
    """

    plain: TrainingData
    source: BpeDropout | None
    target: BpeDropout | None
    _drawn: dict[int, TrainingData] = field(default_factory=dict, init=False, repr=False, compare=False)
    _largest: dict[int, Largest] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Raises ConfigError for a tokenizer that does more than merge."""
        for store in self.plain.stores:
            for side, dropout in ((store.source, self.source), (store.target, self.target)):
                if dropout is not None:
                    dropout.merges.check(next(_chunks(side)))

    def plan(self, epoch: int) -> Plan:
        """See TrainingData; a batch's numbers tell the epoch too."""
        return [batch + epoch * EPOCH for batch in self._of(epoch).plan(epoch)]

    def split(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        """See TrainingData."""
        data, own, first = self._located(pairs)
        return [part + first for part in data.split_within(own, parts, self.largest(parts).needs)]

    def largest(self, parts: int) -> Largest:
        """The parts of the first epoch that need most memory; those of others are cut to need no more."""
        if parts not in self._largest:
            self._largest[parts] = replace(self._of(0).largest(parts), has_several=True)
        return self._largest[parts]

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """See TrainingData."""
        data, own, _ = self._located(pairs)
        return data.padded_tokens(own)

    def too_large(self, pairs: NDArray[np.int64]) -> tuple[str, str]:
        """See TrainingData."""
        data, own, _ = self._located(pairs)
        return data.too_large(own)

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """See TrainingData."""
        data, own, _ = self._located(pairs)
        return data.batch(own)

    def _located(self, pairs: NDArray[np.int64]) -> tuple[TrainingData, NDArray[np.int64], int]:
        """The data of an epoch, the numbers of its pairs there, and what these are less than the numbers here."""
        epoch = int(pairs[0]) // EPOCH
        return self._of(epoch), pairs - epoch * EPOCH, epoch * EPOCH

    def _of(self, epoch: int) -> TrainingData:
        """The data as segmented for an epoch; those of the last one asked for are kept."""
        if epoch not in self._drawn:
            self._drawn.clear()
            stores = [
                TokenStore(
                    _segmented(store.source, self.source, [self.plain.seed, epoch, number, 0]),
                    _segmented(store.target, self.target, [self.plain.seed, epoch, number, 1]),
                    store.dropped,
                )
                for number, store in enumerate(self.plain.stores)
            ]
            self._drawn[epoch] = replace(self.plain, stores=stores)
        return self._drawn[epoch]


def _segmented(side: Side, dropout: BpeDropout | None, seed: list[int]) -> Side:
    """One language segmented at random, in a file without a name, as a store is on disk."""
    if dropout is None:
        return side
    longest, lengths = int(side.lengths.max()), []
    with tempfile.TemporaryFile() as file:
        for number, plain in enumerate(_chunks(side)):
            drawn = dropout.segment(plain, np.random.default_rng([*seed, number]))
            kept = _no_longer_than(longest, plain, drawn)
            file.write(kept.ids.astype(side.ids.dtype).tobytes())
            lengths.append(np.diff(kept.offsets))
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        return Side(_mapped(file, side.ids.dtype), offsets)


def _mapped(file: IO[bytes], dtype: np.dtype[np.integer]) -> NDArray[np.integer]:
    """The numbers of a file, which goes when they do."""
    file.flush()
    return np.memmap(file, dtype=dtype, mode="r")


def _no_longer_than(longest: int, plain: Segmented, drawn: Segmented) -> Segmented:
    """The texts as drawn, but as plain where they would have more tokens than the longest may."""
    lengths = np.diff(drawn.offsets)
    if lengths.max() <= longest:
        return drawn
    chosen = [plain if length > longest else drawn for length in lengths.tolist()]
    rows = [one.ids[one.offsets[i] : one.offsets[i + 1]] for i, one in enumerate(chosen)]
    return Segmented(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]))


def _chunks(side: Side) -> Iterator[Segmented]:
    """Sentences that are segmented together."""
    offsets = side.offsets
    for start in range(0, len(offsets) - 1, SENTENCES_AT_ONCE):
        own = offsets[start : start + SENTENCES_AT_ONCE + 1]
        yield Segmented(np.asarray(side.ids[own[0] : own[-1]], dtype=np.int64), own - own[0])
