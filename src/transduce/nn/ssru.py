"""The SSRU: a recurrence so simple that all positions of a row are computed at once (Kim et al. 2019)."""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden
from transduce.nn.initialization import Initialization
from transduce.nn.places import Place, Places
from transduce.nn.positions import Span
from transduce.nn.ragged import Ragged

States = Float[Tensor, "rows time dim"]
RowStates = Float[Tensor, "rows dim"]


@dataclass(frozen=True)
class Cell:
    """The memory of a recurrence after the positions so far, in float32."""

    value: RowStates

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.value)

    def select(self, rows: Tensor) -> "Cell":
        """Returns the given rows, in the given order."""
        return Cell(self.value.index_select(0, rows))


class SSRU(nn.Module):
    """A simpler simple recurrent unit, in place of a decoder's self-attention (Kim et al. 2019, section 3.2).

    Its memory is a mean of all positions so far, weighted by gates that see one position each.
    """

    def __init__(self, dim: int, initialization: Initialization) -> None:
        super().__init__()
        self.candidate = nn.Linear(dim, dim, bias=False)
        self.forget = nn.Linear(dim, dim)
        initialization.matrix(self.candidate.weight)
        initialization.matrix(self.forget.weight)
        nn.init.zeros_(self.forget.bias)

    def empty_cell(self, like: Hidden) -> Cell:
        """Returns the memory before the first position."""
        return Cell(like.new_zeros(len(like), like.shape[-1], dtype=torch.float32))

    def forward(self, hidden: Hidden, at: Span | Ragged, cell: Cell) -> tuple[Hidden, Cell]:
        """Maps [rows, time, dim] to the same shape; returns also the memory after these positions."""
        forget = self.forget(hidden).float().sigmoid()  # f_t = sigmoid(W_f y_t + b_f)  [rows, time, dim]
        new = (1 - forget) * self.candidate(hidden)  # (1 - f_t) * W y_t
        if isinstance(at, Ragged):
            forget = forget * (at.positions > 0)[:, None]  # a row remembers none of those before it
        states = recur(forget, new, cell.value)  # c_t = f_t * c_(t-1) + (1 - f_t) * W y_t
        return states.relu().to(hidden.dtype), Cell(states[:, -1])

    def places(self) -> Places:
        """See HasPlaces: the memory after each token."""
        return {
            "state": Place(
                self,
                holds="last",
                get=lambda given: given[1].value,
                put=lambda given, new: (given[0], Cell(new)),
            )
        }


def recur(decay: States, new: States, first: RowStates) -> States:
    """Returns the states s_t = decay_t * s_(t-1) + new_t of all positions, which begin at `first`, in float32."""
    if new.shape[1] == 1:
        return torch.addcmul(new, decay, first[:, None])
    return _recur(decay, new, first)


@torch.library.custom_op("transduce::recur", mutates_args=())  # of which compiled code sees no loop over the positions
def _recur(decay: Tensor, new: Tensor, first: Tensor) -> Tensor:
    return _scan(decay, new, first)


@_recur.register_fake
def _(decay: Tensor, new: Tensor, first: Tensor) -> Tensor:
    return torch.empty_like(new)


def _save(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor], output: Tensor) -> None:
    decay, _, first = inputs
    ctx.save_for_backward(decay, first, output)


def _backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Runs the same recurrence backwards: g_t = gradient_t + decay_(t+1) * g_(t+1)."""
    decay, first, states = ctx.saved_tensors
    by_new = _recur_backwards(decay, gradient)
    before = torch.cat([first[:, None], states[:, :-1]], 1)  # s_(t-1)
    return by_new * before, by_new, by_new[:, 0] * decay[:, 0]


@torch.library.custom_op("transduce::recur_backwards", mutates_args=())
def _recur_backwards(decay: Tensor, gradient: Tensor) -> Tensor:
    after = functional.pad(decay[:, 1:], (0, 0, 0, 1))  # decay_(t+1), none after the last
    return _scan(after, gradient, torch.zeros_like(gradient[:, 0]), backwards=True)


@_recur_backwards.register_fake
def _(decay: Tensor, gradient: Tensor) -> Tensor:
    return torch.empty_like(decay)


_recur.register_autograd(_backward, setup_context=_save)


def _scan(decay: Tensor, new: Tensor, first: Tensor, backwards: bool = False) -> Tensor:
    if new.device.type == "cpu":
        return _position_by_position(decay, new, first, backwards)
    if backwards:
        return _doubling(decay.flip(1), new.flip(1), first).flip(1)
    return _doubling(decay, new, first)


def _position_by_position(decay: Tensor, new: Tensor, first: Tensor, backwards: bool) -> Tensor:
    """Reads and writes each number once, which is fastest on a CPU."""
    states, state = torch.empty(new.shape, dtype=new.dtype), first
    for time in reversed(range(new.shape[1])) if backwards else range(new.shape[1]):
        state = torch.addcmul(new[:, time], decay[:, time], state, out=states[:, time])
    return states


def _doubling(decay: Tensor, new: Tensor, first: Tensor) -> Tensor:
    """Doubles how far back each state reaches (Hillis and Steele 1986), by products and sums alone: a GPU does a few
    operators of all positions faster than many of one."""
    states, decay = new.clone(), decay.clone()
    states[:, 0] += decay[:, 0] * first
    reach = 1
    while reach < states.shape[1]:
        states[:, reach:] = torch.addcmul(states[:, reach:], decay[:, reach:], states[:, :-reach])
        decay[:, reach:] = decay[:, reach:] * decay[:, :-reach]
        reach *= 2
    return states
