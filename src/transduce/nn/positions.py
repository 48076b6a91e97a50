"""How a Transformer knows the order of its tokens."""

import math
from functools import lru_cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

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
        stop = start + embedded.shape[1]
        table = _vectors(_round_up(stop), self.dim, embedded.dtype, embedded.device)
        return embedded + table[start:stop]


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

    def forward(self, heads: Float[Tensor, "*any time head_dim"], start: int) -> Float[Tensor, "*any time head_dim"]:
        """Queries or keys at positions start, start + 1, ..."""
        stop = start + heads.shape[-2]
        turns = _turns(_round_up(stop), self.head_dim, heads.device)[start:stop]  # [time, head_dim / 2]
        pairs = torch.view_as_complex(heads.float().contiguous().view(*heads.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turns).flatten(-2).to(heads.dtype)


def sinusoids(length: int, dim: int) -> Tensor:
    """sin in even and cos in odd dimensions of position / 10000^(2i / dim); [length, dim], float32."""
    wavelengths = torch.exp(torch.arange(0, dim, 2) * (-math.log(10000.0) / dim))
    angles = torch.arange(length)[:, None] * wavelengths  # [length, ceil(dim / 2)]
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)[:, :dim]


def _round_up(length: int) -> int:
    """A power of two, so that few tables are made and kept, however many lengths are asked for."""
    return max(64, 1 << (length - 1).bit_length())


@lru_cache(maxsize=16)
def _vectors(length: int, dim: int, dtype: torch.dtype, device: torch.device) -> Tensor:
    with torch.inference_mode(False):  # a table first used in inference is kept for training too
        return sinusoids(length, dim).to(device, dtype)


@lru_cache(maxsize=16)
def _turns(length: int, dim: int, device: torch.device) -> Tensor:
    """A complex number of length 1 a position and pair: to multiply by it is to turn by its angle."""
    with torch.inference_mode(False):
        sine, cosine = sinusoids(length, dim).unflatten(-1, (-1, 2)).unbind(-1)
        return torch.complex(cosine, sine).to(device)
