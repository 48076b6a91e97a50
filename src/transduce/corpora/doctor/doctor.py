"""Learns from a corpus what a good pair of it is, and tells which pairs are faulty, and why."""

import random
import zlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.corpus import SentencePair, sides_of
from transduce.corpora.doctor.evidence import AT_ONCE, Evidence, Experience, Values, judge_by_other_half
from transduce.corpora.doctor.faults import MADE, TESTS, Limit, Scale, Test, choose_limit, made_faults
from transduce.corpora.doctor.misread import Misread
from transduce.corpora.doctor.other_languages import OtherLanguage
from transduce.corpora.doctor.signs import REASONS, faults_of, key_of, repaired_pair
from transduce.corpora.overlap import SIDES

FEWEST = 500
"""Pairs from which on a corpus says what its good pairs are."""
FEWEST_OF_HALF = 100
"""Different pairs of each half from which on something is learned."""
RELEARN = 0.02
"""Share of faults from which on is learned again, without them."""
OFTEN = 5
"""Different other sides from which on a text may be boilerplate, if these do not translate it."""
UNLIKE = -2.0
"""Score of the test for misaligned pairs on boilerplate, at most."""

FEWEST_MADE = 100
"""Faults of a kind that must be made of a half of the pairs, for the kind to be looked for."""
NOT_SOUGHT = Limit(-np.inf, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Finding:
    """A pair, repaired, with its fault if it has one."""

    pair: SentencePair
    """The pair, repaired where that is certain."""
    repairs: tuple[str, ...] = ()
    """Kinds of what was repaired."""
    fault: str | None = None
    """The name of its fault; None for a good pair."""
    scores: dict[str, float] = field(default_factory=dict)
    """Score of each test, in deviations from the usual; lower is worse."""

    @property
    def reason(self) -> str:
        """The fault in words that follow "a pair", "" for a good pair."""
        return "" if self.fault is None else reason_of(self.fault)


def reason_of(fault: str) -> str:
    """Returns a fault in words that follow a number of pairs, by its name."""
    return REASONS.get(fault) or TESTS[fault].reason


class Doctor:
    """Tells faulty pairs by what it learned from a corpus, faulty pairs and all.

    A pair is judged by what was learned from the other half of the corpus, so that its own words do not speak for it;
    pairs that were not learned from are judged in the same way.
    """

    def __init__(self, pairs: Sequence[SentencePair]) -> None:
        """Learns from pairs: some thousand, or better a hundred thousand. Fewer than `FEWEST` show signs alone."""
        self.learned_from = len(pairs)
        self.limits: dict[str, Limit] = dict.fromkeys(TESTS, NOT_SOUGHT)
        self.other_languages: tuple[OtherLanguage | None, OtherLanguage | None] = (None, None)
        self._misread: tuple[Misread, ...] = ()
        self._scales: dict[str, Scale] = {}
        self._boilerplate: tuple[set[int], set[int]] = (set(), set())
        sound = [pair for pair in (repaired_pair(pair)[0] for pair in pairs) if not any(faults_of(pair))]
        if len(sound) < FEWEST:
            return
        self._misread = tuple(map(Misread, sides_of(sound)))
        sides = sides_of(sound := self._without_faults_of_sides(sound))
        self.other_languages = OtherLanguage.sought_in(*sides), OtherLanguage.sought_in(*sides[::-1])
        sound = self._without_faults_of_sides(sound)
        alive = self._learn(sound)
        if alive.mean() < 1 - RELEARN:
            self._learn(sound, alive)

    def _learn(self, pairs: Sequence[SentencePair], alive: NDArray[np.bool_] | None = None) -> NDArray[np.bool_]:
        """Learns from those pairs that are not faulty, as far as is known; returns which of all are not."""
        chance = random.Random(1)
        learned = [pair for place, pair in enumerate(pairs) if alive is None or alive[place]]
        halves: tuple[list[SentencePair], list[SentencePair]] = ([], [])
        for pair in dict.fromkeys(learned):  # repeated dirt is not the rule
            halves[_half(pair)].append(pair)
        if min(map(len, halves)) < FEWEST_OF_HALF:
            return np.ones(len(pairs), bool)
        self._experience = [Experience(*sides_of(half)) for half in halves]
        evidence = self._evidence(pairs)
        alive = np.ones(len(pairs), bool)
        for name, test in TESTS.items():
            places = np.flatnonzero(alive)
            own = evidence.take(places)
            scale = self._scales[name] = Scale(own)
            made = self._made_evidence([pairs[place] for place in places.tolist()], test, chance)
            if made is None:
                continue
            scores = test.score(partial(scale, own))
            limit = self.limits[name] = choose_limit(scores, test.score(partial(scale, made)))
            alive[places[scores < limit.below]] = limit.share < test.least_share
            if name == "misaligned":
                found = test.score(partial(scale, evidence))
                self._boilerplate = self._repeated_beside_others(pairs, found)
                alive &= ~self._is_boilerplate(pairs, found)
        return alive

    def judge(self, pairs: Iterable[SentencePair]) -> Iterator[Finding]:
        """Yields what is found about each pair, in order."""
        stream = iter(pairs)
        while some := list(islice(stream, AT_ONCE)):
            yield from self._judge(some)

    def _judge(self, pairs: Sequence[SentencePair]) -> Iterator[Finding]:
        repaired = [repaired_pair(pair) for pair in pairs]
        pairs = [pair for pair, _ in repaired]
        faults = [next(faults_of(pair), None) for pair in pairs]
        faults = [f or of_side for f, of_side in zip(faults, self._faults_of_sides(pairs), strict=True)]
        scores: dict[str, Values] = {}
        if self._scales:
            evidence = self._evidence(pairs)
            scores = {name: test.score(partial(self._scales[name], evidence)) for name, test in TESTS.items()}
            unlike = self._is_boilerplate(pairs, scores["misaligned"])
            faults = [f or ("boilerplate" if b else None) for f, b in zip(faults, unlike, strict=True)]
        for name, values in scores.items():
            limit = self.limits[name]
            if limit.share >= TESTS[name].least_share:
                faults = [f or (name if value < limit.below else None) for f, value in zip(faults, values, strict=True)]
        for place, ((pair, kinds), fault) in enumerate(zip(repaired, faults, strict=True)):
            shown = {name: round(float(values[place]), 2) for name, values in scores.items()}
            if fault == "swapped":
                pair, kinds, fault = replace(pair, source=pair.target, target=pair.source), kinds | {"sides"}, None
            yield Finding(pair, tuple(sorted(kinds)), fault, shown)

    def _evidence(self, pairs: Sequence[SentencePair]) -> Evidence:
        return judge_by_other_half(self._experience, np.array([_half(pair) for pair in pairs]), *sides_of(pairs))

    def _made_evidence(self, pairs: Sequence[SentencePair], test: Test, chance: random.Random) -> Evidence | None:
        """Returns the evidence on faults that are made out of each half of the pairs, by what the other one taught;
        None if too few can be made."""
        halves = np.array([_half(pair) for pair in pairs])
        parts = []
        for half in (0, 1):
            chosen = [pairs[place] for place in np.flatnonzero(halves == half).tolist()]
            made = made_faults(test, chosen, MADE // 2, chance)
            if len(made) < FEWEST_MADE:
                return None
            parts.append(self._experience[1 - half].judge(*sides_of(made)))
        return Evidence.joined(parts)

    def _without_faults_of_sides(self, pairs: Sequence[SentencePair]) -> list[SentencePair]:
        return [pair for pair, fault in zip(pairs, self._faults_of_sides(pairs), strict=True) if fault is None]

    def _faults_of_sides(self, pairs: Sequence[SentencePair]) -> list[str | None]:
        """Returns a fault that a side of each pair has by what is usual on it; None for most."""
        sides = sides_of(pairs)
        faults: list[str | None] = [None] * len(pairs)
        for misread, texts in zip(self._misread, sides, strict=False):
            faults = ["misread" if misread.holds(text) else f for f, text in zip(faults, texts, strict=True)]
        for name, other, texts, beside in zip(SIDES, self.other_languages, sides, sides[::-1], strict=True):
            if other is not None:
                for place in np.flatnonzero(other.holds(texts, beside)).tolist():
                    faults[place] = faults[place] or f"{name} in another language"
        return faults

    def _repeated_beside_others(self, pairs: Sequence[SentencePair], scores: Values) -> tuple[set[int], set[int]]:
        """Returns the keys of the texts of each side that stand beside many others, which do not translate them."""
        found: tuple[set[int], set[int]] = (set(), set())
        keys = [(_key(pair.source), _key(pair.target)) for pair in pairs]
        for side in (0, 1):
            beside: defaultdict[int, dict[int, float]] = defaultdict(dict)
            for place, key in enumerate(keys):
                beside[key[side]][key[1 - side]] = float(scores[place])
            found[side].update(
                key
                for key, others in beside.items()
                if len(others) >= OFTEN and np.median(list(others.values())) < UNLIKE
            )
        return found

    def _is_boilerplate(self, pairs: Sequence[SentencePair], scores: Values) -> NDArray[np.bool_]:
        source, target = self._boilerplate
        if not source and not target:
            return np.zeros(len(pairs), bool)
        found = [_key(pair.source) in source or _key(pair.target) in target for pair in pairs]
        return np.array(found, bool) & (scores < UNLIKE)


def _half(pair: SentencePair) -> int:
    return zlib.crc32(f"{pair.source}\0{pair.target}".encode("utf-8", "surrogatepass")) & 1


def _key(text: str) -> int:
    return zlib.crc32(key_of(text).encode("utf-8", "surrogatepass"))
