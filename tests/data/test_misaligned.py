"""Signs of lines that are not translations of each other."""

import numpy as np
import pytest

from transduce.data.misaligned import FEWEST, why_misaligned
from transduce.data.store import Side, TokenStore


def store(source: np.ndarray, target: np.ndarray) -> TokenStore:
    """Pairs of these lengths."""
    sides = (Side.of(np.zeros(lengths.sum(), np.uint16), lengths) for lengths in (source, target))
    return TokenStore(*sides, dropped={})


def lengths(count: int = 1000, is_sorted: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Lengths of sentences and of their translations, which differ by a fifth."""
    random = np.random.default_rng(1)
    source = np.maximum(random.lognormal(2.5, 0.5, count), 1)
    source = np.sort(source) if is_sorted else source
    return source.round().astype(int), np.maximum(source * random.lognormal(0, 0.2, count), 1).round().astype(int)


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("count", [FEWEST, 1000, 5000])
def test_translations_give_no_warning(is_sorted: bool, count: int) -> None:
    assert why_misaligned([store(*lengths(count, is_sorted))]) == ""


@pytest.mark.parametrize("shift", [1, -1, 2, -2])
def test_a_shift_is_named(shift: int) -> None:
    source, target = lengths()
    shifted = store(source, np.roll(target, shift))
    assert f"to line n{shift:+d} of the target" in why_misaligned([shifted])


def test_a_line_that_is_missing_among_the_first_is_noticed() -> None:
    source, target = lengths()
    assert "to line n-1 of the target" in why_misaligned([store(source[:-1], np.delete(target, 100))])


def test_texts_without_a_relation_are_named() -> None:
    source, target = lengths(3000)
    assert "do not agree" in why_misaligned([store(source, np.random.default_rng(2).permutation(target))])


def test_few_pairs_and_texts_of_one_length_say_nothing() -> None:
    source, target = lengths(FEWEST - 1)
    assert why_misaligned([store(source, target[::-1])]) == ""
    assert why_misaligned([store(np.full(500, 7), np.arange(1, 501))]) == ""


def test_pairs_of_several_files_are_compared_together() -> None:
    source, target = lengths(300)
    halves = [store(source[:150], np.roll(target, 1)[:150]), store(source[150:], np.roll(target, 1)[150:])]
    assert "line n+1" in why_misaligned(halves)
