"""Phrases and their translations, taken from aligned sentence pairs, with the features that a decoder weighs."""

import heapq
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from transduce.phrases.ibm_model_1 import Link

LONGEST: Final = 5
"""The most words of a phrase."""
DISCOUNT = 0.5  # of the count of each pair of phrases: one that was seen once says little
MOST_OPTIONS = 100  # translations of a phrase that are kept
UNALIGNED = math.log(0.05)  # log-probability of a word that no word of the other side translates

FEATURES: Final = ("phrase", "inverse phrase", "words", "inverse words", "length", "phrases", "unknown")
"""Features of a translation of a phrase: its log-probability given the source, and that of the source given it, as
wholes and word by word; its number of words; 1, which counts phrases; -1 for an unknown word, else 0."""

Phrase = tuple[int, ...]


@dataclass(frozen=True)
class Option:
    """A translation of a source phrase."""

    target: Phrase
    features: tuple[float, ...]


def phrase_table(
    sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]], links: Sequence[Sequence[Link]]
) -> Mapping[Phrase, list[Option]]:
    """Returns the likeliest translations of all phrases of aligned sentence pairs."""
    counts: Counter[tuple[Phrase, Phrase]] = Counter()
    inside: dict[tuple[Phrase, Phrase], list[Link]] = {}  # links between the words of each pair of phrases
    pairs: Counter[tuple[int, int]] = Counter()
    for source, target, of_pair in zip(sources, targets, links, strict=True):
        pairs.update((source[i], target[j]) for i, j in of_pair)
        for begin, end, first, last in _phrases(len(source), len(target), of_pair):
            both = tuple(source[begin:end]), tuple(target[first:last])
            counts[both] += 1
            if both not in inside:
                inside[both] = [(i - begin, j - first) for i, j in of_pair if begin <= i < end]
    of_source, of_target = _totals(pairs)
    of_phrase, of_translation = _totals(counts)
    table: dict[Phrase, list[Option]] = defaultdict(list)
    for (source, target), count in counts.items():
        forward: dict[int, list[float]] = {j: [] for j in range(len(target))}
        backward: dict[int, list[float]] = {i: [] for i in range(len(source))}
        for i, j in inside[source, target]:
            together = pairs[source[i], target[j]]
            forward[j].append(together / of_source[source[i]])
            backward[i].append(together / of_target[target[j]])
        features = (
            math.log((count - DISCOUNT) / of_phrase[source]),
            math.log((count - DISCOUNT) / of_translation[target]),
            sum(map(_lexical, forward.values())),
            sum(map(_lexical, backward.values())),
            float(len(target)),
            1.0,
            0.0,
        )
        table[source].append(Option(target, features))
    for source, options in table.items():
        if len(options) > MOST_OPTIONS:  # such as of a comma, which is linked to all that is linked to nothing else
            table[source] = heapq.nlargest(MOST_OPTIONS, options, key=lambda option: sum(option.features[:4]))
    return table


def _totals(counts: Mapping[tuple[Any, Any], int]) -> tuple[Counter[Any], Counter[Any]]:
    """Returns the sums of counts of pairs by their first and by their second parts."""
    first: Counter[Any] = Counter()
    second: Counter[Any] = Counter()
    for (one, other), count in counts.items():
        first[one] += count
        second[other] += count
    return first, second


def _lexical(probabilities: Sequence[float]) -> float:
    """Returns the log-probability of a word, given those of its links (Koehn, Och and Marcu 2003)."""
    return math.log(sum(probabilities) / len(probabilities)) if probabilities else UNALIGNED


def _phrases(sources: int, targets: int, links: Sequence[Link]) -> Iterator[tuple[int, int, int, int]]:
    """Yields the places of phrases, ends exclusive, whose words have links to each other alone, in sentences of these
    lengths; words without links at their edges belong to them or not (Och and Ney 2004)."""
    to_target: dict[int, list[int]] = defaultdict(list)
    to_source: dict[int, list[int]] = defaultdict(list)
    for i, j in links:
        to_target[i].append(j)
        to_source[j].append(i)
    for begin in range(sources):
        linked: list[int] = []
        for end in range(begin + 1, min(sources, begin + LONGEST) + 1):
            linked += to_target[end - 1]
            if not linked or max(linked) - min(linked) >= LONGEST:
                continue
            low, high = min(linked), max(linked) + 1
            if any(not begin <= i < end for j in range(low, high) for i in to_source[j]):
                continue
            first = low
            while True:
                last = high
                while True:
                    if last - first <= LONGEST:
                        yield begin, end, first, last
                    if last == targets or to_source[last] or last - first >= LONGEST:
                        break
                    last += 1
                if first == 0 or to_source[first - 1] or high - first >= LONGEST:
                    break
                first -= 1
