"""Segmenting the words of sentence pairs anew for an epoch, as a function of its seed alone."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from transduce.data.store import Side, TokenStore
from transduce.text.bpe_dropout import BpeDropout, Segmented

SENTENCES_AT_ONCE = 4096


@dataclass(frozen=True)
class SubwordDropout:
    """BPE-dropout (Provilkov et al. 2020) on one side or both.

    A sentence that would become longer than the longest plain one stays plain, so no model, limit or memory meets
    longer ones.
    """

    source: BpeDropout | None
    target: BpeDropout | None

    def check(self, stores: Sequence[TokenStore]) -> None:
        """Raises ConfigError for a tokenizer that does more than merge."""
        for store in stores:
            for side, dropout in ((store.source, self.source), (store.target, self.target)):
                if dropout is not None:
                    dropout.merges.check(next(_chunks(side)))

    def __call__(self, stores: Sequence[TokenStore], seed: Sequence[int]) -> list[TokenStore]:
        """Returns the same sentences, with their words segmented at random."""
        return [
            TokenStore(
                _segmented(store.source, self.source, [*seed, number, 0]),
                _segmented(store.target, self.target, [*seed, number, 1]),
                store.dropped,
            )
            for number, store in enumerate(stores)
        ]


def _segmented(side: Side, dropout: BpeDropout | None, seed: list[int]) -> Side:
    """Segments one side at random, into a nameless file, as a store is on disk."""
    if dropout is None:
        return side
    longest, lengths = int(side.lengths.max()), []
    with tempfile.TemporaryFile() as file:
        for number, plain in enumerate(_chunks(side)):
            drawn = dropout.segment(plain, np.random.default_rng([*seed, number]))
            kept = _no_longer_than(longest, plain, drawn)
            file.write(kept.ids.astype(side.ids.dtype).tobytes())
            lengths.append(np.diff(kept.offsets))
        return Side.of(_mapped(file, side.ids.dtype), np.concatenate(lengths))


def _mapped(file: IO[bytes], dtype: np.dtype[np.integer]) -> NDArray[np.integer]:
    """Returns the numbers in a file, which is deleted with them."""
    file.flush()
    return np.memmap(file, dtype=dtype, mode="r")


def _no_longer_than(longest: int, plain: Segmented, drawn: Segmented) -> Segmented:
    """Returns randomly segmented texts; a text of more than `longest` tokens is segmented as without dropout."""
    lengths = np.diff(drawn.offsets)
    if lengths.max() <= longest:
        return drawn
    chosen = [plain if length > longest else drawn for length in lengths.tolist()]
    rows = [texts.ids[texts.offsets[i] : texts.offsets[i + 1]] for i, texts in enumerate(chosen)]
    return Segmented(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]))


def _chunks(side: Side) -> Iterator[Segmented]:
    """Yields groups of sentences that are segmented together."""
    offsets = side.offsets
    for start in range(0, len(offsets) - 1, SENTENCES_AT_ONCE):
        block = offsets[start : start + SENTENCES_AT_ONCE + 1]
        yield Segmented(np.asarray(side.ids[block[0] : block[-1]], dtype=np.int64), block - block[0])
