"""Position encodings, by which a Transformer knows the order of tokens."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.base.devices import to_device
from transduce.base.shapes import Hidden
from transduce.nn.initialization import Initialization
from transduce.nn.ragged import Ragged

Pairs = Float[Tensor, "*any time pairs 2"]
Rotations = Float[Tensor, "time pairs 2"]

MIN_ROWS = 1024
"""Fewest rows of a table; a longer one is made when it is needed."""


@dataclass(frozen=True)
class DevicePlace:
    """The place of one step's tokens in numbers of the device, so that a graph of a GPU may take any later step too."""

    position: Int[Tensor, " 1"]
    """Position of the tokens."""
    slots: Int[Tensor, " rows"]
    """Indices of a cache's buffer that take the tokens' keys and values."""


@dataclass(frozen=True)
class Span:
    """Positions that follow one another."""

    start: int
    """The first position; with `on_device`, the largest that it may be."""
    time: int
    """Number of positions."""
    on_device: DevicePlace | None = None


class Table:
    """A row for each position, made when they are first asked for; no weights: it is neither trained nor saved."""

    def __init__(self, make: Callable[[int], Tensor]) -> None:
        self._make = make
        self._rows = torch.empty(0)
        self._earlier: list[Tensor] = []
        """Shorter tables on a GPU, from which graphs read on."""

    def __call__(self, at: Span | Ragged, device: torch.device) -> Tensor:
        """Returns the rows of some positions, [time, ...]."""
        stop = at.longest if isinstance(at, Ragged) else at.start + at.time
        rows = self._rows
        if len(rows) < stop or rows.device != device:
            with torch.inference_mode(False):  # a table first used in inference is kept for training too
                table = self._make(max(2 * stop, MIN_ROWS)).clone()  # a view of nothing else
                (rows,) = to_device([table], device)
                if device.type == "cuda":
                    self._earlier.append(self._rows)
                self._rows = rows
        return rows_at(rows, at)


def rows_at(rows: Tensor, at: Span | Ragged) -> Tensor:
    """Returns the rows [time, ...] of a table of positions from 0, [positions, ...]."""
    if isinstance(at, Ragged):
        return rows.index_select(0, at.positions)
    if at.on_device is not None:
        return rows.index_select(0, at.on_device.position)
    return rows[at.start : at.start + at.time]


SinusoidKind = Literal["sinusoidal", "concatenated", "marian", "fairseq"]


class SinusoidalPositions(nn.Module):
    """Fixed sines and cosines of geometric wavelengths (Vaswani et al. 2017, section 3.5); any length."""

    limit: int | None = None

    def __init__(self, dim: int, kind: SinusoidKind = "sinusoidal") -> None:
        super().__init__()
        self.dim = dim
        self.table = Table(partial(SINUSOIDS[kind], dim=dim))

    def forward(self, embedded: Hidden, at: Span | Ragged) -> Hidden:
        """Returns the embeddings plus the vectors of their positions."""
        return embedded + self.table(at, embedded.device).to(embedded.dtype)


class LearnedPositions(nn.Module):
    """One trained vector a position, up to a limit (Gehring et al. 2017)."""

    def __init__(self, limit: int, dim: int, initialization: Initialization) -> None:
        super().__init__()
        self.limit = limit
        self.weight = nn.Parameter(torch.empty(limit, dim))
        initialization.embedding(self.weight)

    def forward(self, embedded: Hidden, at: Span | Ragged) -> Hidden:
        """Returns the embeddings plus the vectors of their positions, which must be below the limit."""
        stop = at.longest if isinstance(at, Ragged) else at.start + at.time
        is_bound = isinstance(at, Span) and at.on_device is not None  # and no position
        assert is_bound or stop <= self.limit, (
            f"{stop} positions, but the table has {self.limit}: callers check lengths"
        )
        return embedded + rows_at(self.weight, at)


class NoPositions(nn.Module):
    """Adds nothing: for rotary positions, or for none at all."""

    limit: int | None = None

    def forward(self, embedded: Hidden, at: Span | Ragged) -> Hidden:
        """Returns the embeddings unchanged."""
        return embedded


Positions = SinusoidalPositions | LearnedPositions | NoPositions


class Rotary(nn.Module):
    """Turns pairs of dimensions of queries and keys by an angle that grows with the position (Su et al. 2021)."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        assert head_dim % 2 == 0, "dimensions are turned in pairs"
        self.dim = head_dim
        self.table = Table(partial(turns, dim=head_dim))

    def forward(
        self, heads: Float[Tensor, "*any time head_dim"], at: Span | Ragged
    ) -> Float[Tensor, "*any time head_dim"]:
        """Turns queries or keys of tokens at these positions."""
        by = self.table(at, heads.device)  # cosine and sine  [time, head_dim / 2, 2]
        pairs = heads.float().contiguous().view(*heads.shape[:-1], -1, 2)  # [..., time, head_dim / 2, 2]
        turned = _turned_in_parts(pairs, by) if torch.compiler.is_compiling() else _turned(pairs, by)
        return turned.flatten(-2).to(heads.dtype)


def _turned(pairs: Pairs, by: Rotations) -> Pairs:
    """Turns pairs as complex numbers, in one product."""
    return torch.view_as_real(torch.view_as_complex(pairs) * torch.view_as_complex(by))


def _turned_in_parts(pairs: Pairs, by: Rotations) -> Pairs:
    """Turns pairs in real numbers, for PyTorch's compiler, which knows no complex ones."""
    (x, y), (cosine, sine) = pairs.unbind(-1), by.unbind(-1)
    return torch.stack([x * cosine - y * sine, x * sine + y * cosine], -1)


def sinusoids(length: int, dim: int) -> Tensor:
    """Returns sines in even and cosines in odd dimensions of position / 10000^(2i / dim); [length, dim], float32."""
    frequencies = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))  # 10000^(-2i / dim)
    angles = torch.arange(length)[:, None] * frequencies  # position / 10000^(2i / dim)  [length, ceil(dim / 2)]
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[:, :dim]


def concatenated_sinusoids(length: int, dim: int) -> Tensor:
    """Returns the same with all sines before all cosines, as in transformers' MarianMT; [length, dim], float32."""
    frequencies = 10000.0 ** (-torch.arange(0, dim, 2, dtype=torch.float64) / dim)  # 10000^(-2i / dim)
    angles = torch.arange(length)[:, None] * frequencies  # [length, ceil(dim / 2)], float64
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :dim].float()


def marian_sinusoids(length: int, dim: int, start: int = 0) -> Tensor:
    """Returns the sinusoids of Marian and tensor2tensor: all sines before all cosines, the longest wavelength 10000
    times the shortest; [length, dim], float32, from position `start`; the dimensions must be even and four at least."""
    half = dim // 2
    frequencies = torch.exp(torch.arange(half).float() * -(math.log(10000) / (half - 1)))  # 10000^(-i / (half - 1))
    angles = torch.arange(start, length + start).float()[:, None] * frequencies  # position * frequency  [length, half]
    return torch.cat([angles.sin(), angles.cos()], -1)


SINUSOIDS: dict[SinusoidKind, Callable[..., Tensor]] = {
    "sinusoidal": sinusoids,
    "concatenated": concatenated_sinusoids,
    "marian": marian_sinusoids,
    "fairseq": partial(marian_sinusoids, start=2),
}


def turns(length: int, dim: int) -> Rotations:
    """Returns the cosine and sine of the angle by which each pair of dimensions is turned at each position."""
    return sinusoids(length, dim).unflatten(-1, (-1, 2)).flip(-1)
