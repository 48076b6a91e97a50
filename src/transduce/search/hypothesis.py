"""One possible output of a search."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Hypothesis:
    """A finished target sequence."""

    tokens: list[int]
    """Without the end token."""
    log_probability: float
    """Natural logarithm, the end token counted."""
    score: float
    """What hypotheses are ranked by: the log-probability, normalised for length, or expected chrF."""
    truncated: bool
    """Whether it was ended because it reached the longest length allowed."""
