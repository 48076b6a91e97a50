"""Faults of pairs that show in the corpus itself, each with a test of its own, and limits that need no labels.

A thousand faults of each kind are made out of the corpus. How their scores are spread, beside those of all pairs, tells
how many pairs have the fault, and which limit finds most of them while it loses few good ones.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.evidence import Evidence, Values

MADE = 2_000
"""Faults of a kind that are made."""
CAUGHT = np.array([*np.arange(0.3, 0.96, 0.05), 0.98, 0.99])
"""Shares of the made faults that a limit may catch; the gravest are made of pairs that were faulty before."""
LIKE = 3.0
"""How much denser than made faults those of the corpus may be somewhere: they are not as grave, or graver."""
LOST = 0.003
"""Estimated share of all pairs that a test may lose although they are good."""
BUCKETS = 8
"""Groups of pairs by length, each with its own usual values: a word says little in two, and much in twenty."""

Make = Callable[[SentencePair, SentencePair, random.Random], SentencePair | None]
"""Makes a faulty pair of a good one and another pair; None where that is not possible."""


class Scale:
    """How far values are from the usual one, in deviations, for pairs of about the same length."""

    def __init__(self, evidence: Evidence) -> None:
        limits = np.quantile(evidence.words, np.arange(1, BUCKETS) / BUCKETS)
        self._limits = np.unique(limits)
        buckets = self._buckets(evidence)
        self._usual = {
            name: [_usual(getattr(evidence, name)[buckets == bucket]) for bucket in range(len(self._limits) + 1)]
            for name in Evidence.__dataclass_fields__
        }

    def _buckets(self, evidence: Evidence) -> NDArray[np.int64]:
        return np.searchsorted(self._limits, evidence.words, side="right")

    def __call__(self, evidence: Evidence, name: str) -> Values:
        """Returns the deviations of one kind of evidence."""
        middle, deviation = np.array(self._usual[name])[self._buckets(evidence)].T
        return np.asarray((getattr(evidence, name) - middle) / deviation)


def _usual(values: Values) -> tuple[float, float]:
    """Returns the median and a robust standard deviation."""
    if not len(values):
        return 0.0, 1.0
    middle = float(np.median(values))
    return middle, max(1.4826 * float(np.median(np.abs(values - middle))), 0.25 * float(values.std()), 1e-3)


@dataclass(frozen=True)
class Test:
    """A test for one kind of fault."""

    reason: str
    """What a pair with the fault is, in words."""
    score: Callable[[Callable[[str], Values]], Values]
    """The score by deviations of evidence of a name; lower is worse."""
    make: Make
    least_share: float = 0.01
    """Estimated share of the fault below which no pair is left out for it: cleaning would lose as much as it gains."""


MOST_OF_PLACES = 4.0
"""Deviations that places of words count at most: two words of three that change places are usual in short sentences."""
RARE = 0.03
"""Share of the pairs of some corpora that seem to be out of order, at most, because their words are rare."""


def _on_side(side: int, change: Callable[[list[str], random.Random], list[str]]) -> Make:
    def make(pair: SentencePair, other: SentencePair, chance: random.Random) -> SentencePair | None:
        texts = [pair.source, pair.target]
        joint = " " if " " in texts[side].strip() else ""
        parts = texts[side].split() if joint else list(texts[side])
        changed = joint.join(change(parts, chance))
        if len(parts) < 4 or changed == texts[side]:
            return None
        texts[side] = changed
        return SentencePair(*texts)

    return make


def _shuffle(parts: list[str], chance: random.Random) -> list[str]:
    return chance.sample(parts, len(parts))


def _cut(parts: list[str], chance: random.Random) -> list[str]:
    return parts[: max(round(len(parts) * chance.uniform(0.3, 0.6)), 1)]


TESTS: Mapping[str, Test] = {
    "swapped": Test(
        "whose sides are swapped",
        lambda of: np.maximum(of("swapped_source"), of("swapped_target")),
        lambda pair, other, chance: SentencePair(pair.target, pair.source),
    ),
    "misaligned": Test(
        "whose sides do not translate each other",
        lambda of: of("lexical_source") + of("lexical_target"),
        lambda pair, other, chance: SentencePair(pair.source, other.target),
    ),
    "source partial": Test(
        "of whose target a part is not in the source",
        lambda of: np.minimum(of("length"), 0.0) + 0.5 * np.minimum(of("partial_target"), 0.0),
        _on_side(0, _cut),
    ),
    "target partial": Test(
        "of whose source a part is not in the target",
        lambda of: np.minimum(-of("length"), 0.0) + 0.5 * np.minimum(of("partial_source"), 0.0),
        _on_side(1, _cut),
    ),
    "source reordered": Test(
        "whose source has its words out of order",
        lambda of: of("order_source") + 0.7 * np.maximum(of("monotony"), -MOST_OF_PLACES),
        _on_side(0, _shuffle),
        RARE,
    ),
    "target reordered": Test(
        "whose target has its words out of order",
        lambda of: of("order_target") + 0.7 * np.maximum(of("monotony"), -MOST_OF_PLACES),
        _on_side(1, _shuffle),
        RARE,
    ),
}
"""Tests by the name of the fault, in the order in which a pair's reason is chosen."""


@dataclass(frozen=True)
class Limit:
    """A limit of a test, and what is known about it without labels."""

    below: float
    """Pairs with a lower score have the fault."""
    share: float
    """Estimated share of all pairs that have the fault, whether or not they are found."""
    caught: float
    """Share of made faults that are found."""
    lost: float
    """Estimated share of all pairs that are found, and good."""


def made_faults(test: Test, pairs: Sequence[SentencePair], count: int, chance: random.Random) -> list[SentencePair]:
    """Makes faults out of pairs, at most this many."""
    made = []
    for pair in chance.sample(pairs, min(count, len(pairs))):
        if (faulty := test.make(pair, chance.choice(pairs), chance)) is not None:
            made.append(faulty)
    return made


def choose_limit(scores: Values, made: Values) -> Limit:
    """Chooses a limit for a test, below which pairs are faulty.

    Args:
        scores: scores of the corpus's pairs, of which an unknown share has the fault.
        made: scores of made faults.

    All pairs are a mixture of good ones and faults. Below a limit are the share of the faults, times the share of made
    faults below it, and some good pairs; so each limit says how large the share of the faults can be, two standard
    errors included, and the least of these is nearest. From the lowest scores on, the limit rises as long as what it
    finds besides is like that; good pairs, of which there are many, end it at once.
    """
    scores, made = np.sort(scores), np.sort(made)
    limits = np.quantile(made, CAUGHT)
    below = np.searchsorted(scores, limits) / len(scores)
    shares = below / CAUGHT
    errors = np.sqrt((1 - CAUGHT) / (CAUGHT * len(made)) + 1 / np.maximum(below * len(scores), 1))
    most = np.minimum.accumulate(shares * (1 + 2 * errors))
    best = 0
    while best + 1 < len(CAUGHT):
        density = (below[best + 1] - below[best]) / (CAUGHT[best + 1] - CAUGHT[best])
        if density > LIKE * shares[best] or below[best + 1] - most[best + 1] * CAUGHT[best + 1] > LOST:
            break
        best += 1
    share = float(min(shares[: best + 1].min(), 0.5))
    return Limit(float(limits[best]), share, float(CAUGHT[best]), max(float(below[best] - share * CAUGHT[best]), 0.0))
