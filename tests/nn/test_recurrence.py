import pytest
import torch
from torch import nn
from torch.testing import assert_close

from fake_cuda import fake_cuda
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.layers import Dropout
from transduce.nn.recurrence import (
    BidirectionalEncoder,
    CellKind,
    UnidirectionalEncoder,
    UnidirectionalStack,
    pack,
    parts_of,
    reverse_real,
    unpack,
)

ORTHOGONAL = RecurrentInitialization("orthogonal", 0.1)
LENGTHS, TIME, INPUT, DIM = [5, 2, 3], 5, 4, 6
IS_REAL = torch.arange(TIME) < torch.tensor(LENGTHS)[:, None]


def shaken(module: nn.Module) -> nn.Module:
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=0.3)
    return module


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@torch.no_grad()
def test_steps_from_projected_inputs_are_pytorchs_layers_run_at_once(cell: CellKind) -> None:
    torch.manual_seed(1)
    layers = [UnidirectionalEncoder(cell, size, DIM, ORTHOGONAL) for size in (INPUT, DIM)]
    stack = shaken(UnidirectionalStack(layers, Dropout(0.0)))
    inputs, state = torch.randn(3, TIME, INPUT), torch.randn(3, 2, parts_of(cell), DIM)
    together, last = stack(inputs, state)
    states, outputs = unpack(state), []
    first, second = layers[0].input_weights(1, INPUT - 1)
    for step in inputs.unbind(1):
        states = stack.step(step[:, :1] @ first.t() + step[:, 1:] @ second.t() + layers[0].input_bias, states)
        outputs.append(states[-1][0])
    assert_close(torch.stack(outputs, 1), together)
    assert_close(pack(states), last)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@torch.no_grad()
def test_a_padded_row_is_read_as_if_alone_in_both_directions(cell: CellKind) -> None:
    torch.manual_seed(2)
    layer = shaken(BidirectionalEncoder(cell, INPUT, DIM, True, ORTHOGONAL))
    inputs = torch.randn(3, TIME, INPUT)
    outputs, last = layer(inputs, IS_REAL)
    for row, length in enumerate(LENGTHS):
        alone, alone_last = layer.rnn(inputs[row : row + 1, :length])
        assert_close(outputs[row, :length], alone[0])
        parts = alone_last if cell == "lstm" else (alone_last,)
        assert_close(last[row], torch.stack([part[:, 0].flatten() for part in parts]))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_on_a_gpu_known_lengths_spare_the_host_all_waits_and_change_nothing(cell: CellKind) -> None:
    torch.manual_seed(2)
    layer = shaken(BidirectionalEncoder(cell, INPUT, DIM, True, ORTHOGONAL))
    inputs = torch.randn(3, TIME, INPUT)
    expected = layer(inputs, IS_REAL)
    gradients = torch.autograd.grad(sum(tensor.square().sum() for tensor in expected), list(layer.parameters()))
    with fake_cuda() as work:
        layer.to("cuda:0")
        on_gpu, is_real = inputs.to("cuda:0"), IS_REAL.to("cuda:0")
        work.clear()
        outputs = layer(on_gpu, is_real, LENGTHS)
        sum(tensor.square().sum() for tensor in outputs).backward()
        assert not work.waits
        assert_close([tensor.cpu() for tensor in outputs], list(expected))
        assert_close([parameter.grad.cpu() for parameter in layer.parameters()], list(gradients))


def test_only_real_positions_are_reversed_and_twice_is_nothing() -> None:
    sequences = torch.randn(3, TIME, INPUT)
    turned = reverse_real(sequences, IS_REAL)
    for row, length in enumerate(LENGTHS):
        assert torch.equal(turned[row, :length], sequences[row, :length].flip(0))
        assert torch.equal(turned[row, length:], sequences[row, length:])
    assert torch.equal(reverse_real(turned, IS_REAL), sequences)


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_weights_begin_as_the_settings_say(cell: CellKind) -> None:
    torch.manual_seed(3)
    rnn = UnidirectionalEncoder(cell, INPUT, DIM, ORTHOGONAL).rnn
    for gate in rnn.weight_hh_l0.detach().split(DIM):
        assert_close(gate @ gate.T, torch.eye(DIM))
    forgets = torch.zeros(len(rnn.bias_ih_l0))
    if cell == "lstm":
        forgets[DIM : 2 * DIM] = 1
    assert_close(rnn.bias_ih_l0.detach() + rnn.bias_hh_l0.detach(), forgets)
    uniform = UnidirectionalEncoder(cell, INPUT, 50, RecurrentInitialization("uniform", 0.2)).rnn
    for weight in (uniform.weight_hh_l0.detach(), uniform.weight_ih_l0.detach()):
        assert 0.19 < float(weight.abs().max()) <= 0.2
