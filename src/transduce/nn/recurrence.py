"""Layers of GRU (Cho et al. 2014) or LSTM (Hochreiter and Schmidhuber 1997) units, over all steps or one at a time."""

from collections.abc import Iterator, Sequence
from typing import Literal, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from transduce.base.shapes import Hidden, Mask
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.layers import Dropout, VariationalDropout, layer_list
from transduce.nn.places import Place, Places

CellKind = Literal["gru", "lstm"]
Inputs = Float[Tensor, "rows time input_dim"]
LayerState = Float[Tensor, "rows parts dim"]
"""A layer's memory: the hidden state, and with an LSTM the cell's."""
StackState = Float[Tensor, "rows layers parts dim"]
StepState = tuple[Tensor, ...]
"""The parts of a layer's memory apart, each [rows, dim]; the first is the layer's output."""


def parts_of(cell: CellKind) -> int:
    """Returns the number of vectors that a layer remembers."""
    return 2 if cell == "lstm" else 1


class BidirectionalEncoder(nn.Module):
    """A layer of an encoder, which reads forwards, or forwards and backwards; padding changes nothing."""

    def __init__(
        self, cell: CellKind, input_dim: int, dim: int, bidirectional: bool, initialization: RecurrentInitialization
    ) -> None:
        super().__init__()
        self.rnn = _build(cell, input_dim, dim, bidirectional, initialization)

    def forward(
        self, inputs: Hidden, is_real: Mask, lengths: Sequence[int] | None = None
    ) -> tuple[Float[Tensor, "rows time out"], Float[Tensor, "rows parts out"]]:
        """Returns outputs (zero at padding) and the last state of each direction, concatenated; a GPU is not waited for
        where the lengths of rows are given."""
        if lengths is not None and inputs.device.type != "cpu":
            return self._of_known_lengths(inputs, is_real, lengths)
        return self._of_lengths(inputs, is_real.sum(1).cpu(), is_sorted=False)

    def _of_known_lengths(
        self, inputs: Hidden, is_real: Mask, lengths: Sequence[int]
    ) -> tuple[Float[Tensor, "rows time out"], Float[Tensor, "rows parts out"]]:
        """Sorts rows by their lengths on the device: PyTorch would sort them on the host, and copy the order."""
        order = is_real.sum(1).argsort(descending=True)  # [rows]
        outputs, states = self._of_lengths(inputs[order], torch.tensor(sorted(lengths, reverse=True)), is_sorted=True)
        back = order.argsort()
        return outputs[back], states[back]

    def _of_lengths(
        self, inputs: Hidden, lengths: Int[Tensor, " rows"], is_sorted: bool
    ) -> tuple[Float[Tensor, "rows time out"], Float[Tensor, "rows parts out"]]:
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=is_sorted)
        outputs, last = self.rnn(packed)
        parts = last if isinstance(last, tuple) else (last,)
        states = torch.stack([part.transpose(0, 1).flatten(1) for part in parts], 1)  # [rows, parts, directions * dim]
        return pad_packed_sequence(outputs, batch_first=True, total_length=inputs.shape[1])[0], states

    def places(self) -> Places:
        """See HasPlaces: inputs and outputs of all tokens, and each row's last state."""
        parts = 2 if isinstance(self.rnn, nn.LSTM) else 1
        state = Place(
            self,
            heads=parts,
            holds="row",
            is_arranged=False,
            get=lambda given: given[1].flatten(1),
            put=lambda given, new: (given[0], new.view_as(given[1])),
        )
        return {"before": Place(self, argument=0), "after": Place(self), "state": state}


