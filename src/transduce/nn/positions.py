"""How a Transformer knows the order of its tokens."""

import math

import torch
from torch import Tensor, nn

from transduce.nn.attention import Heads
from transduce.nn.initialization import Initialization
from transduce.shapes import Hidden


class SinusoidalPositions(nn.Module):
    """Fixed sines and cosines of geometric wavelengths (Vaswani et al. 2017, section 3.5); any length."""

    limit: int | None = None

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, embedded: Hidden, start: int) -> Hidden:
        """The embeddings plus the vectors of positions start, start + 1, ..."""
        table = sinusoids(start + embedded.shape[1], self.dim).to(embedded)
        return embedded + table[start:]


class LearnedPositions(nn.Module):
    """One trained vector a position, up to a limit (Gehring et al. 2017)."""

    def __init__(self, limit: int, dim: int, initialization: Initialization) -> None:
        super().__init__()
        self.limit = limit
        self.weight = nn.Parameter(torch.empty(limit, dim))
        initialization.embedding(self.weight)

    def forward(self, embedded: Hidden, start: int) -> Hidden:
        """The embeddings plus the vectors of positions start, start + 1, ..., which must be below the limit."""
        stop = start + embedded.shape[1]
        assert stop <= self.limit, f"{stop} positions, but the table has {self.limit}: callers check lengths"
        return embedded + self.weight[start:stop]


class NoPositions(nn.Module):
    """Adds nothing: for rotary positions, or for none at all."""

    limit: int | None = None

    def forward(self, embedded: Hidden, start: int) -> Hidden:
        """The embeddings unchanged."""
        return embedded


Positions = SinusoidalPositions | LearnedPositions | NoPositions


class Rotary(nn.Module):
    """Turns pairs of dimensions of queries and keys by an angle that grows with the position (Su et al. 2021)."""

    def __init__(self, head_dim: int) -> None:
        super().__init__()
        assert head_dim % 2 == 0, "dimensions are turned in pairs"
        self.head_dim = head_dim

    def forward(self, heads: Heads, start: int) -> Heads:
        """Queries or keys [rows, heads, time, head_dim], the first at position start."""
        table = sinusoids(start + heads.shape[2], self.head_dim).to(heads)[start:]
        sine, cosine = table[:, 0::2], table[:, 1::2]  # [time, head_dim / 2]
        even, odd = heads[..., 0::2], heads[..., 1::2]
        return torch.stack([even * cosine - odd * sine, even * sine + odd * cosine], -1).flatten(-2)


def sinusoids(length: int, dim: int) -> Tensor:
    """sin in even and cos in odd dimensions of position / 10000^(2i / dim); [length, dim], float32."""
    wavelengths = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    angles = torch.arange(length)[:, None] * wavelengths  # [length, ceil(dim / 2)]
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[:, :dim]
