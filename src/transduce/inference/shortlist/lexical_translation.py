"""Lexical translation probabilities: IBM Model 1, learned from token stores (Brown et al. 1993)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.data.store import Side, TokenStore
from transduce.errors import DataError

LINKS_AT_ONCE = 2_000_000
"""Links held at a time, of some 50 bytes each; a pair with more of them is left out."""


@dataclass(frozen=True)
class Links:
    """All ways in which the target tokens of some sentence pairs may come from a source token, or from the null word.

    The links of one target token are adjacent.
    """

    keys: NDArray[np.int64]
    """Pairs as numbers: source token * target vocabulary + target token."""
    alternatives: NDArray[np.int64]
    """The number of links of each target token: its sentence's source tokens and one."""


@dataclass(frozen=True)
class PairSample:
    """Sentence pairs of token stores, spread evenly over each, read as often as wanted in chunks of bounded size."""

    stores: Sequence[TokenStore]
    chosen: Sequence[NDArray[np.int64]]
    """The indices of the chosen pairs in each store."""

    def __len__(self) -> int:
        return sum(len(places) for places in self.chosen)

    @staticmethod
    def spread(stores: Sequence[TokenStore], most_pairs: int) -> "PairSample":
        """Returns this many pairs, or all, spread evenly over the stores, less those that are too long.

        Raises DataError if all are too long.
        """
        total = sum(len(store) for store in stores)
        count = min(most_pairs, total)
        spread = np.arange(count) * total // count
        chosen, first = [], 0
        for store in stores:
            places = spread[(spread >= first) & (spread < first + len(store))] - first
            chosen.append(places[_links_of(store, places) <= LINKS_AT_ONCE])
            first += len(store)
        sample = PairSample(stores, chosen)
        if not len(sample):
            raise DataError(
                f"all {sum(map(len, stores)):,} sentence pairs are too long to learn from: more than "
                f"{LINKS_AT_ONCE:,} token pairs each; split them into sentences"
            )
        return sample

    def links(self, source_vocabulary: int, target_vocabulary: int) -> Iterator[Links]:
        """The links of all pairs; the null word is the number after the source vocabulary's last."""
        for store, places in self._chunks():
            sources, source_lengths = tokens_of(store.source, places)
            targets, target_lengths = tokens_of(store.target, places)
            ends = np.cumsum(source_lengths)
            with_null = np.insert(sources, ends, source_vocabulary)
            starts = ends - source_lengths + np.arange(len(places))
            alternatives = np.repeat(source_lengths + 1, target_lengths)
            from_tokens = with_null[_ranges(np.repeat(starts, target_lengths), alternatives)]
            yield Links(from_tokens * target_vocabulary + np.repeat(targets, alternatives), alternatives)

    def target_counts(self, target_vocabulary: int) -> NDArray[np.int64]:
        """Returns how often each target token comes."""
        counts = np.zeros(target_vocabulary, np.int64)
        for store, places in self._chunks():
            counts += np.bincount(tokens_of(store.target, places)[0], minlength=target_vocabulary)
        return counts

    def _chunks(self) -> Iterator[tuple[TokenStore, NDArray[np.int64]]]:
        for store, places in zip(self.stores, self.chosen, strict=True):
            start, before = 0, np.concatenate([[0], np.cumsum(_links_of(store, places))])
            while start < len(places):
                stop = int(np.searchsorted(before, before[start] + LINKS_AT_ONCE, side="right")) - 1
                yield store, places[start:stop]
                start = stop


@dataclass(frozen=True)
class LexicalTable:
    """p(target token | source token) for all pairs of tokens that occur in a sentence pair together."""

    keys: NDArray[np.int64]
    """Pairs as numbers: source token * target vocabulary + target token, rising; the null word comes last."""
    probabilities: NDArray[np.float64]
    source_vocabulary: int
    target_vocabulary: int

    def likeliest(self, count: int, fill: int) -> NDArray[np.int64]:
        """[source vocabulary, count]: the target tokens of highest probability, best first; `fill` where there are
        fewer, and of equal ones those of lower number."""
        sources, targets = np.divmod(self.keys, self.target_vocabulary)
        order = np.lexsort((-self.probabilities, sources))
        sources, targets = sources[order], targets[order]
        rank = np.arange(len(sources)) - np.searchsorted(sources, sources)
        kept = (rank < count) & (sources < self.source_vocabulary)
        lists = np.full((self.source_vocabulary, count), fill, np.int64)
        lists[sources[kept], rank[kept]] = targets[kept]
        return lists


def learn_lexical_table(
    pairs: PairSample, source_vocabulary: int, target_vocabulary: int, iterations: int
) -> LexicalTable:
    """IBM Model 1 by expectation maximisation from even probabilities, with a null word; the same every time.

    Each target token is translated from one token of its source sentence, any of them with the same chance before the
    words are seen (Brown et al. 1993, section 4.1). Memory grows with the different links of all pairs, not with
    their number.
    """
    keys = np.empty(0, np.int64)
    for links in pairs.links(source_vocabulary, target_vocabulary):
        keys = np.union1d(keys, links.keys)
    sources = keys // target_vocabulary
    probabilities = np.ones(len(keys))  # that they do not add up to 1 changes no expectation
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for links in pairs.links(source_vocabulary, target_vocabulary):
            places = np.searchsorted(keys, links.keys)
            weights = probabilities[places]
            starts = np.cumsum(links.alternatives) - links.alternatives
            totals = np.add.reduceat(weights, starts)
            counts += np.bincount(places, weights / np.repeat(totals, links.alternatives), len(keys))
        probabilities = counts / np.bincount(sources, counts)[sources]
    return LexicalTable(keys, probabilities, source_vocabulary, target_vocabulary)


def tokens_of(side: Side, places: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of some sentences one after another, and how many each has."""
    starts = side.offsets[places]
    lengths = side.offsets[places + 1] - starts
    return side.ids[_ranges(starts, lengths)].astype(np.int64), lengths


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... of each length, one after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def _links_of(store: TokenStore, places: NDArray[np.int64]) -> NDArray[np.int64]:
    return (store.source.lengths[places] + 1) * store.target.lengths[places]
