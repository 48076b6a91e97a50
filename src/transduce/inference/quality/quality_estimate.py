"""Estimates of how much of a translation a person would edit, of one segment and of a file."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

WORK = 0.4
"""Edit rate above which a translation needs work: rewriting it takes about as long (Turchi et al. 2013)."""
NORMAL_90 = 1.645
"""Standard deviations on either side of the mean that hold 90 % of a normal distribution."""


@dataclass(frozen=True)
class QualityEstimate:
    """The share of a translation's words that a person would edit, 0 to 1, with a 90 % interval."""

    edit: float | None
    """The expected share; None where nothing like the text was learned."""
    low: float = 0.0
    high: float = 1.0
    work: float | None = None
    """Probability that more than 40 % of the words need editing; None without an expected share."""
    reason: str = ""
    """Reason in a few words why there is no expected share, such as "60 % unseen words"."""


def combined(parts: Iterable[tuple[QualityEstimate | None, str]]) -> QualityEstimate | None:
    """Returns the estimate of a text, given that of each part and its translation; None without any.

    The share is the mean by length. The errors of the parts count as independent, so that the interval narrows; without
    an expected share of each part the text has none.
    """
    known = [(estimate, len(text)) for estimate, text in parts if estimate is not None]
    if len(known) < 2:
        return known[0][0] if known else None
    if reason := next((estimate.reason for estimate, _ in known if estimate.edit is None), ""):
        return QualityEstimate(None, reason=reason)
    total = sum(length for _, length in known)
    weighted = [(length / total, estimate.edit or 0.0, estimate) for estimate, length in known]
    edit = sum(weight * share for weight, share, _ in weighted)
    below = math.hypot(*(weight * (share - estimate.low) for weight, share, estimate in weighted))
    above = math.hypot(*(weight * (estimate.high - share) for weight, share, estimate in weighted))
    deviation = max(1e-9, (below + above) / (2 * NORMAL_90))
    work = math.erfc((WORK - edit) / (deviation * math.sqrt(2))) / 2  # of a normal distribution
    low, high = max(0.0, edit - below), min(1.0, edit + above)
    return QualityEstimate(round(edit, 3), round(low, 3), round(high, 3), round(work, 3))


@dataclass
class WorkInFile:
    """Counts how many segments of a file are likely to need work."""

    segments: int = 0
    """Segments with an estimate."""
    unknown: int = 0
    """Segments too unlike what was learned."""
    expected: float = 0.0
    """The sum of the probabilities that segments need work."""
    variance: float = 0.0
    """The variance of their number, were these probabilities exact."""

    def add(self, estimate: QualityEstimate | None) -> None:
        """Counts the next segment; None for one that is blank, or not estimated at all."""
        if estimate is not None and estimate.work is not None:
            self.segments += 1
            self.expected += estimate.work
            self.variance += estimate.work * (1 - estimate.work)
        elif estimate is not None:
            self.unknown += 1

    def interval(self, learned_from: int) -> tuple[int, int]:
        """Returns the 90 % interval of the number of segments that need work, by estimates that were learned from so
        many translations: both these and the segments were drawn by chance."""
        half = NORMAL_90 * math.sqrt(self.variance * (1 + self.segments / max(1, learned_from)))
        return max(0, math.floor(self.expected - half)), min(self.segments, math.ceil(self.expected + half))

    def describe(self, learned_from: int) -> str:
        """Returns a line for people."""
        low, high = self.interval(learned_from)
        more = f"; {self.unknown:,} are too unlike what was learned to say" if self.unknown else ""
        return (
            f"quality: of {self.segments:,} segments {round(self.expected):,} are likely to need work (over {WORK:.0%} "
            f"of the words edited; 90 % interval {low:,} to {high:,}){more}"
        )
