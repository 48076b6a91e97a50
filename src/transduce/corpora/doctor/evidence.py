"""What a corpus itself says about a pair: do its words translate each other, are they in order, in which language?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.doctor.numbers import UNKNOWN, Numbers, Vocabulary
from transduce.corpora.lexical_translation import LexicalTable, Links, chunks, learn_lexical_table, ranges

Values = NDArray[np.float64]

ITERATIONS = 4
LINKS_AT_ONCE = 4_000_000
SMOOTHING = 0.1
"""Share of the probability of a word that does not come from the other side's words."""
CHARACTERS, WORDS = 4, 2
"""Orders of n-grams."""
BITS = 20
"""An n-gram is counted under a hash of so many bits."""
PRIOR = 5.0
"""Occurrences of a context that weigh as much as the shorter context."""
AT_ONCE = 2_000
"""Pairs that are judged at once."""
LONGEST = 100
"""Words of a side that count: a document in one line has as many links as a thousand sentences."""


class HashedNGrams:
    """An interpolated model of n-grams, counted under hashes."""

    def __init__(self, texts: Numbers, order: int) -> None:
        self.order = order
        size = 1 << BITS
        self._counts = [np.bincount(hashes(texts, n), minlength=size).astype(np.float32) for n in range(1, order + 1)]
        self._contexts = [self._counts[0].sum(keepdims=True)]
        """How often each context was seen, which is the n-gram one shorter: the empty one first."""
        self._contexts += self._counts[:-1]
        self._kinds = float((self._counts[0] > 0).sum()) + 1.0

    def log_probabilities(self, texts: Numbers) -> list[Values]:
        """Returns the natural log-probability of each symbol by n-grams of each order up to the model's."""
        total = float(self._contexts[0][0])
        found = (self._counts[0][hashes(texts, 1)] + 0.5) / (total + 0.5 * self._kinds)
        orders = [np.log(found)]
        for n in range(2, self.order + 1):
            seen = self._counts[n - 1][hashes(texts, n)]
            context = self._contexts[n - 1][hashes(texts, n - 1, back=1)]
            weight = context / (context + PRIOR)
            found = weight * np.minimum(seen / np.maximum(context, 1.0), 1.0) + (1 - weight) * found
            orders.append(np.log(found))
        return orders


def hashes(texts: Numbers, n: int, back: int = 0) -> NDArray[np.int64]:
    """Returns a hash of the n symbols up to each symbol, or up to the one `back` before it; those before a text's
    first are the same for all texts."""
    places = texts.places
    mixed = np.full(len(texts.values), n, np.uint64)
    for distance in range(n - 1 + back, back - 1, -1):
        before = np.roll(texts.values, distance).astype(np.uint64) + np.uint64(1)
        before[places < distance] = 0
        mixed = (mixed ^ before) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return (mixed >> np.uint64(64 - BITS)).astype(np.int64)


