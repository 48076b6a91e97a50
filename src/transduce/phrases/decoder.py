"""A stack decoder: the translation of a sentence by phrases that scores best (Koehn, Och and Marcu 2003)."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from transduce.budget import check
from transduce.phrases.ngrams import BEGIN, END, Gram, NGrams
from transduce.phrases.table import FEATURES, LONGEST, Option, Phrase

WEIGHTS: Final = (1.0, 0.6, 0.4, 0.4, 0.6, -0.3, 1.0, 1.0, -0.25)
"""Weights before they are tuned: of the features of phrases, the language model, and distances between phrases."""
MODEL, DISTANCE = len(FEATURES), len(FEATURES) + 1

FURTHEST = 5  # source words that may be left for later
STACK: Final = 20
"""Hypotheses that are extended for each number of translated words."""
WORSE = 7.0  # and only those that are at most this much worse than the best of them
OPTIONS = 8  # translations of a phrase that are tried
TRIED = 20_000  # parts of outputs that are looked at for a list of the best


@dataclass(frozen=True)
class Output:
    """A translation, its score, and its features, whose weighted sum the score is."""

    target: Phrase
    score: float
    features: tuple[float, ...]
    spans: tuple[tuple[int, int, int], ...]
    """The places of the source phrases, ends exclusive, in the order of the output, and their translations' lengths."""


@dataclass(frozen=True)
class _Weighed:
    """A translation of a source phrase, with its weighted sum of features, and that with an estimate by the language
    model."""

    target: Phrase
    gain: float
    estimate: float
    features: tuple[float, ...]


@dataclass(eq=False)
class _Hypothesis:
    """The best way to translate some words of a source, with the last words of the output that later ones depend on."""

    covered: int
    """A bit for each source word that is translated."""
    context: Gram
    end: int
    """The place after the source phrase that was translated last."""
    score: float
    rest: float
    """An estimate of what the other words add to the score."""
    ways: "list[_Way]"
    """All the ways to get here, if lists of outputs are wanted, else the best one."""


@dataclass(frozen=True)
class _Way:
    """A hypothesis that was extended by a translation of a phrase."""

    before: _Hypothesis
    span: tuple[int, int]
    option: _Weighed
    gain: float
    model: float
    distance: int


Translations = Callable[[int], Sequence[Option]]
"""Returns translations of the source word at a place, where the table has none."""


def decode(
    source: Sequence[int],
    table: Mapping[Phrase, Sequence[Option]],
    model: NGrams,
    unknown: Translations,
    weights: Sequence[float] = WEIGHTS,
    n_best: int = 1,
    stack: int = STACK,
) -> list[Output]:
    """Returns the best outputs for a source sentence, which has words, best first; BudgetError if that is to end."""
    length = len(source)
    options = {
        (begin, end): _weighed(found, model, weights)
        for begin in range(length)
        for end in range(begin + 1, min(length, begin + LONGEST) + 1)
        if (found := table.get(tuple(source[begin:end])) or (unknown(begin) if end == begin + 1 else ()))
    }
    rest = _Rest(length, options)
    everything = (1 << length) - 1
    stacks: list[dict[tuple[int, Gram, int], _Hypothesis]] = [{} for _ in range(length + 1)]
    highest = [-float("inf")] * (length + 1)  # scores with estimates of the rest, by the number of translated words
    stacks[0][0, (BEGIN,), 0] = _Hypothesis(0, (BEGIN,), 0, 0.0, rest.of(0), [])
    for count in range(length):
        check()
        promising = heapq.nlargest(stack, stacks[count].values(), key=lambda each: each.score + each.rest)
        for hypothesis in promising:
            if hypothesis.score + hypothesis.rest < highest[count] - WORSE:
                break
            for begin, end in _free(hypothesis.covered, length):
                if (begin, end) not in options:
                    continue
                covered = hypothesis.covered | ((1 << end) - (1 << begin))
                left, distance = rest.of(covered), abs(begin - hypothesis.end)
                reached, is_whole = count + end - begin, covered == everything
                moved = hypothesis.score + weights[DISTANCE] * distance
                for option in options[begin, end]:
                    if moved + option.estimate + left < highest[reached] - WORSE:
                        break  # later options are worse
                    context, added = hypothesis.context, 0.0
                    for word in option.target:
                        added += model.score(context, word)
                        context = model.after(context, word)
                    if is_whole:
                        added += model.score(context, END)
                        context = ()
                    score = moved + option.gain + weights[MODEL] * added
                    way = _Way(hypothesis, (begin, end), option, score - hypothesis.score, added, distance)
                    key = (covered, context, 0 if is_whole else end)
                    known = stacks[reached].get(key)
                    if known is None:
                        stacks[reached][key] = _Hypothesis(covered, context, end, score, left, [way])
                        highest[reached] = max(highest[reached], score + left)
                        continue
                    if n_best > 1:
                        known.ways.append(way)
                    elif score > known.score:
                        known.ways[0] = way
                    if score > known.score:
                        known.score = score
                        highest[reached] = max(highest[reached], score + left)
    (whole,) = stacks[length].values()
    return _best(whole, n_best)


