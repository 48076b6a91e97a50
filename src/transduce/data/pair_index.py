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


@dataclass(frozen=True)
class SideIndex:
    """The places of each token on one side of a store."""

    side: Side
    starts: NDArray[np.int64]
    """The number of places of all tokens with smaller ids, and of all, [vocabulary + 1]."""
    places: Places
    """The places of the first token of the vocabulary, then of the second, and so on."""

    def counts(self) -> NDArray[np.int64]:
        """Returns how often each token occurs."""
        return np.diff(self.starts)

    def rows(self, places: Places) -> NDArray[np.int64]:
        """Returns the sentence of each place."""
        return np.searchsorted(self.side.offsets, places, side="right") - 1

    def find(self, word: WordForms) -> Places:
        """Returns the place of the first token of each occurrence of a word, as a whole word."""
        found = [self._find(form, word) for form in word.forms]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def before_first(self, word: WordForms, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of tokens before the first occurrence of a word in each of some sentences that have it."""
        places, begins = self.find(word), self.side.offsets[rows]
        return places[np.searchsorted(places, begins)] - begins

    def _find(self, form: Sequence[int], word: WordForms) -> Places:
        ids, counts = self.side.ids, self.counts()
        rarest = min(range(len(form)), key=lambda k: counts[form[k]])
        token = form[rarest]
        places = self.places[self.starts[token] : self.starts[token + 1]].astype(np.int64) - rarest
        places = places[(places >= 0) & (places + len(form) <= len(ids))]
        for k, other in enumerate(form):
            if k != rarest:
                places = places[ids[places + k] == other]
        rows = self.rows(places)
        first, after = self.side.offsets[rows], places + len(form)
        ends = after >= self.side.offsets[rows + 1]
        whole = (after <= self.side.offsets[rows + 1]) & (ends | ~word.continues[ids[np.where(ends, places, after)]])
        if word.continues[form[0]]:  # a form without a space before it
            whole &= (places == first) | ~word.leaves_open[ids[np.maximum(places - 1, 0)]]
        return places[whole]


@dataclass(frozen=True)
class PairIndex:
    """A store and the places of its tokens."""

    store: TokenStore
    source: SideIndex
    target: SideIndex

    def rows_with(self, word: WordForms, part: Literal["source", "output", "context"]) -> NDArray[np.int64]:
        """Returns the pairs with a word in the source, the target, or the sentences that the source is read with."""
        side = self.target if part == "output" else self.source
        rows = np.unique(side.rows(side.find(word)))
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
        weights = np.zeros(len(self.source.starts) - 1)
        wanted = np.unique(source)
        weights[wanted] = np.log1p(len(self.store) / np.maximum(self.source.counts()[wanted], 1))
        side = self.source.side
        return np.array([weights[np.unique(side.ids[side.offsets[i] : side.offsets[i + 1]])].sum() for i in rows])


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

    def load(made: Path) -> list[SideIndex] | None:
        try:
            return [
                SideIndex(side, np.load(made / f"{name}.starts.npy"), np.load(made / f"{name}.places.npy", "r"))
                for name, side in sides.items()
            ]
        except (OSError, ValueError):
            return None

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
