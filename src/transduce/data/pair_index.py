"""An index of a store: where each token stands, mapped from files, by which the pairs with given words are found."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from transduce.base.files import found_or_made
from transduce.data.context import SideInContext
from transduce.data.store import Side, TokenStore

BLOCK = 1 << 22
"""Tokens that are sorted at a time: 100 MB."""
Places = NDArray[np.integer]
"""Indices into the ids of a side, which rise."""


@dataclass(frozen=True)
class WordForms:
    """The ways in which a vocabulary writes a word."""

    forms: Sequence[Sequence[int]]
    """The token ids of the word in each context."""
    continues: NDArray[np.bool_]
    """For each token of the vocabulary, True if it continues the word before it."""
    leaves_open: NDArray[np.bool_]
    """For each token of the vocabulary, True if a token that continues a word would continue its word."""

    def first_in(self, ids: Sequence[int]) -> int:
        """Returns the number of tokens before the first occurrence of the word in a sentence that has it."""
        ids = list(ids)
        found = [i for form in self.forms for i in range(len(ids)) if ids[i : i + len(form)] == list(form)]
        return min(found, default=0)


@dataclass(frozen=True)
class SideIndex:
    """The places of each token on one side of a store."""

    side: Side
    starts: NDArray[np.int64]
    """The number of places of all tokens with smaller ids, and of all, [vocabulary + 1]."""
    places: Places
    """The places of the first token of the vocabulary, then of the second, and so on."""

    @property
    def counts(self) -> NDArray[np.int64]:
        """The number of times that each token occurs."""
        return np.diff(self.starts)

    def rows_with(self, word: WordForms) -> NDArray[np.int64]:
        """Returns the sentences that have a word, as a whole word."""
        found = [self._rows_with(form, word) for form in word.forms]
        if len(found) < 2:
            return found[0] if found else np.empty(0, np.int64)
        return np.unique(np.concatenate(found))

    def most(self, word: WordForms) -> int:
        """Returns a number of occurrences that a word does not exceed, without a search."""
        counts = self.counts
        return int(sum(counts[list(form)].min() for form in word.forms))

    def _rows_with(self, form: Sequence[int], word: WordForms) -> NDArray[np.int64]:
        ids, offsets = self.side.ids, self.side.offsets
        rarest = int(self.counts[list(form)].argmin())
        token = form[rarest]
        places = self.places[self.starts[token] : self.starts[token + 1]].astype(np.int64) - rarest
        places = places[(places >= 0) & (places + len(form) <= len(ids))]
        for k, other in enumerate(form):
            if k != rarest:
                places = places[ids[places + k] == other]
        rows = np.searchsorted(offsets, places, side="right") - 1
        after, stops = places + len(form), offsets[rows + 1]
        is_last = after == stops
        is_whole = (after <= stops) & (is_last | ~word.continues[ids[np.where(is_last, places, after)]])
        if word.continues[form[0]]:  # a form without a space before it
            is_whole &= (places == offsets[rows]) | ~word.leaves_open[ids[np.maximum(places - 1, 0)]]
        rows = rows[is_whole]
        return rows[np.diff(rows, prepend=-1) > 0]


@dataclass(frozen=True)
class PairIndex:
    """A store and the places of its tokens."""

    store: TokenStore
    source: SideIndex
    target: SideIndex

    def rows_with(self, word: WordForms, part: Literal["source", "output", "context"]) -> NDArray[np.int64]:
        """Returns the pairs with a word in the source, the target, or the sentences that the source is read with."""
        rows = (self.target if part == "output" else self.source).rows_with(word)
        if part != "context":
            return rows
        read = self.store.source
        assert isinstance(read, SideInContext)
        farthest = int((np.arange(len(self.store)) - read.first).max(initial=0))
        later = [rows[:0]]
        for distance in range(1, farthest + 1):
            after = rows[rows < len(read.first) - distance] + distance
            later.append(after[read.first[after] <= after - distance])
        return np.unique(np.concatenate(later))

    def overlap(self, rows: NDArray[np.int64], source: Sequence[int]) -> NDArray[np.float64]:
        """Returns how much of a source's tokens each pair has, each weighed by log(pairs / occurrences)."""
        wanted, counts = np.unique(source), self.source.counts
        weights = np.zeros(len(counts))
        weights[wanted] = np.log1p(len(self.store) / np.maximum(counts[wanted], 1))
        return np.array([weights[np.unique(self.source.side[row])].sum() for row in rows])


def open_index(plain: TokenStore, read: TokenStore, vocabularies: tuple[int, int], folder: Path) -> PairIndex:
    """Returns the index of a store, which is made in a folder if there is none.

    Args:
        plain: the store, without context.
        read: the same, as the model reads it.
        vocabularies: the numbers of source and of target tokens.
        folder: where indices are kept, by the content of their stores.
    """
    sides = {"source": plain.source, "target": plain.target}

    def make(new: Path) -> None:
        for (name, side), vocabulary in zip(sides.items(), vocabularies, strict=True):
            _invert(side, vocabulary, new / name)

    def load(made: Path) -> list[SideIndex]:
        return [
            SideIndex(side, np.load(made / f"{name}.starts.npy"), np.load(made / f"{name}.places.npy", "r"))
            for name, side in sides.items()
        ]

    return PairIndex(read, *found_or_made(folder / plain.content, load, make))


def _invert(side: Side, vocabulary: int, path: Path) -> None:
    """Writes the places of each token of a side, sorted in blocks."""
    blocks = [side.ids[start : start + BLOCK] for start in range(0, len(side.ids), BLOCK)]
    counts = sum((np.bincount(block, minlength=vocabulary) for block in blocks), np.zeros(vocabulary, np.int64))
    starts = np.concatenate([[0], np.cumsum(counts)])
    np.save(f"{path}.starts.npy", starts)
    dtype = np.uint32 if len(side.ids) < 2**32 else np.int64
    places = np.lib.format.open_memmap(f"{path}.places.npy", "w+", dtype, (len(side.ids),))
    free = starts[:-1].copy()  # where the next place of each token goes
    for number, block in enumerate(blocks):
        order = np.argsort(block, kind="stable")
        counts = np.bincount(block, minlength=vocabulary)
        of_token = np.arange(len(block)) - np.repeat(np.cumsum(counts) - counts, counts)  # rank among its equals
        places[np.repeat(free, counts) + of_token] = order + number * BLOCK
        free += counts
    places.flush()
