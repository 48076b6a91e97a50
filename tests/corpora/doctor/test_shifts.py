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


@pytest.mark.parametrize("at_once", [700, pytest.param(100_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("lost", [0.01, 0.3, 0.9])
def test_a_lost_line_is_found(lost: float, at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "LINES_AT_ONCE", at_once)
    sources, targets = texts()
    gone = round(lost * LINES)
    alone, shift = find_shifts(sources, targets[:gone] + targets[gone + 1 :])
    assert (alone.first, alone.last, alone.joined) == (gone + 1, gone + 1, "none")
    assert shift == Shift(gone + 2, LINES, -1)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [500, 100_000])
def test_lost_lines_add_up(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "LINES_AT_ONCE", at_once)
    sources, targets = texts()
    left = [line for place, line in enumerate(targets) if place % 300 != 150]
    found = find_shifts(sources, left)
    assert found[-1].offset == -10 and found[-1].last == LINES
    right = [
        pair for pair in pairs_in_step(sources, left, found) if pair.target == pair.source.replace(" ", "x ") + "x"
    ]
    assert len(right) == LINES - 10 and {shift.joined for shift in found} == {"", "none"}


@pytest.mark.parametrize("lost", [1, 3])
def test_a_line_whose_translation_was_lost_has_none(lost: int) -> None:
    sources, targets = texts()
    found = find_shifts(sources, targets[:1000] + targets[1000 + lost :])
    assert found[0] == Shift(1001, 1000 + lost, found[0].offset, "none") and found[-1].last == LINES
    pairs = list(pairs_in_step(sources, targets[:1000] + targets[1000 + lost :], found))
    whole = map(SentencePair, sources, targets)
    assert pairs == [pair for place, pair in enumerate(whole) if not 1000 <= place < 1000 + lost]
    assert str(found[0]) == f"lines 1,001 to {1000 + lost:,}: no translation"


def test_a_block_that_is_off_is_moved_and_nothing_else() -> None:
    sources, targets = texts()
    moved = [*targets[:1000], *targets[1002:1402], *targets[1400:]]
    alone, shift = find_shifts(sources, moved)
    assert (alone.first, alone.last, alone.joined) == (1001, 1002, "none")
    assert shift.offset == -2 and shift.first == 1003 and abs(shift.last - 1400) <= 2


def test_lines_far_off_for_a_short_while_are_moved_and_all_others_looked_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sources, targets = texts()
    moved = list(targets)
    for place in (600, 1200, 1800, 2400):
        moved[place : place + 40] = targets[place + FARTHEST : place + FARTHEST + 40]
    looked_at = []
    find_offsets = shifts.find_offsets
    monkeypatch.setattr(shifts, "find_offsets", lambda *sides: looked_at.append(sides) or find_offsets(*sides))
    pairs = list(pairs_in_step(sources, moved, find_shifts(sources, moved)))
    assert len(looked_at) == 1
    right = sum(pair.target == pair.source.replace(" ", "x ") + "x" for pair in pairs)
    assert right >= LINES - 4 * 2 * FARTHEST and len(pairs) - right <= 4


def test_texts_of_different_lengths_end_together() -> None:
    sources, targets = texts()
    assert find_shifts(sources[:-FARTHEST], targets) == []
    assert find_shifts(sources[:1], targets[:1]) == []
    assert find_shifts([], targets) == find_shifts(sources, []) == []


@pytest.mark.parametrize("kept", [1, 5, 40])
def test_lines_far_beyond_the_end_of_the_other_text_have_no_partner(kept: int) -> None:
    sources, targets = texts()
    assert len(partners(sources[:400], targets[:kept])) <= kept


def test_lines_without_a_partner_are_left_out() -> None:
    sources = ["a", "b", "c", "d", "e"]
    assert [pair.source + pair.target for pair in pairs_in_step(sources, ["A", "B"])] == ["aA", "bB"]
    moved = [Shift(1, 2, -1), Shift(4, 5, 1)]
    found = pairs_in_step(sources, ["A", "B", "C", "D", "E"], moved)
    assert [pair.source + pair.target for pair in found] == ["bA", "cC", "dE"]


@pytest.mark.parametrize("step", [1, -1])
def test_two_lines_that_translate_one_are_joined(step: int) -> None:
    sides = texts()[::step]
    lines = [*sides[0][:999], f"{sides[0][999]} {sides[0][1000]}", *sides[0][1001:]]
    found = find_shifts(*(lines, sides[1])[::step])
    (joined,) = (shift for shift in found if shift.joined)
    assert str(joined) == (
        "lines 1,000 and 1,001 of the target, for line 1,000"
        if step > 0
        else "lines 1,000 and 1,001, for line 1,000 of the target"
    )
    pairs = list(pairs_in_step(*(lines, sides[1])[::step], found))
    assert len(pairs) == LINES - 1
    assert all(pair.target == pair.source.replace(" ", "x ") + "x" for pair in pairs)


@pytest.mark.slow
@pytest.mark.parametrize("at_once", [700, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_divided_line_and_a_later_one_cancel_each_other(at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shifts, "LINES_AT_ONCE", at_once)
    sources, targets = texts()
    sources = [*sources[:999], f"{sources[999]} {sources[1000]}", *sources[1001:]]
    targets = [*targets[:1300], f"{targets[1300]} {targets[1301]}", *targets[1302:]]
    found = find_shifts(sources, targets)
    assert [shift.joined for shift in found] == ["target", "", "source"]
    pairs = list(pairs_in_step(sources, targets, found))
    assert [pair.target for pair in pairs] == [pair.source.replace(" ", "x ") + "x" for pair in pairs]


@pytest.mark.slow
def test_lines_without_a_translation_are_joined_to_no_neighbour() -> None:
    sources, targets = texts()
    left = [line for place, line in enumerate(targets) if place % 500 != 250]
    found = [*find_shifts(sources, left), *find_shifts(left, sources)]
    assert {shift.joined for shift in found} <= {"", "none"}


def test_joined_lines_are_one_with_no_blank_in_scripts_without() -> None:
    found = [Shift(1, 1, 0, "target"), Shift(2, 2, 1), Shift(3, 4, 0, "source")]
    pairs = pairs_in_step(["ab", "c", "d", "e"], ["\u4eca\u5929", "\u597d", "C", "DE"], found)
    assert [(pair.source, pair.target) for pair in pairs] == [("ab", "\u4eca\u5929\u597d"), ("c", "C"), ("d e", "DE")]
