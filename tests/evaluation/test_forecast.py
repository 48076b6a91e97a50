"""A forecast is of the pairs at hand, says how sure it is, and follows the law that gains fall slowly."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from transduce.base.errors import DataError, InputError
from transduce.evaluation import forecast as module
from transduce.evaluation.forecast import LAWS, Law, divide, forecast

laws = st.builds(
    Law,
    exponent=st.just(1.0),
    peak=st.floats(100, 10_000),
    spread=st.floats(2, 10),
    usual=st.floats(0, 5),
    trust=st.floats(0.01, 10),
    width=st.floats(0.1, 5),
    growth=st.floats(0.25, 1.25),
)
NOUNS = [f"{a}{b}{c}" for a in ("ka", "to", "mi", "ru") for b in ("la", "ne", "so", "pi") for c in ("n", "k", "s")]


def toy_pairs(count: int) -> list[tuple[str, str]]:
    """Different pairs of two languages that differ in endings and in the place of the verb."""
    chance = random.Random(1)
    found: dict[str, str] = {}
    while len(found) < count:
        a, b, c = chance.choices(NOUNS, [1 / rank for rank in range(1, len(NOUNS) + 1)], k=3)
        found[f"the {a} sees the {b} near a {c}"] = f"{a}o {b}an eine {c}i seet"
    return list(found.items())


@given(law=laws, level=st.floats(20, 50), gain=st.floats(0, 3), times=st.sampled_from([2, 3, 10, 16]))
def test_scores_that_follow_a_law_are_forecast_exactly(law: Law, level: float, gain: float, times: int) -> None:
    law = replace(law, usual=gain)
    sizes = [100, 200, 400, 800]
    scores = [level + gain * law.doublings(800, size) for size in sizes]
    assume(min(scores) > 0)
    estimate = law.estimate(sizes, scores, times * 800)
    expected = min(max(level + gain * law.doublings(800, times * 800), 0), 100)
    assert estimate.score == pytest.approx(expected, abs=1e-3)
    assert 0 <= estimate.low <= estimate.score <= estimate.high <= 100


@given(law=laws, size=st.floats(20, 20_000))
def test_a_doubling_gains_more_until_the_peak_and_less_from_there_on(law: Law, size: float) -> None:
    first, second = law.doublings(size, 2 * size), law.doublings(size, 4 * size) - law.doublings(size, 2 * size)
    assert first > 0
    assert second > 0
    if size >= law.peak:
        assert second < first
    if 4 * size <= law.peak:
        assert second > first
    assert law.doublings(size, size * 2**0.001) == pytest.approx(0.001, rel=0.01)


def test_intervals_grow_with_the_distance_and_with_a_root_with_the_score() -> None:
    law = Law(exponent=1.0, peak=2000, spread=5, usual=2, trust=1, width=1, growth=1)
    near, far = (law.estimate([100, 200], [20, 22], size) for size in (400, 1600))
    assert near.high - near.low == pytest.approx(2)
    assert far.high - far.low == pytest.approx(6)
    rooted = replace(law, exponent=0.5, usual=0.2, width=0.2)
    low, high = (rooted.estimate([100, 200], scores, 400) for scores in ([1, 1.2], [30, 32]))
    assert high.high - high.low > 2 * (low.high - low.low)


def test_pairs_are_divided_by_source_and_nothing_is_lost() -> None:
    pairs = [*toy_pairs(300), ("", "a"), ("a", " "), *toy_pairs(10), ("long " * 50, "lang")]
    learned, held_out = divide(pairs)
    assert len(held_out) == 30
    assert {source for source, _ in learned}.isdisjoint(source for source, _ in held_out)
    assert sorted([*learned, *held_out]) == sorted([*toy_pairs(300), (("long " * 50).strip(), "lang")])
    assert divide(reversed(pairs[:300])) == divide(pairs[:300])


def test_a_forecast_has_what_was_measured_and_what_would_come(tmp_path: Path) -> None:
    lines: list[str] = []
    made = forecast(toy_pairs(480), lines.append)
    assert [each.pairs for each in made.measured] == [54, 108, 216, 432]
    assert [each.pairs for each in made.chrf] == [each.pairs for each in made.bleu] == [960, 4800]
    assert len(lines) == 4
    assert made.held_out == 48
    assert made.measured[0].chrf < made.measured[-1].chrf
    described = made.describe().splitlines()
    assert len(described) == 8
    assert f"[{made.bleu[1].low:.1f}, {made.bleu[1].high:.1f}]" in described[-2]
    made.draw(tmp_path / "forecast.svg")
    assert b"<svg" in (tmp_path / "forecast.svg").read_bytes()
    with pytest.raises(InputError, match="must end in"):
        made.draw(tmp_path / "forecast.txt")


def test_of_many_pairs_some_are_drawn_and_of_too_many_there_is_no_forecast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 160)
    monkeypatch.setattr(module, "FEWEST", 100)
    made = forecast(toy_pairs(500))
    assert made.measured[-1].pairs == 160
    assert [each.pairs for each in made.chrf] == [500, 1000]
    with pytest.raises(DataError, match="1,400 different pairs are too many for a forecast"):
        forecast(toy_pairs(1400))
    with pytest.raises(DataError, match="too few for a forecast"):
        forecast(toy_pairs(90))


def test_the_laws_that_were_fitted_are_of_this_world() -> None:
    for law in LAWS.values():
        assert 500 < law.peak < 10_000
        assert law.usual > 0
        assert law.width > 0
