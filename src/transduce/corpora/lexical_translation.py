"""Lexical translation probabilities: IBM Model 1 (Brown et al. 1993)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Sentences = tuple[NDArray[np.int64], NDArray[np.int64]]
"""The tokens of sentences, one sentence after another, and the length of each."""


@dataclass(frozen=True)
class Links:
    """All possible links of the target tokens of sentence pairs to a source token, or to the null word.

    The links of one target token are adjacent.
    """

    keys: NDArray[np.int64]
    """Pairs as numbers: source token * target vocabulary + target token."""
    alternatives: NDArray[np.int64]
    """The number of links of each target token: its sentence's source tokens and one."""

    @staticmethod
    def between(sources: Sentences, targets: Sentences, source_vocabulary: int, target_vocabulary: int) -> "Links":
        """Returns all links of sentence pairs; the null word is the number after the source vocabulary's last."""
        (source, source_lengths), (target, target_lengths) = sources, targets
        ends = np.cumsum(source_lengths)
        with_null = np.insert(source, ends, source_vocabulary)  # a null word after each sentence
        starts = ends - source_lengths + np.arange(len(ends))  # of the sentences, in `with_null`
        alternatives = np.repeat(source_lengths + 1, target_lengths)  # [target tokens]
        from_tokens = with_null[ranges(np.repeat(starts, target_lengths), alternatives)]  # [links]
        return Links(from_tokens * target_vocabulary + np.repeat(target, alternatives), alternatives)


@dataclass(frozen=True)
class LexicalTable:
    """p(target token | source token) for all pairs of tokens that occur in a sentence pair together."""

    keys: NDArray[np.int64]
    """Pairs as numbers: source token * target vocabulary + target token, rising; the null word comes last."""
    probabilities: NDArray[np.float64]
    source_vocabulary: int
    target_vocabulary: int

    def probability(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Returns the probability of each pair of tokens, 0 for those that did not occur together."""
        places = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.where(self.keys[places] == keys, self.probabilities[places], 0.0)

    def likeliest(self, count: int, fill: int) -> NDArray[np.int64]:
        """Returns the most probable target tokens of each source token, best first and then by id, `fill` where there
        are fewer: [source vocabulary, count]."""
        sources, targets = np.divmod(self.keys, self.target_vocabulary)
        order = np.lexsort((-self.probabilities, sources))
        sources, targets = sources[order], targets[order]
        rank = np.arange(len(sources)) - np.searchsorted(sources, sources)
        kept = (rank < count) & (sources < self.source_vocabulary)
        lists = np.full((self.source_vocabulary, count), fill, np.int64)
        lists[sources[kept], rank[kept]] = targets[kept]
        return lists


def learn_lexical_table(
    links: Callable[[], Iterable[Links]], source_vocabulary: int, target_vocabulary: int, iterations: int, is_held: bool
) -> LexicalTable:
    """Learns IBM Model 1 by expectation maximisation from uniform probabilities, with a null word; deterministic.

    Each target token is the translation of one token of its source sentence, all equally likely a priori (Brown et
    al. 1993, section 4.1). `links` yields the links of all pairs in chunks, the same ones each time. Memory grows with
    the number of different links of all pairs; if all fit into it, and `is_held`, learning is faster.
    """
    keys = np.empty(0, np.int64)
    for chunk in links():
        ordered = np.sort(np.concatenate([keys, chunk.keys]))  # np.union1d takes several times as long
        keys = ordered[np.diff(ordered, prepend=-1) > 0]  # keys are from 0 on
    held = [np.searchsorted(keys, chunk.keys) for chunk in links()] if is_held else None
    sources = keys // target_vocabulary
    probabilities = np.ones(len(keys))  # that they do not add up to 1 changes no expectation
    for _ in range(iterations):
        counts = np.zeros(len(keys))
        for number, chunk in enumerate(links()):
            positions = np.searchsorted(keys, chunk.keys) if held is None else held[number]
            weights = probabilities[positions]  # p(target | source)  [links]
            starts = np.cumsum(chunk.alternatives) - chunk.alternatives
            totals = np.add.reduceat(weights, starts)  # [target tokens]
            posteriors = weights / np.repeat(totals, chunk.alternatives)  # p(link | sentence pair)  [links]
            counts += np.bincount(positions, posteriors, len(keys))  # expected counts  [keys]
        probabilities = counts / np.bincount(sources, counts)[sources]
    return LexicalTable(keys, probabilities, source_vocabulary, target_vocabulary)


def ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns the concatenated ranges [start, start + length)."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))


def chunks(links: NDArray[np.int64], most: int) -> Iterator[NDArray[np.int64]]:
    """Yields the places of pairs, given the number of links of each, in chunks of this many links, or of one pair."""
    before, start = np.insert(np.cumsum(links), 0, 0), 0
    while start < len(links):
        stop = max(int(np.searchsorted(before, before[start] + most, side="right")) - 1, start + 1)
        yield np.arange(start, stop)
        start = stop
