import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.testing import assert_close

from transduce.nn.initialization import Initialization
from transduce.nn.positions import (
    SINUSOIDS,
    LearnedPositions,
    NoPositions,
    Rotary,
    SinusoidalPositions,
    SinusoidKind,
    Span,
    sinusoids,
)
from transduce.nn.ragged import Ragged


@pytest.mark.parametrize("dim", [6, 7])
def test_sinusoids_are_the_papers_formula(dim: int) -> None:
    expected = np.zeros((50, dim))
    for position in range(50):
        for i in range(dim):
            angle = position / 10000 ** (2 * (i // 2) / dim)
            expected[position, i] = math.sin(angle) if i % 2 == 0 else math.cos(angle)
    assert_close(sinusoids(50, dim).double(), torch.from_numpy(expected), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(("kind", "start"), [("marian", 0), ("fairseq", 2)])
def test_marians_sinusoids_have_wavelengths_up_to_ten_thousand_times_the_shortest(
    kind: SinusoidKind, start: int
) -> None:
    table = SINUSOIDS[kind](50, dim=8)
    for position in range(50):
        angles = [(position + start) * 10000 ** (-i / 3) for i in range(4)]
        expected = [*map(math.sin, angles), *map(math.cos, angles)]
        assert_close(table[position].double(), torch.tensor(expected, dtype=torch.float64), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("positions", [SinusoidalPositions(6), LearnedPositions(9, 6, Initialization("scaled", 1))])
def test_positions_from_a_start_are_those_of_the_whole(positions: SinusoidalPositions | LearnedPositions) -> None:
    embedded = torch.randn(2, 7, 6)
    assert_close(positions(embedded[:, 3:], Span(3, 4)), positions(embedded, Span(0, 7))[:, 3:])
    added = positions(embedded, Span(0, 7)) - embedded
    assert_close(added[0], added[1])
    assert not torch.allclose(added[0, 0], added[0, 1])


def test_a_learned_table_ends_at_its_limit() -> None:
    positions = LearnedPositions(5, 6, Initialization("scaled", 1))
    assert positions(torch.randn(2, 3, 6), Span(2, 3)).shape == (2, 3, 6)
    for time, start in ((3, 3), (6, 0)):
        with pytest.raises(AssertionError, match="6 positions, but the table has 5"):
            positions(torch.randn(2, time, 6), Span(start, time))


def test_no_positions_change_nothing() -> None:
    embedded = torch.randn(2, 3, 6)
    assert_close(NoPositions()(embedded, Span(4, 3)), embedded, rtol=0, atol=0)


@settings(max_examples=20, deadline=None)
@given(query_at=st.integers(0, 30), key_at=st.integers(0, 30), shift=st.integers(1, 40))
def test_rotary_scores_depend_on_relative_distance_alone(query_at: int, key_at: int, shift: int) -> None:
    torch.manual_seed(1)
    rotary, query, key = Rotary(6), torch.randn(2, 3, 1, 6), torch.randn(2, 3, 1, 6)
    here = (rotary(query, Span(query_at, 1)) * rotary(key, Span(key_at, 1))).sum(-1)
    there = (rotary(query, Span(query_at + shift, 1)) * rotary(key, Span(key_at + shift, 1))).sum(-1)
    assert_close(here, there, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_compiling", [False, True])
def test_rotary_turns_pairs_by_their_own_angles(is_compiling: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: is_compiling)
    torch.manual_seed(2)
    heads = torch.randn(2, 3, 5, 4)
    turned = Rotary(4)(heads, Span(7, 5))
    for time in range(5):
        for pair in range(2):
            angle = (7 + time) / 10000 ** (2 * pair / 4)
            x, y = heads[:, :, time, 2 * pair], heads[:, :, time, 2 * pair + 1]
            assert_close(turned[:, :, time, 2 * pair], x * math.cos(angle) - y * math.sin(angle))
            assert_close(turned[:, :, time, 2 * pair + 1], x * math.sin(angle) + y * math.cos(angle))


@pytest.mark.parametrize("kind", [SinusoidalPositions, Rotary])
def test_positions_have_no_end(kind: type[SinusoidalPositions] | type[Rotary]) -> None:
    torch.manual_seed(3)
    hidden = torch.randn(2, 3000, 4)
    at_once = kind(4)(hidden, Span(0, 3000))
    in_parts = kind(4)
    assert_close(
        torch.cat([in_parts(hidden[:, :7], Span(0, 7)), in_parts(hidden[:, 7:], Span(7, 2993))], 1),
        at_once,
        rtol=1e-3,
        atol=1e-3,
    )


@pytest.mark.parametrize(
    "positions", [SinusoidalPositions(6), LearnedPositions(9, 6, Initialization("scaled", 1)), Rotary(6)]
)
def test_rows_side_by_side_have_the_positions_of_each(
    positions: SinusoidalPositions | LearnedPositions | Rotary,
) -> None:
    padded = torch.randn(3, 5, 6)
    rows = Ragged.of(torch.arange(5) < torch.tensor([[5], [2], [4]]))
    assert_close(positions(rows.pack(padded), rows), rows.pack(positions(padded, Span(0, 5))))


def test_rotary_needs_pairs() -> None:
    with pytest.raises(AssertionError, match="pairs"):
        Rotary(5)