@dataclass(frozen=True)
class Evidence:
    """Evidence on pairs, an array of one value a pair each; lower is worse."""

    lexical_source: Values
    """Mean log-ratio of the probability of a source word given the target, to its frequency."""
    lexical_target: Values
    """Mean log-ratio of the probability of a target word given the source, to its frequency."""
    partial_source: Values
    """`lexical_source` of the first or the second half of the source, the lower one."""
    partial_target: Values
    """`lexical_target` of the first or the second half of the target, the lower one."""
    order_source: Values
    """Mean log-ratio of a word's probability after the word before it, to its frequency, in the source."""
    order_target: Values
    monotony: Values
    """Correlation of the places of words with the places of those that explain them best, as Fisher's z."""
    swapped_source: Values
    """Mean log-ratio of the probabilities of the source's characters in the languages of sources and of targets."""
    swapped_target: Values
    length: Values
    """Log-ratio of the lengths in characters, source to target."""
    words: Values
    """Words of the longer side: no evidence, but how much of it there is."""

    @staticmethod
    def joined(parts: Sequence["Evidence"]) -> "Evidence":
        """Joins the evidence on several groups of pairs."""
        names = Evidence.__dataclass_fields__
        return Evidence(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> "Evidence":
        """Returns the evidence on some of the pairs."""
        return Evidence(**{name: getattr(self, name)[chosen] for name in Evidence.__dataclass_fields__})


class Experience:
    """What was learned from pairs, with which others are judged."""

    def __init__(self, sources: Sequence[str], targets: Sequence[str]) -> None:
        self._vocabularies = Vocabulary(), Vocabulary()
        words = [
            _shortened(vocabulary.learn(texts))
            for vocabulary, texts in zip(self._vocabularies, (sources, targets), strict=True)
        ]
        sizes = [len(vocabulary) for vocabulary in self._vocabularies]
        self._frequencies = [np.bincount(side.values, minlength=size) for side, size in zip(words, sizes, strict=True)]
        self._tables = [
            learn_table(words[side], words[1 - side], sizes[side], sizes[1 - side]) for side in (0, 1)
        ]  # of targets given sources, and of sources given targets
        self._orders = [HashedNGrams(side, WORDS) for side in words]
        self._languages = [HashedNGrams(Numbers.of_characters(texts), CHARACTERS) for texts in (sources, targets)]

    def judge(self, sources: Sequence[str], targets: Sequence[str]) -> Evidence:
        """Returns the evidence on other pairs."""
        texts = (sources, targets)
        words = [_shortened(vocabulary.of(side)) for vocabulary, side in zip(self._vocabularies, texts, strict=True)]
        found = [self._explained(1, words[1], words[0]), self._explained(0, words[0], words[1])]  # source's, target's
        ratios = [ratio for ratio, _ in found]
        orders = []
        for model, side in zip(self._orders, words, strict=True):
            alone, after = model.log_probabilities(side)
            orders.append(side.mean(after - alone))
        characters = [Numbers.of_characters(side) for side in texts]
        own, other = (
            [
                side.mean(self._languages[place ^ swap].log_probabilities(side)[-1])
                for place, side in enumerate(characters)
            ]
            for swap in (0, 1)
        )
        lengths = [side.lengths - 2.0 for side in characters]
        return Evidence(
            lexical_source=words[0].mean(ratios[0]),
            lexical_target=words[1].mean(ratios[1]),
            partial_source=_lower_half(words[0], ratios[0]),
            partial_target=_lower_half(words[1], ratios[1]),
            order_source=orders[0],
            order_target=orders[1],
            monotony=(_correlation(words[0], *found[0]) + _correlation(words[1], *found[1])) / 2,
            swapped_source=own[0] - other[0],
            swapped_target=own[1] - other[1],
            length=np.log((lengths[0] + 1) / (lengths[1] + 1)),
            words=np.maximum(words[0].lengths, words[1].lengths).astype(float),
        )

    def _explained(self, table: int, given: Numbers, words: Numbers) -> tuple[Values, Values]:
        """Returns, for each word, the log-ratio of its probability given the likeliest word of the other side, to its
        frequency, 0 for an unknown word; and the place of that word, 0 to 1."""
        learned = self._tables[table]
        parts, at = [], []
        for links in _links(given, words, learned.source_vocabulary, learned.target_vocabulary):
            probabilities = learned.probability(links.keys)
            begins = np.cumsum(links.alternatives) - links.alternatives
            most = np.maximum.reduceat(probabilities, begins)
            likeliest = np.flatnonzero(probabilities == np.repeat(most, links.alternatives))
            first = likeliest[np.searchsorted(likeliest, begins)]
            parts.append(most)
            at.append((first - begins) / np.maximum(links.alternatives - 1, 1))
        best = np.concatenate(parts)
        frequencies = self._frequencies[1 - table]
        usual = (frequencies + 0.5) / (frequencies.sum() + 0.5 * len(frequencies))
        ratio = np.log(((1 - SMOOTHING) * best + SMOOTHING * usual[words.values]) / usual[words.values])
        ratio[(words.values == UNKNOWN) | (frequencies[words.values] == 0)] = 0.0
        return ratio, np.concatenate(at)


def judge_by_other_half(
    experience: Sequence[Experience], halves: NDArray[np.int64], sources: Sequence[str], targets: Sequence[str]
) -> Evidence:
    """Returns the evidence on pairs, each by what was learned from the half that it is not in, 0 or 1."""
    parts, places = [], []
    for half, learned in enumerate(experience):
        chosen = np.flatnonzero(halves != half)
        for some in np.array_split(chosen, len(chosen) // AT_ONCE + 1):
            if len(some):
                parts.append(learned.judge([sources[i] for i in some.tolist()], [targets[i] for i in some.tolist()]))
                places.append(some)
    return Evidence.joined(parts).take(np.argsort(np.concatenate(places)))


def _shortened(words: Numbers) -> Numbers:
    lengths = np.minimum(words.lengths, LONGEST)
    return Numbers(words.values[ranges(words.starts, lengths)], lengths)


def learn_table(given: Numbers, words: Numbers, given_size: int, size: int) -> LexicalTable:
    """Learns the probabilities of words, given each word of the texts beside them, by IBM's Model 1 (Brown et al.
    1993)."""
    links = list(_links(given, words, given_size, size))
    return learn_lexical_table(lambda: links, given_size, size, ITERATIONS, is_held=True)


def _links(given: Numbers, words: Numbers, given_size: int, size: int) -> Iterator[Links]:
    """Yields all links of each word to the words given with it and to the null word."""
    for chosen in chunks((given.lengths + 1) * words.lengths, LINKS_AT_ONCE):
        sources, targets = ((some.values, some.lengths) for some in (given.take(chosen), words.take(chosen)))
        yield Links.between(sources, targets, given_size, size)


def _correlation(words: Numbers, ratio: Values, place: Values) -> Values:
    """Returns the correlation of each text's words with the places of what explains them, weighted by how well."""
    own = words.places / np.repeat(words.lengths, words.lengths)
    weight = np.maximum(ratio, 0.0) + 1e-6

    def mean(values: Values) -> Values:
        return words.mean(weight * values) / words.mean(weight)

    both = mean(own * place) - mean(own) * mean(place)
    spread = np.maximum((mean(own**2) - mean(own) ** 2) * (mean(place**2) - mean(place) ** 2), 1e-12)
    return np.arctanh(np.clip(both / np.sqrt(spread), -0.95, 0.95))


def _lower_half(words: Numbers, values: Values) -> Values:
    """Returns the mean value of the first or of the second half of each text, the lower one."""
    first = (words.lengths + 1) // 2
    sums = np.insert(np.cumsum(values), 0, 0.0)
    middle, end = words.starts + first, words.starts + words.lengths
    before = (sums[middle] - sums[words.starts]) / first
    after = (sums[end] - sums[middle]) / np.maximum(words.lengths - first, 1)
    return np.where(words.lengths > 1, np.minimum(before, after), before)