class UnidirectionalEncoder(nn.Module):
    """A layer of a decoder, which continues from a state: over all steps at once, or one step with inputs projected."""

    def __init__(self, cell: CellKind, input_dim: int, dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.cell = cell
        self.rnn = _build(cell, input_dim, dim, False, initialization)

    def forward(self, inputs: Inputs, state: LayerState) -> tuple[Hidden, LayerState]:
        """Returns outputs of all steps, and the state after the last."""
        parts = [part[None].contiguous() for part in state.unbind(1)]  # each [1, rows, dim]
        outputs, last = self.rnn(inputs, (parts[0], parts[1]) if self.cell == "lstm" else parts[0])
        return outputs, torch.stack([part[0] for part in (last if self.cell == "lstm" else (last,))], 1)

    def input_weights(self, *dims: int) -> tuple[Tensor, ...]:
        """Returns the matrices, [gates, width], of concatenated inputs; of all inputs unless widths are given."""
        weight = cast(Tensor, self.rnn.weight_ih_l0)
        return weight.split(dims, 1) if dims else (weight,)

    @property
    def input_bias(self) -> Tensor:
        """The bias of projected inputs."""
        return cast(Tensor, self.rnn.bias_ih_l0)

    def step(self, projected: Float[Tensor, "rows gates"], state: StepState) -> StepState:
        """Takes one step from inputs that were projected (and the bias added)."""
        hidden = state[0]  # [rows, dim]
        recurrent = functional.linear(hidden, cast(Tensor, self.rnn.weight_hh_l0), cast(Tensor, self.rnn.bias_hh_l0))
        if self.cell == "lstm":
            enter, forget, candidate, leave = (projected + recurrent).chunk(4, 1)  # each W x + U h + b  [rows, dim]
            cell = forget.sigmoid() * state[1] + enter.sigmoid() * candidate.tanh()  # f * c + i * tanh(g)
            return leave.sigmoid() * cell.tanh(), cell  # o * tanh(c)
        dim = hidden.shape[1]
        gates = (projected[:, : 2 * dim] + recurrent[:, : 2 * dim]).sigmoid()
        reset, keep = gates.chunk(2, 1)  # r and z  [rows, dim]
        candidate = torch.addcmul(projected[:, 2 * dim :], reset, recurrent[:, 2 * dim :]).tanh()  # tanh(W x + r * U h)
        return (torch.lerp(candidate, hidden, keep),)  # (1 - z) * candidate + z * h

    def places(self) -> Places:
        """See HasPlaces: the state after each token, whose first part is the output."""
        parts = parts_of(self.cell)

        def get(given: tuple[Tensor, ...]) -> Tensor:
            return torch.cat(given, 1) if given[0].dim() == 2 else given[1].flatten(1)  # a step's parts, or all steps'

        def put(given: tuple[Tensor, ...], new: Tensor) -> tuple[Tensor, ...]:
            each = new.chunk(parts, 1)
            return each if given[0].dim() == 2 else (each[0][:, None], new.view_as(given[1]))

        return {"state": Place(self, ("forward", "step"), heads=parts, holds="last", get=get, put=put)}


class UnidirectionalStack(nn.Module):
    """Layers of a decoder, each reading the outputs of the one below, of which dropout takes a share."""

    def __init__(self, layers: list[UnidirectionalEncoder], dropout: Dropout | VariationalDropout) -> None:
        super().__init__()
        self.layers = layer_list(layers)
        self.dropout = dropout

    def __iter__(self) -> Iterator[UnidirectionalEncoder]:
        return iter(self.layers)

    def forward(self, inputs: Inputs, state: StackState) -> tuple[Hidden, StackState]:
        """Returns the top layer's outputs of all steps, and the state after the last."""
        states = []
        for layer, of_layer in zip(self.layers, state.unbind(1), strict=True):
            outputs, of_layer = layer(inputs, of_layer)
            inputs = self.dropout(outputs)
            states.append(of_layer)
        return inputs, torch.stack(states, 1)

    def step(self, projected: Float[Tensor, "rows gates"], states: list[StepState]) -> list[StepState]:
        """Takes one step from the lowest layer's projected inputs; the last of the states is the top layer's."""
        new: list[StepState] = []
        for layer, state in zip(self.layers, states, strict=True):
            if new:
                (weight,) = layer.input_weights()
                projected = functional.linear(self.dropout(new[-1][0]), weight, layer.input_bias)
            new.append(layer.step(projected, state))
        return new


def unpack(state: StackState) -> list[StepState]:
    """Returns a state's layers and their parts, for steps."""
    return [layer.unbind(1) for layer in state.unbind(1)]


def pack(states: list[StepState]) -> StackState:
    """Returns a stack's state of its layers' parts; the inverse of `unpack`."""
    return torch.stack([torch.stack(parts, 1) for parts in states], 1)


def reverse_real(
    sequences: Float[Tensor, "rows time dim"], is_real: Bool[Tensor, "rows time"]
) -> Float[Tensor, "rows time dim"]:
    """Returns each row's real positions in the opposite order; padding stays where it is."""
    times = torch.arange(is_real.shape[1], device=is_real.device)
    indices = torch.where(is_real, is_real.sum(1, keepdim=True) - 1 - times, times)
    return sequences.gather(1, indices[..., None].expand_as(sequences))


def _build(
    cell: CellKind, input_dim: int, dim: int, bidirectional: bool, initialization: RecurrentInitialization
) -> nn.GRU | nn.LSTM:
    kind = nn.LSTM if cell == "lstm" else nn.GRU
    rnn = kind(input_dim, dim, batch_first=True, bidirectional=bidirectional)
    for direction in ("", "_reverse") if bidirectional else ("",):
        for gate in getattr(rnn, f"weight_ih_l0{direction}").split(dim):
            initialization.matrix(gate)
        for gate in getattr(rnn, f"weight_hh_l0{direction}").split(dim):
            initialization.recurrent(gate)
        nn.init.zeros_(getattr(rnn, f"bias_ih_l0{direction}"))
        nn.init.zeros_(getattr(rnn, f"bias_hh_l0{direction}"))
        if cell == "lstm":  # remember at first (Jozefowicz et al. 2015); the second of the four gates forgets
            nn.init.ones_(getattr(rnn, f"bias_ih_l0{direction}")[dim : 2 * dim])
    return rnn
