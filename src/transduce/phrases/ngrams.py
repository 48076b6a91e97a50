"""A language model of word n-grams, smoothed by interpolated modified Kneser-Ney (Chen and Goodman 1999)."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final

BEGIN: Final = -1
END: Final = -2
"""Numbers of the words that begin and end each sentence, and that no text has."""

FALLBACK = (0.0, 0.5, 1.0, 1.5)  # discounts of a text that is too short to estimate them, as KenLM has them
MOST_KNOWN = 1 << 20  # scores that are remembered

Gram = tuple[int, ...]


class NGrams:
    """Log-probabilities of words, given as numbers, after the words before them."""

    def __init__(self, texts: Iterable[Sequence[int]], order: int = 3) -> None:
        self.order = order
        self._probabilities: dict[Gram, float] = {}
        """Natural logarithms of the interpolated probability of each known n-gram's last word."""
        self._backoffs: dict[Gram, float] = {}
        """Natural logarithms of the weight of shorter contexts, for each known context."""
        self._known: dict[tuple[Gram, int], float] = {}
        """Scores that were asked for."""
        counts = _continuations(_counts(texts, order))
        uniform = 1 / (1 + len(counts[1]))  # one more word than is known
        smoothed: dict[Gram, float] = {(): uniform}
        for n in range(1, order + 1):
            discounts = _discounts(Counter(counts[n].values()))
            totals: Counter[Gram] = Counter()
            left: defaultdict[Gram, float] = defaultdict(float)
            for gram, count in counts[n].items():
                totals[gram[:-1]] += count
                left[gram[:-1]] += discounts[min(count, 3)]
            for gram, count in counts[n].items():
                context = gram[:-1]
                share = (count - discounts[min(count, 3)]) / totals[context]
                smoothed[gram] = share + left[context] / totals[context] * smoothed[gram[1:]]
            self._backoffs |= {context: math.log(left[context] / totals[context]) for context in totals}
        self._unknown = self._backoffs.get((), 0.0) + math.log(uniform)
        self._probabilities = {gram: math.log(smoothed[gram]) for gram in smoothed if gram}

    def score(self, context: Gram, word: int) -> float:
        """Returns the natural log-probability of a word after others, of which the last `order - 1` count."""
        found = self._known.get((context, word))
        if found is None:
            gram, found = (*context, word), 0.0
            while gram not in self._probabilities and len(gram) > 1:
                found += self._backoffs.get(gram[:-1], 0.0)
                gram = gram[1:]
            found += self._probabilities.get(gram, self._unknown)
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[context, word] = found
        return found

    def after(self, context: Gram, word: int) -> Gram:
        """Returns the context of the word after this one."""
        return (*context, word)[1 - self.order :] if self.order > 1 else ()


def _counts(texts: Iterable[Sequence[int]], order: int) -> list[Counter[Gram]]:
    counts: list[Counter[Gram]] = [Counter() for _ in range(order + 1)]
    for text in texts:
        words = (BEGIN, *text, END)
        for end in range(2, len(words) + 1):
            for n in range(1, min(order, end) + 1):
                counts[n][words[end - n : end]] += 1
    return counts


def _continuations(counts: list[Counter[Gram]]) -> list[Counter[Gram]]:
    """Returns, for all but the longest n-grams, the number of different words before each in place of its count."""
    shorter = []
    for own, longer in pairwise(counts[1:]):
        before = Counter(gram[1:] for gram in longer)
        shorter.append(before | Counter({gram: count for gram, count in own.items() if gram[0] == BEGIN}))
    return [Counter(), *shorter, counts[-1]]


def _discounts(frequencies: Counter[int]) -> tuple[float, float, float, float]:
    """Returns what is taken from counts of 0, 1, 2, and 3 or more, by the numbers of n-grams with counts of 1 to 4."""
    one, two, three, four = (frequencies.get(count, 0) for count in (1, 2, 3, 4))
    if not all((one, two, three, four)):
        return FALLBACK
    share = one / (one + 2 * two)
    taken = (0.0, 1 - 2 * share * two / one, 2 - 3 * share * three / two, 3 - 4 * share * four / three)
    return taken if all(0 < each < count for count, each in enumerate(taken) if count) else FALLBACK
