"""The tests agree with exhaustive ones; equal systems do not differ; a true null hypothesis is seldom rejected."""

import random
from itertools import product

import numpy as np
import pytest
from numpy.typing import NDArray

from transduce.evaluation import significance
from transduce.evaluation.metric import PLAIN, Texts
from transduce.evaluation.metrics import find_metric
from transduce.evaluation.significance import Counts, bootstrap_sums, compare_counts, confidence_interval

BASELINE = np.array([[3, 5], [1, 4], [6, 7], [2, 2], [0, 3]], dtype=np.float64)
SYSTEM = np.array([[4, 5], [3, 6], [5, 7], [2, 3], [2, 3]], dtype=np.float64)


def ratio(sums: Counts) -> NDArray[np.float64]:
    """As metrics are, no mean of sentences' scores."""
    return 100 * sums[:, 0] / np.maximum(sums[:, 1], 1)


def ratio_of(rows: list[NDArray[np.float64]]) -> float:
    return 100 * sum(row[0] for row in rows) / max(sum(row[1] for row in rows), 1)


def exact_randomization_p() -> float:
    """Every way to exchange outputs, one by one."""
    observed = abs(ratio_of(list(SYSTEM)) - ratio_of(list(BASELINE)))
    as_far = []
    for swaps in product((False, True), repeat=len(SYSTEM)):
        one = [b if swap else s for s, b, swap in zip(SYSTEM, BASELINE, swaps, strict=True)]
        other = [s if swap else b for s, b, swap in zip(SYSTEM, BASELINE, swaps, strict=True)]
        as_far.append(abs(ratio_of(one) - ratio_of(other)) >= observed - 1e-9)
    return sum(as_far) / len(as_far)


def exact_bootstrap_p() -> float:
    """Every way to draw as many sentences, one by one."""
    observed = abs(ratio_of(list(SYSTEM)) - ratio_of(list(BASELINE)))
    differences = [
        ratio_of([SYSTEM[i] for i in draw]) - ratio_of([BASELINE[i] for i in draw])
        for draw in product(range(len(SYSTEM)), repeat=len(SYSTEM))
    ]
    mean = sum(differences) / len(differences)
    return sum(abs(difference - mean) >= observed - 1e-9 for difference in differences) / len(differences)


@pytest.mark.parametrize("elements_at_once", [17, 2**22])
def test_p_values_are_those_of_all_possible_trials(monkeypatch: pytest.MonkeyPatch, elements_at_once: int) -> None:
    monkeypatch.setattr(significance, "_ELEMENTS_AT_ONCE", elements_at_once)
    found = compare_counts(SYSTEM, BASELINE, ratio, resamples=6000, trials=6000)
    assert found.difference == pytest.approx(ratio_of(list(SYSTEM)) - ratio_of(list(BASELINE)))
    assert found.bootstrap_p == pytest.approx(exact_bootstrap_p(), abs=0.02)
    assert found.randomization_p == pytest.approx(exact_randomization_p(), abs=0.02)
    assert 0.05 < found.randomization_p < 0.95  # else this would show little


def test_equal_systems_do_not_differ() -> None:
    found = compare_counts(SYSTEM, SYSTEM.copy(), ratio, resamples=50, trials=70)
    assert (found.difference, found.interval) == (0, (0, 0))
    assert (found.bootstrap_p, found.randomization_p) == (1, 1)


def test_exchanging_the_systems_changes_the_sign_alone() -> None:
    there = compare_counts(SYSTEM, BASELINE, ratio, resamples=200, trials=300)
    back = compare_counts(BASELINE, SYSTEM, ratio, resamples=200, trials=300)
    assert back.difference == pytest.approx(-there.difference)
    assert back.interval == pytest.approx((-there.interval[1], -there.interval[0]))
    assert (back.bootstrap_p, back.randomization_p) == (there.bootstrap_p, there.randomization_p)


def test_a_clear_difference_has_the_least_p_that_the_number_of_trials_can_show() -> None:
    lengths = np.full(60, 10.0)
    bad = np.stack([np.arange(60) % 4, lengths], axis=1)
    good = bad + np.array([5, 0])
    found = compare_counts(good, bad, ratio, resamples=99, trials=199)
    assert found.interval[0] > 0
    assert (found.bootstrap_p, found.randomization_p) == (1 / 100, 1 / 200)


def test_a_true_null_hypothesis_is_rejected_about_as_often_as_the_level_says() -> None:
    generator = np.random.default_rng(3)
    p_values = []
    for seed in range(200):
        matches = generator.integers(0, 11, size=(2, 40)).astype(np.float64)
        lengths = np.full(40, 10.0)
        system, baseline = (np.stack([row, lengths], axis=1) for row in matches)
        found = compare_counts(system, baseline, ratio, resamples=100, trials=100, seed=seed)
        p_values.append((found.bootstrap_p, found.randomization_p))
    for p in np.array(p_values).T:
        for level in (0.1, 0.3, 0.5, 0.8):
            spread = 3 * (level * (1 - level) / len(p)) ** 0.5  # three standard deviations
            assert np.mean(p <= level) == pytest.approx(level, abs=spread + 0.02)


def test_one_seed_draws_the_same_sentences_of_every_system() -> None:
    counts = np.arange(14, dtype=np.float64).reshape(7, 2)
    assert np.array_equal(2 * bootstrap_sums(counts, 3), bootstrap_sums(2 * counts, 3))
    assert not np.array_equal(bootstrap_sums(counts, 3), bootstrap_sums(counts, 3, seed=8))


def test_an_interval_leaves_out_a_fortieth_on_each_side() -> None:
    samples = np.arange(101, dtype=np.float64)[::-1]
    assert confidence_interval(samples, 50.0) == (2, 98)
    assert confidence_interval(samples, 1.0) == (1, 98)
    assert confidence_interval(samples, 99.5) == (2, 99.5)


SHORT_LINES = ["Yes.", "No, thank you.", "Good.", "The dog sleeps on the mat.", "Two cats see it.", "", "Why?"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_every_interval_contains_its_score_and_stays_within_the_range_of_the_metric(seed: int) -> None:
    """Resamples of few lines are far from symmetric."""
    chance = random.Random(seed)
    references = [chance.choice(SHORT_LINES[:5]) for _ in range(chance.randint(1, 6))]
    systems = [[chance.choice([line, *SHORT_LINES]) for line in references] for _ in range(2)]
    texts = [Texts(outputs, references) for outputs in (references, *systems)]
    for name, most in (("bleu", 100.0), ("chrf", 100.0), ("ter", np.inf), ("exact_match", 1.0)):
        counts = [find_metric(name).count(each, PLAIN) for each in texts]
        for score in (each.summary() for each in counts):
            assert 0 <= score.interval[0] <= score.score <= score.interval[1] <= most
        tested = compare_counts(counts[1].counts, counts[2].counts, counts[1].score_rows, trials=10)
        assert -most <= tested.interval[0] <= tested.difference <= tested.interval[1] <= most
