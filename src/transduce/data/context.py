"""Sources that are read with the sentences before them, as ids: sentences of a store, each after a break."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.context_settings import ContextConfig
from transduce.data.store import Side, TokenStore
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import BREAK


@dataclass(frozen=True)
class SideInContext(Side):
    """One language of a store, of which each sentence is read with some before it: theirs, and the breaks, are counted
    by `lengths`, and `ids` and `offsets` are those of the sentences alone."""

    first: NDArray[np.int64]
    """The first sentence that each one is read with; its own number where it is read alone."""
    mark: int
    """The id of a break."""

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        first, start = self.first[index], self.offsets[self.first[index]]
        ends = self.offsets[first + 1 : index + 1] - start
        return np.insert(self.ids[start : self.offsets[index + 1]], ends, self.mark)

    def alone(self, are_alone: NDArray[np.bool_]) -> "SideInContext":
        """Returns the same sentences, some of which are read alone."""
        return side_in_context(self, np.where(are_alone, np.arange(len(self.first)), self.first), self.mark)


def side_in_context(side: Side, first: NDArray[np.int64], mark: int) -> SideInContext:
    """Returns the sentences of a side, each read from the sentence `first` on."""
    rows = np.arange(len(first))
    lengths = side.offsets[rows + 1] - side.offsets[first] + rows - first
    return SideInContext(side.ids, side.offsets, lengths.astype(np.int32), first, mark)


def in_context(store: TokenStore, context: ContextConfig | None, tokenizers: Tokenizers) -> TokenStore:
    """Returns a store whose sources are read with the sentences before them in their document; itself without any."""
    if context is None:
        return store
    rows = np.arange(len(store))
    begins = rows == 0
    if store.documents is not None:
        begins[1:] = store.documents[1:] != store.documents[:-1]
    of_document = np.maximum.accumulate(np.where(begins, rows, 0))
    first = np.maximum(of_document, rows - context.before)
    source = side_in_context(store.source, first, tokenizers.source.marks[BREAK])
    return replace(store, source=source, content=f"{store.content} {context.before}")


@dataclass(frozen=True)
class ContextDropout:
    """Reads a share of the sources alone, others in each epoch: a function of its seed."""

    share: float

    def __call__(self, stores: Sequence[TokenStore], seed: Sequence[int]) -> list[TokenStore]:
        """Returns the stores of an epoch."""
        random = np.random.default_rng([*seed, 1])
        drawn = []
        for store in stores:
            assert isinstance(store.source, SideInContext)
            drawn.append(replace(store, source=store.source.alone(random.random(len(store)) < self.share)))
        return drawn
