"""Sentence pairs of token stores as links of tokens, from which lexical translation probabilities are learned."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import DataError
from transduce.corpora.lexical_translation import LexicalTable, Links, Sentences, chunks, learn_lexical_table, ranges
from transduce.data.store import Side, TokenStore

LINKS_AT_ONCE = 2_000_000
"""Links held at a time, of some 50 bytes each; a pair with more of them is left out."""


@dataclass(frozen=True)
class PairSample:
    """Sentence pairs of token stores, spread evenly over each, read as often as wanted in chunks of bounded size."""

    stores: Sequence[TokenStore]
    chosen: Sequence[NDArray[np.int64]]
    """The indices of the chosen pairs in each store."""

    def __len__(self) -> int:
        return sum(len(indices) for indices in self.chosen)

    @staticmethod
    def spread(stores: Sequence[TokenStore], most_pairs: int) -> "PairSample":
        """Returns at most this many pairs, spread evenly over the stores, without those that are too long.

        Raises DataError if all are too long.
        """
        total = sum(len(store) for store in stores)
        count = min(most_pairs, total)
        spread = np.arange(count) * total // count
        chosen, first = [], 0
        for store in stores:
            indices = spread[(spread >= first) & (spread < first + len(store))] - first
            chosen.append(indices[_links_of(store, indices) <= LINKS_AT_ONCE])
            first += len(store)
        sample = PairSample(stores, chosen)
        if not len(sample):
            raise DataError(
                f"all {sum(map(len, stores)):,} sentence pairs are too long to learn from: more than "
                f"{LINKS_AT_ONCE:,} token pairs each; split them into sentences"
            )
        return sample

    def links(self, source_vocabulary: int, target_vocabulary: int) -> Iterator[Links]:
        """Yields the links of all pairs; the null word is the number after the source vocabulary's last."""
        for store, indices in self._chunks():
            sources, targets = (tokens_of(side, indices) for side in (store.source, store.target))
            yield Links.between(sources, targets, source_vocabulary, target_vocabulary)

    def target_counts(self, target_vocabulary: int) -> NDArray[np.int64]:
        """Returns how often each target token comes."""
        counts = np.zeros(target_vocabulary, np.int64)
        for store, indices in self._chunks():
            counts += np.bincount(tokens_of(store.target, indices)[0], minlength=target_vocabulary)
        return counts

    def _chunks(self) -> Iterator[tuple[TokenStore, NDArray[np.int64]]]:
        for store, indices in zip(self.stores, self.chosen, strict=True):
            for places in chunks(_links_of(store, indices), LINKS_AT_ONCE):
                yield store, indices[places]

    def learn(self, source_vocabulary: int, target_vocabulary: int, iterations: int) -> LexicalTable:
        """Learns the probabilities of target tokens given source tokens."""
        links = partial(self.links, source_vocabulary, target_vocabulary)
        return learn_lexical_table(links, source_vocabulary, target_vocabulary, iterations, is_held=False)


def tokens_of(side: Side, indices: NDArray[np.int64]) -> Sentences:
    """Returns the tokens of the sentences at these indices."""
    starts = side.offsets[indices]
    lengths = side.offsets[indices + 1] - starts
    return side.ids[ranges(starts, lengths)].astype(np.int64), lengths


def _links_of(store: TokenStore, indices: NDArray[np.int64]) -> NDArray[np.int64]:
    return (store.source.lengths[indices].astype(np.int64) + 1) * store.target.lengths[indices]
