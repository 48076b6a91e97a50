"""Schedules give the rates that their formulas say."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.training.optimizer import OptimizerConfig
from transduce.training.schedules import Constant, Cosine, InverseSquareRoot, Linear, Noam, Plateau, Schedule


@given(st.integers(1, 30_000), st.sampled_from([64, 512, 1024]), st.sampled_from([400, 4000]))
def test_noam_is_the_papers_equation_3_and_its_doubled_form(update: int, dim: int, warmup: int) -> None:
    paper = dim**-0.5 * min(update**-0.5, update * warmup**-1.5)
    assert OptimizerConfig(schedule=Noam(dim=dim, warmup=warmup)).rate(update, 1, 0) == pytest.approx(paper)
    doubled = OptimizerConfig(schedule=Noam(dim=dim, warmup=warmup, multiplier=2.0))
    assert doubled.rate(update, 1, 0) == pytest.approx(2 * paper)


@pytest.mark.parametrize("schedule", [Constant(warmup=7), Linear(warmup=7), Cosine(warmup=7), Plateau(warmup=7)])
def test_warm_up_rises_in_equal_steps_to_the_highest_rate(schedule: Schedule) -> None:
    config = OptimizerConfig(learning_rate=0.7, schedule=schedule)
    assert [config.rate(update, 100_000, 0) for update in range(1, 8)] == pytest.approx(
        [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7], rel=1e-3
    )


@pytest.mark.parametrize("schedule", [InverseSquareRoot(warmup=5), Linear(warmup=5), Cosine(warmup=5)])
def test_after_the_warm_up_the_rate_falls_at_every_update_and_stays_above_zero(schedule: Schedule) -> None:
    rates = [schedule.factor(update, 40) for update in range(5, 41)]
    assert rates == sorted(rates, reverse=True)
    assert len(set(rates)) == len(rates)
    assert rates[0] == 1
    assert rates[-1] > 0


@pytest.mark.parametrize(("updates", "warmup"), [(5, 1), (300, 30), (40_000, 4_000), (100_000, 4_000)])
def test_a_warm_up_that_nobody_asked_for_is_a_share_of_a_short_run(updates: int, warmup: int) -> None:
    schedule = InverseSquareRoot()
    assert schedule.factor(warmup, updates) == 1
    assert schedule.factor(warmup + 1, updates) < 1
    assert InverseSquareRoot(warmup=4000).factor(30, 300) == pytest.approx(30 / 4000)


@pytest.mark.parametrize("kind", [Linear, Cosine])
def test_decay_ends_with_the_run_unless_its_length_is_given(kind: type[Linear] | type[Cosine]) -> None:
    assert kind().factor(11, 10) == pytest.approx(0)
    assert kind(updates=20).factor(11, 10) > 0.3
    assert kind(updates=20).factor(21, 10) == pytest.approx(0)
    with pytest.raises(ValueError, match="below updates"):
        kind(warmup=20, updates=20)


def test_cosine_ends_at_its_lowest_share() -> None:
    halfway = Cosine(lowest=0.2).factor(6, 11)
    assert halfway == pytest.approx(0.6)
    assert Cosine(lowest=0.2).factor(1000, 10) == pytest.approx(0.2)


def test_each_reduction_multiplies_a_plateaus_rate() -> None:
    config = OptimizerConfig(learning_rate=0.8, schedule=Plateau(reduction=0.5))
    assert [config.rate(9, 10, reductions) for reductions in range(3)] == pytest.approx([0.8, 0.4, 0.2])
