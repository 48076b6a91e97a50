"""Signs that lines are not translations of each other: their lengths do not agree, or do so better at a shift."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from transduce.data.store import TokenStore

FEWEST, MOST = 200, 100_000
"""Pairs that are compared, at least and at most."""
SAME_LENGTHS = 0.05
"""Standard deviation of the logarithms of lengths below which these say nothing."""
SHIFTS = (1, -1, 2, -2)
SURE = 4.0
"""Standard errors of a correlation by which it must be higher at a shift; and at least `LEAST_GAIN`."""
LEAST_GAIN = 0.05
RELATED = 0.3
"""Correlation from which on lengths of texts are related."""
UNRELATED = 0.1
"""Correlation below which they are not; captions have 0.86, short sentences of two scripts 0.6."""


def why_misaligned(stores: Sequence[TokenStore]) -> str:
    """Returns what speaks against training pairs being translations of each other, for people; "" for nothing."""
    before = np.cumsum([0, *map(len, stores)]).tolist()  # pairs of the stores before each
    some = [(store, MOST - count) for store, count in zip(stores, before, strict=False) if count < MOST]
    source = np.log(np.concatenate([store.source.lengths[:most].astype(float) for store, most in some]))
    target = np.log(np.concatenate([store.target.lengths[:most].astype(float) for store, most in some]))
    if len(source) < FEWEST or min(source.std(), target.std()) < SAME_LENGTHS:
        return ""
    own = _correlation(source, target, 0)
    best, shift = max((_correlation(source, target, shift), shift) for shift in SHIFTS)
    if best > max(own + max(LEAST_GAIN, SURE / len(source) ** 0.5), RELATED):
        return (
            f"line n of the source seems to belong to line n{shift:+d} of the target, since lengths agree better so "
            f"(correlation {best:.2f}, as they are {own:.2f}); is a line missing or too many?"
        )
    if own < UNRELATED:
        return (
            f"the lengths of source and target do not agree (correlation {own:.2f}); are these translations of each "
            "other, line by line?"
        )
    return ""


def _correlation(source: NDArray[np.float64], target: NDArray[np.float64], shift: int) -> float:
    """Returns the correlation of the source with the target that comes `shift` lines later."""
    end = len(source) - abs(shift)
    return float(np.corrcoef(source[max(-shift, 0) :][:end], target[max(shift, 0) :][:end])[0, 1])
