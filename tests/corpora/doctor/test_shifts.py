"""Lines that lost their partners are found again; texts that are in step stay as they are."""

import random

import numpy as np
import pytest

from transduce.corpora.doctor.shifts import FARTHEST, aligned

LINES = 3_000


def texts(seed: int = 1) -> tuple[list[str], list[str]]:
    chance = random.Random(seed)
    words = [f"{chr(97 + chance.randrange(26))}{number}" for number in range(400)]
    source = [[chance.choice(words) for _ in range(chance.randrange(3, 25))] for _ in range(LINES)]
    return [" ".join(line) for line in source], [" ".join(f"{word}x" for word in line) for line in source]


def test_texts_in_step_stay_as_they_are() -> None:
    sources, targets = texts()
    assert (aligned(sources, targets) == np.arange(LINES)).all()


@pytest.mark.parametrize("lost", [0.01, 0.3, 0.9])
def test_a_lost_line_is_found(lost: float) -> None:
    sources, targets = texts()
    gone = round(lost * LINES)
    found = aligned(sources, targets[:gone] + targets[gone + 1 :])
    right = np.where(np.arange(LINES) < gone, np.arange(LINES), np.arange(LINES) - 1)
    assert np.mean(found != right) <= 3 / LINES


def test_a_block_that_is_off_is_moved_and_nothing_else() -> None:
    sources, targets = texts()
    moved = [*targets[:1000], *targets[1002:1402], *targets[1400:]]
    found = aligned(sources, moved)
    assert (found[:1000] == np.arange(1000)).all()
    assert (found[1005:1398] == np.arange(1005, 1398) - 2).all()
    assert np.mean(found[1405:] == np.arange(1405, LINES)) > 0.99


def test_texts_of_different_lengths_end_together() -> None:
    sources, targets = texts()
    found = aligned(sources[:-FARTHEST], targets)
    assert (found == np.arange(LINES - FARTHEST)).all()
    assert len(aligned(sources[:1], targets[:1])) == 1