def _weighed(options: Sequence[Option], model: NGrams, weights: Sequence[float]) -> list[_Weighed]:
    """Returns the most promising translations of a phrase, best first."""
    weighed = []
    for option in options:
        gain = sum(weight * feature for weight, feature in zip(weights, option.features, strict=False))
        context: Gram = ()
        estimate = gain
        for word in option.target:
            estimate += weights[MODEL] * model.score(context, word)
            context = model.after(context, word)
        weighed.append(_Weighed(option.target, gain, estimate, option.features))
    return heapq.nlargest(OPTIONS, weighed, key=lambda each: each.estimate)


class _Rest:
    """Estimates what words that are still to be translated add to a score: the best of all ways to part them."""

    def __init__(self, length: int, options: Mapping[tuple[int, int], Sequence[_Weighed]]) -> None:
        self._length = length
        self._best: dict[tuple[int, int], float] = {(place, place): 0.0 for place in range(length + 1)}
        for size in range(1, length + 1):
            for begin in range(length - size + 1):
                end = begin + size
                whole = options[begin, end][0].estimate if (begin, end) in options else -float("inf")
                parted = (self._best[begin, middle] + self._best[middle, end] for middle in range(begin + 1, end))
                self._best[begin, end] = max(whole, max(parted, default=-float("inf")))
        self._known: dict[int, float] = {}

    def of(self, covered: int) -> float:
        """Returns the estimate for the words that are not covered."""
        if covered not in self._known:
            total, begin = 0.0, 0
            while begin < self._length:
                end = begin
                while end < self._length and not covered >> end & 1:
                    end += 1
                total += self._best[begin, end]
                begin = end + 1
            self._known[covered] = total
        return self._known[covered]


def _free(covered: int, length: int) -> list[tuple[int, int]]:
    """Returns the phrases that may be translated next: near the first word that is not translated yet."""
    first = (~covered & (covered + 1)).bit_length() - 1
    spans = []
    for begin in range(first, min(length, first + FURTHEST + 1)):
        for end in range(begin + 1, min(length, begin + LONGEST) + 1):
            if covered >> (end - 1) & 1:
                break
            spans.append((begin, end))
    return spans


def _best(whole: _Hypothesis, n_best: int) -> list[Output]:
    """Returns the best outputs that end in a hypothesis, by a search from its end, whose estimates are exact."""
    waiting: list[tuple[float, int, _Hypothesis, float, tuple[_Way, ...]]] = [(-whole.score, 0, whole, 0.0, ())]
    outputs: dict[Phrase, Output] = {}
    number = 0
    while waiting and len(outputs) < n_best and number < TRIED:
        negative, _, hypothesis, tail, ways = heapq.heappop(waiting)
        if not hypothesis.ways:
            target = tuple(word for way in ways for word in way.option.target)
            outputs.setdefault(target, Output(target, -negative, _features(ways), _spans(ways)))
            continue
        for way in hypothesis.ways:
            number += 1
            gained = tail + way.gain
            heapq.heappush(waiting, (-(way.before.score + gained), number, way.before, gained, (way, *ways)))
    return list(outputs.values())


def _features(ways: Sequence[_Way]) -> tuple[float, ...]:
    rows = [(*way.option.features, way.model, float(way.distance)) for way in ways]
    return tuple(map(sum, zip(*rows, strict=True)))


def _spans(ways: Sequence[_Way]) -> tuple[tuple[int, int, int], ...]:
    return tuple((*way.span, len(way.option.target)) for way in ways)
