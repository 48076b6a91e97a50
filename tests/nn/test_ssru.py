"""The SSRU's states are those of its formula, at once and in steps, with their gradients, in rows apart too."""

from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from transduce.nn import ssru
from transduce.nn.initialization import Initialization
from transduce.nn.positions import Span
from transduce.nn.ragged import Ragged
from transduce.nn.ssru import SSRU, Cell, recur

ROWS, TIME, DIM = 3, 7, 5


def made() -> SSRU:
    torch.manual_seed(1)
    unit = SSRU(DIM, Initialization("scaled", 1))
    with torch.no_grad():
        unit.forget.bias.normal_()
    return unit


def by_formula(unit: SSRU, hidden: Tensor) -> Tensor:
    """f_t = sigmoid(W_f y_t + b_f); c_t = f_t c_(t-1) + (1 - f_t) W y_t; relu(c_t), a position at a time."""
    memory, outputs = torch.zeros(len(hidden), DIM), []
    for y in hidden.unbind(1):
        forget = torch.sigmoid(y @ unit.forget.weight.T + unit.forget.bias)
        memory = forget * memory + (1 - forget) * (y @ unit.candidate.weight.T)
        outputs.append(memory.relu())
    return torch.stack(outputs, 1)


def parameters() -> tuple[Tensor, ...]:
    torch.manual_seed(2)
    shapes = ((ROWS, TIME, DIM), (ROWS, TIME, DIM), (ROWS, DIM))
    decay, new, first = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in shapes)
    return decay, new, first


def test_at_once_it_is_the_formula_and_so_are_its_gradients() -> None:
    unit = made()
    hidden = torch.randn(ROWS, TIME, DIM)
    found: list[list[Tensor]] = []
    for compute in (lambda x: unit(x, Span(0, TIME), unit.empty_cell(x))[0], lambda x: by_formula(unit, x)):
        read = hidden.clone().requires_grad_()
        outputs = compute(read)
        gradients = torch.autograd.grad(outputs.square().sum(), [read, *unit.parameters()])
        found.append([outputs, *gradients])
    for ours, theirs in zip(*found, strict=True):
        assert_close(ours, theirs)


@pytest.mark.parametrize("sizes", [[1] * TIME, [3, 1, 3]], ids=str)
@torch.no_grad()
def test_in_steps_it_goes_on_from_its_cell(sizes: list[int]) -> None:
    unit, hidden = made(), torch.randn(ROWS, TIME, DIM)
    cell, parts, position = unit.empty_cell(hidden), [], 0
    for part in hidden.split(sizes, 1):
        output, cell = unit(part, Span(position, part.shape[1]), cell)
        parts.append(output)
        position += part.shape[1]
    assert_close(torch.cat(parts, 1), by_formula(unit, hidden))


@torch.no_grad()
def test_rows_side_by_side_know_nothing_of_each_other() -> None:
    unit, hidden = made(), torch.randn(ROWS, TIME, DIM)
    is_real = torch.arange(TIME) < torch.tensor([4, 7, 1])[:, None]
    rows = Ragged.of(is_real)
    packed = rows.pack(hidden)
    output, _ = unit(packed, rows, unit.empty_cell(packed))
    assert_close(output[0], by_formula(unit, hidden)[is_real])


@pytest.mark.parametrize("time", [1, 2, TIME])
def test_gradients_are_those_of_differences(time: int) -> None:
    decay, new, first = parameters()
    torch.autograd.gradcheck(recur, (decay[:, :time], new[:, :time], first))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("time", [1, 2, 5, 7, 8])
def test_the_way_of_a_gpu_gives_the_same(time: int, backwards: bool) -> None:
    decay, new, first = (each.detach() for each in parameters())
    decay, new = decay[:, :time], new[:, :time]
    order = [1] if backwards else []
    doubled = ssru._doubling(decay.flip(order), new.flip(order), first).flip(order)
    assert_close(doubled, ssru._position_by_position(decay, new, first, backwards))


def test_a_long_memory_neither_overflows_nor_vanishes() -> None:
    """Quotients of cumulative products would divide by numbers that vanish."""
    time = 3000
    decay = torch.full((1, time, 2), 1e-4)
    decay[:, :, 1] = 1
    new = torch.ones(1, time, 2)
    states = recur(decay, new, torch.zeros(1, 2))
    assert_close(states[0, -1], torch.tensor([1 / (1 - 1e-4), time]))


def test_halves_are_as_good_as_the_numbers_that_are_rounded() -> None:
    unit = made().to(torch.bfloat16)
    hidden = torch.randn(ROWS, 200, DIM).to(torch.bfloat16)
    output, cell = unit(hidden, Span(0, 200), unit.empty_cell(hidden))
    assert (output.dtype, cell.value.dtype) == (torch.bfloat16, torch.float32)
    assert_close(output.float(), by_formula(unit.float(), hidden.float()), rtol=0.02, atol=0.02)


def test_compiled_code_has_no_loop_over_positions() -> None:
    graphs: list[Any] = []

    def keep(graph: Any, inputs: Any) -> Any:
        graphs.append(graph)
        return graph.forward

    compiled = torch.compile(lambda *parts: ssru._recur(*parts).relu(), backend=keep, dynamic=True)
    for time in (5, 6, 33):
        decay, new, first = torch.rand(2, time, 3), torch.rand(2, time, 3), torch.rand(2, 3)
        assert_close(compiled(decay, new, first), recur(decay, new, first).relu())
    assert len(graphs) == 1


def test_cells_are_chosen_by_row() -> None:
    cell = Cell(torch.arange(6.0).view(3, 2))
    assert cell.select(torch.tensor([2, 0])).value.tolist() == [[4, 5], [0, 1]]
    assert cell.rows == 3
