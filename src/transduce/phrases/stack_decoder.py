"""A stack decoder: the translation of a sentence by phrases that scores best (Koehn, Och and Marcu 2003)."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from docsegments.budget import check
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
UNLIKE = -6.0  # score of a prefix's word that is written for a source word, or none, though no phrase translates it so
TRIED = 20_000  # parts of outputs that are looked at for a list of the best


Span = tuple[int, int]
"""The places of a source phrase's words, the end exclusive."""


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
    span: Span
    option: _Weighed
    gain: float
    model: float
    distance: int


class _Stack:
    """Hypotheses that compete: ways to translate as many words of a source, or to write as many words of a prefix."""

    def __init__(self) -> None:
        self.known: dict[tuple[int, Gram, int], _Hypothesis] = {}
        self.highest = -float("inf")
        """The highest score with an estimate of the rest."""

    def promising(self, most: int) -> Iterator[_Hypothesis]:
        """Yields the hypotheses that are worth extending, best first."""
        for hypothesis in heapq.nlargest(most, self.known.values(), key=lambda each: each.score + each.rest):
            if hypothesis.score + hypothesis.rest < self.highest - WORSE:
                break
            yield hypothesis

    def add(self, covered: int, context: Gram, end: int, rest: float, way: _Way, keeps_all: bool) -> None:
        """Adds a way to a hypothesis, which may be new."""
        score, key = way.before.score + way.gain, (covered, context, end)
        known = self.known.get(key)
        if known is None:
            known = self.known[key] = _Hypothesis(covered, context, end, score, rest, [way])
        elif keeps_all:
            known.ways.append(way)
        elif score > known.score:
            known.ways[0] = way
        known.score = max(known.score, score)
        self.highest = max(self.highest, score + rest)


def decode(
    length: int,
    options: Mapping[Span, Sequence[Option]],
    model: NGrams,
    weights: Sequence[float] = WEIGHTS,
    n_best: int = 1,
    prefix: Phrase = (),
    is_whole: bool = False,
    most: int = STACK,
) -> list[Output]:
    """Returns the best outputs for a source sentence, best first; BudgetError if that is to end.

    Args:
        length: words of the source, one or more.
        options: translations of its phrases; without one for a word there may be no output.
        model: the language model.
        weights: weights of the features.
        n_best: the number of outputs.
        prefix: words that all outputs begin with, whether phrases have them or not.
        is_whole: True if outputs hold nothing after the prefix, which has words.
        most: hypotheses that are extended for each number of translated words.
    """
    weighed = {span: _weighed(each, model, weights) for span, each in options.items()}
    rest = _Rest(length, weighed)
    everything = (1 << length) - 1
    stacks = [_Stack() for _ in range(length + 1)]
    begun = [_Stack() for _ in prefix]  # by the number of the prefix's words that are written
    first = _Hypothesis(0, (BEGIN,), 0, 0.0, rest.of(0), [])
    (begun or stacks)[0].known[0, (BEGIN,), 0] = first

    def extend(before: _Hypothesis, span: Span, option: _Weighed, written: int) -> None:
        """Adds a hypothesis with a phrase translated, or a word of the prefix written for none."""
        begin, end = span
        covered = before.covered | ((1 << end) - (1 << begin))
        distance = abs(begin - before.end)
        context, added = before.context, 0.0
        for word in option.target:
            added += model.score(context, word)
            context = model.after(context, word)
        written += len(option.target)
        is_whole = covered == everything and written >= len(prefix)
        if is_whole:
            added += model.score(context, END)
            context, end = (), 0
        gain = option.gain + weights[MODEL] * added + weights[DISTANCE] * distance
        stack = begun[written] if written < len(prefix) else stacks[covered.bit_count()]
        left = rest.of(covered)
        if n_best > 1 or before.score + gain + left >= stack.highest - WORSE:
            stack.add(covered, context, end, left, _Way(before, span, option, gain, added, distance), n_best > 1)

    for written, stack in enumerate(begun):
        check()
        wanted = prefix[written:]
        unlike = _Weighed(wanted[:1], UNLIKE, UNLIKE, (0.0,) * MODEL)
        agreeing = {
            span: fitting
            for span, found in options.items()
            if (fitting := [each for each in found if _agrees(each.target, wanted, is_whole)])
        }
        phrases = [(span, each) for span, found in agreeing.items() for each in _weighed(found, model, weights)]
        for hypothesis in stack.promising(most):
            extend(hypothesis, (hypothesis.end, hypothesis.end), unlike, written)
            for begin, end in _free(hypothesis.covered, length):
                if end == begin + 1:
                    extend(hypothesis, (begin, end), unlike, written)
            for (begin, end), option in phrases:
                if not hypothesis.covered & ((1 << end) - (1 << begin)):
                    extend(hypothesis, (begin, end), option, written)
    if is_whole:
        nothing = _Weighed((), UNLIKE, UNLIKE, (0.0,) * MODEL)
        weighed = {(place, place + 1): [nothing] for place in range(length)}
    for count, stack in enumerate(stacks[:-1]):
        check()
        for hypothesis in stack.promising(most):
            for begin, end in _free(hypothesis.covered, length):
                if (begin, end) not in weighed:
                    continue
                left = rest.of(hypothesis.covered | ((1 << end) - (1 << begin)))
                moved = hypothesis.score + weights[DISTANCE] * abs(begin - hypothesis.end)
                reached = stacks[count + end - begin]
                for option in weighed[begin, end]:
                    if moved + option.estimate + left < reached.highest - WORSE:
                        break  # later options are worse
                    extend(hypothesis, (begin, end), option, len(prefix))
    return [output for whole in stacks[length].known.values() for output in _best(whole, n_best)]


def _agrees(target: Phrase, wanted: Phrase, is_whole: bool) -> bool:
    """Returns True if a phrase has words, and they are wanted as far as both go; if that is the whole, it has no
    more."""
    return 0 < len(target) <= (len(wanted) if is_whole else LONGEST) and all(
        own == other for own, other in zip(target, wanted, strict=False)
    )


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

    def __init__(self, length: int, options: Mapping[Span, Sequence[_Weighed]]) -> None:
        self._length = length
        firsts: list[list[tuple[int, float]]] = [[] for _ in range(length)]
        for (begin, end), translations in options.items():
            firsts[begin].append((end, translations[0].estimate))
        self._best: dict[Span, float] = {(length, length): 0.0}
        for begin in reversed(range(length)):
            self._best[begin, begin] = 0.0
            for end in range(begin + 1, length + 1):
                ways = (gain + self._best[middle, end] for middle, gain in firsts[begin] if middle <= end)
                self._best[begin, end] = max(ways, default=-float("inf"))
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


def _free(covered: int, length: int) -> list[Span]:
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
