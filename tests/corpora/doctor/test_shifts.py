"""Lines that lost their partners are found again; texts that are in step stay as they are."""

import random

import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor import shifts
from transduce.corpora.doctor.shifts import FARTHEST, Shift, find_shifts, pairs_in_step

LINES = 3_000


def texts(seed: int = 1) -> tuple[list[str], list[str]]:
    chance = random.Random(seed)
    words = [f"{chr(97 + chance.randrange(26))}{number}" for number in range(400)]
    source = [[chance.choice(words) for _ in range(chance.randrange(3, 25))] for _ in range(LINES)]
    return [" ".join(line) for line in source], [" ".join(f"{word}x" for word in line) for line in source]


def partners(sources: list[str], targets: list[str]) -> list[str]:
    """The line of the target that each line of the source has."""
    found = find_shifts(sources, targets)
    return [pair.target for pair in pairs_in_step(sources, targets, found)]


def test_texts_in_step_stay_as_they_are() -> None:
    assert find_shifts(*texts()) == []
    sources, targets = texts()
    assert list(pairs_in_step(sources, targets)) == list(map(SentencePair, sources, targets))


@pytest.mark.parametrize("at_once", [700, 100_000])
@pytest.mark.parametrize("lost", [0.01, 0.3, 0.9])
def test_a_lost_line_is_found(lost: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "LINES_AT_ONCE", at_once)
    sources, targets = texts()
    gone = round(lost * LINES)
    (shift,) = find_shifts(sources, targets[:gone] + targets[gone + 1 :])
    assert shift.offset == -1 and shift.last == LINES
    assert abs(shift.first - 1 - gone) <= 1


@pytest.mark.slow
def test_lost_lines_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "LINES_AT_ONCE", 500)
    sources, targets = texts()
    left = [line for place, line in enumerate(targets) if place % 300 != 150]
    found = find_shifts(sources, left)
    assert found[-1].offset == -10 and found[-1].last == LINES
    right = [
        pair for pair in pairs_in_step(sources, left, found) if pair.target == pair.source.replace(" ", "x ") + "x"
    ]
    assert len(right) >= LINES - 3 * 10


def test_a_block_that_is_off_is_moved_and_nothing_else() -> None:
    sources, targets = texts()
    moved = [*targets[:1000], *targets[1002:1402], *targets[1400:]]
    (shift,) = find_shifts(sources, moved)
    assert shift.offset == -2
    assert abs(shift.first - 1001) <= 2 and abs(shift.last - 1400) <= 2


def test_texts_of_different_lengths_end_together() -> None:
    sources, targets = texts()
    assert find_shifts(sources[:-FARTHEST], targets) == []
    assert find_shifts(sources[:1], targets[:1]) == []
    assert find_shifts([], targets) == find_shifts(sources, []) == []


def test_lines_without_a_partner_are_left_out() -> None:
    sources = ["a", "b", "c", "d", "e"]
    assert [pair.source + pair.target for pair in pairs_in_step(sources, ["A", "B"])] == ["aA", "bB"]
    moved = [Shift(1, 2, -1), Shift(4, 5, 1)]
    found = pairs_in_step(sources, ["A", "B", "C", "D", "E"], moved)
    assert [pair.source + pair.target for pair in found] == ["bA", "cC", "dE"]
