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
    """One language of a store, of which each sentence is read with some before it, and perhaps their translations:
    these and the breaks are counted by `lengths`, and `ids` and `offsets` are those of the sentences alone."""

    first: NDArray[np.int64]
    """The first sentence that each one is read with; its own number where it is read alone."""
    mark: int
    """The id of a break."""
    translations: Side
    """The translations of all sentences."""
    translated: NDArray[np.int64]
    """The first sentence whose translation each one is read with, too; its own number for none."""

    def __getitem__(self, index: int) -> NDArray[np.integer]:
        mark, read = np.array([self.mark], self.ids.dtype), []
        for earlier in range(self.first[index], index):
            read += [super().__getitem__(earlier), mark]
            if earlier >= self.translated[index]:
                read += [self.translations[earlier], mark]
        return np.concatenate([*read, super().__getitem__(index)])

    def without(self, sentences: NDArray[np.bool_], translations: NDArray[np.bool_]) -> "SideInContext":
        """Returns the same sentences, some of which are read without others, or only without their translations."""
        rows = np.arange(len(self.first))
        translated = np.where(sentences | translations, rows, self.translated)
        return side_in_context(self, np.where(sentences, rows, self.first), self.mark, self.translations, translated)


def side_in_context(
    side: Side, first: NDArray[np.int64], mark: int, translations: Side, translated: NDArray[np.int64]
) -> SideInContext:
    """Returns the sentences of a side, each read from the sentence `first` on; see SideInContext."""
    rows = np.arange(len(first))
    lengths = side.offsets[rows + 1] - side.offsets[first] + rows - first
    lengths += translations.offsets[rows] - translations.offsets[translated] + rows - translated
    return SideInContext(side.ids, side.offsets, lengths.astype(np.int32), first, mark, translations, translated)


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
    translated = first if context.side == "both" else rows
    source = side_in_context(store.source, first, tokenizers.source.marks[BREAK], store.target, translated)
    return replace(store, source=source, content=f"{store.content} {context.before} {context.side}")


def drop_context(share: float, stores: Sequence[TokenStore], seed: Sequence[int]) -> list[TokenStore]:
    """Returns the stores of an epoch with this seed: a share of the sources is read alone, and as many of the others
    without translations."""
    random = np.random.default_rng([*seed, 1])
    drawn = []
    for store in stores:
        assert isinstance(store.source, SideInContext)
        chances = random.random(len(store)), random.random(len(store))
        drawn.append(replace(store, source=store.source.without(*(each < share for each in chances))))
    return drawn
