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
    """The log-probability, normalised for length: what hypotheses are ranked by."""
    truncated: bool
    """Whether it was ended because it reached the longest length allowed."""
