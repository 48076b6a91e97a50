"""Finds texts of another language among many of one, by nothing but these texts."""

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.doctor.evidence import CHARACTERS, HashedNGrams, Values
from transduce.corpora.doctor.numbers import Numbers, words_of

ROUNDS, STARTS = 6, 4
FIRST = 0.02
"""Share of the texts that are taken for the other language at first: the least likely ones."""
SHORTEST = 12
"""Characters of a text from which on it can be told to be of another language."""
LEAST = 0.4
"""Mean log-ratio of a character's probabilities in both languages, from which on they are two: topics have less."""
SURE = 8.0
"""Log-ratio of a text's probabilities in both languages, beside that of the numbers of their texts."""
LEAST_SHARE = 0.005
"""Share of the texts in another language, at least; fewer are exceptions, such as names."""
KNOWN = 0.3
"""Share of frequent words of the usual language, from which on a text is in it: lists of names and headings are
unlike other texts, and yet in no other language."""
FEWEST = 20
"""Texts of another language; fewer cannot be told from exceptions."""


@dataclass(frozen=True)
class OtherLanguage:
    """A language beside the usual one of texts, by models of both: those learned from each half of the texts."""

    share: float
    usual: Sequence[HashedNGrams]
    other: Sequence[HashedNGrams]
    frequent: frozenset[str] = frozenset()
    """The words that are most frequent in the usual language, half of all running words together."""

    @staticmethod
    def sought_in(texts: Sequence[str], others: Sequence[str]) -> "OtherLanguage | None":
        """Returns the language of some of the texts that is not that of most; None if there is one language. `others`:
        the texts of the other side.

        The texts are divided in two by expectation maximisation, beginning with the least likely ones: models of
        character n-grams of both parts say to which part a text belongs. If one part is another language, a
        character's probabilities in both differ much; topics differ little.
        """
        numbers = Numbers.of_characters(texts)
        halves = _halves(texts)
        enough = numbers.lengths >= SHORTEST
        begins = enough.copy()
        """The texts among which another language may be: not those that were found to be none."""
        for _ in range(STARTS):
            if begins.sum() < 10 * FEWEST:
                return None
            language, found = _divided(numbers, halves, enough, begins)
            if language is not None and language.share >= LEAST_SHARE:
                frequent = _frequent_words([texts[place] for place in np.flatnonzero(~found).tolist()])
                language = replace(language, frequent=frequent)
                known = np.median(
                    [language._known(texts[place], others[place]) for place in np.flatnonzero(found).tolist()]
                )
                if known < KNOWN:
                    return language
            if not found.any():
                return None
            begins &= ~found
        return None

    def holds(self, texts: Sequence[str], others: Sequence[str]) -> NDArray[np.bool_]:
        """Returns which texts are in the other language; each is judged by models of the half that it is not in."""
        numbers = Numbers.of_characters(texts)
        found = (numbers.lengths >= SHORTEST) & (self._ratio(numbers, _halves(texts)) > SURE)
        for place in np.flatnonzero(found).tolist():
            found[place] = self._known(texts[place], others[place]) < KNOWN
        return found

    def _known(self, text: str, other: str) -> float:
        """Returns the share of a text's words that are frequent in the usual language, or stand on the other side, too:
        names."""
        words, names = _letters(text), set(_letters(other))
        return sum(word in self.frequent or word in names for word in words) / len(words) if words else 1.0

    def _ratio(self, numbers: Numbers, halves: NDArray[np.int64]) -> Values:
        """Returns the log-odds of each text to be in the other language."""
        odds = float(np.log(self.share / (1 - self.share)))
        return odds + _judged(numbers, halves, self.other) - _judged(numbers, halves, self.usual)


def _divided(
    numbers: Numbers, halves: NDArray[np.int64], enough: NDArray[np.bool_], begins: NDArray[np.bool_]
) -> tuple[OtherLanguage | None, NDArray[np.bool_]]:
    """Divides texts in two; returns the other language, if it is one, and its texts."""
    usual = np.ones(len(numbers), bool)
    for _ in range(2):  # of the likelier half, in which hardly any text is of the other language
        models = _models(numbers, halves, usual)
        likely = _judged(numbers, halves, models) / numbers.lengths
        usual = likely > np.median(likely)
    found = begins & (likely < np.quantile(likely[begins], FIRST))
    for turn in range(ROUNDS):
        if found.sum() < FEWEST or found.mean() > 0.5:
            return None, found & (found.mean() <= 0.5)
        if turn >= ROUNDS // 2:  # now that most texts of the other language are found, of all other texts
            models = _models(numbers, halves, ~found)
        language = OtherLanguage(float(found.mean()), models, _models(numbers, halves, found))
        ratio = language._ratio(numbers, halves)
        found = enough & (ratio > SURE)
    if found.sum() < FEWEST or (ratio[found] / numbers.lengths[found]).mean() < LEAST:
        return None, found
    return language, found


def _models(numbers: Numbers, halves: NDArray[np.int64], part: NDArray[np.bool_]) -> list[HashedNGrams]:
    """Returns a model of the part of the texts in each half."""
    return [HashedNGrams(numbers.take(np.flatnonzero(part & (halves == half))), CHARACTERS) for half in (0, 1)]


def _judged(numbers: Numbers, halves: NDArray[np.int64], models: Sequence[HashedNGrams]) -> Values:
    """Returns the log-probability of each text by the model of the half that it is not in."""
    found = np.zeros(len(numbers))
    for half, model in enumerate(models):
        judged = np.flatnonzero(halves != half)
        if len(judged):
            some = numbers.take(judged)
            found[judged] = some.mean(model.log_probabilities(some)[-1]) * some.lengths
    return found


def _letters(text: str) -> list[str]:
    return [word for word in words_of(text) if word.isalpha()]


def _frequent_words(texts: Sequence[str]) -> frozenset[str]:
    """Returns the most frequent words of texts, which together are half of all."""
    counts = Counter(word for text in texts for word in _letters(text)).most_common()
    sums = np.cumsum([count for _, count in counts])
    return (
        frozenset(word for word, _ in counts[: int(np.searchsorted(sums, sums[-1] / 2)) + 1]) if counts else frozenset()
    )


def _halves(texts: Sequence[str]) -> NDArray[np.int64]:
    return np.array([zlib.crc32(text.encode("utf-8", "surrogatepass")) & 1 for text in texts])
