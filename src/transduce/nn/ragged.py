"""Rows of different lengths side by side, without padding, and attention within them by kernels of a GPU.

On a GPU a number that the host asks for costs the time of all that is queued. So batches know where their real tokens
are: the host makes these places and copies them with the batch.
"""

from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.base.shapes import Mask

RaggedTokens = Int[Tensor, "1 _"]
"""Ids of the real tokens of all rows, side by side."""
RaggedHidden = Float[Tensor, "1 _ dim"]
"""A vector for each real token of all rows, side by side."""
HalfPrecision = (torch.bfloat16, torch.float16)
"""Types of numbers that flash attention computes with."""
LARGEST_HEAD = 256
"""Largest size of a head in flash attention, which must be a multiple of 8."""


@dataclass(frozen=True)
class Ragged:
    """Where the real tokens of padded rows are; they are counted row after row."""

    places: Int[Tensor, " tokens"]
    """Index of each token among rows * time."""
    positions: Int[Tensor, " tokens"]
    """Position of each token in its row, from 0."""
    offsets: Int[Tensor, " rows_and_end"]
    """Index of each row's first token among all, and the number of all, in int32."""
    lengths: tuple[int, ...]
    """Tokens of each row, known to the host, which need not ask a GPU for them."""

    @staticmethod
    def of(is_real: Mask) -> "Ragged":
        """The rows of a mask on the CPU, whose padding comes after their tokens."""
        lengths = is_real.sum(1)  # [rows]
        offsets = torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]).to(torch.int32)
        places = is_real.flatten().nonzero().squeeze(1)
        return Ragged(places, places % max(is_real.shape[1], 1), offsets, tuple(lengths.tolist()))

    @property
    def longest(self) -> int:
        """Length of the longest row, in tokens."""
        return max(self.lengths, default=0)

    @property
    def time(self) -> int:
        """Number of all tokens."""
        return len(self.places)

    def pack(self, padded: Tensor) -> Tensor:
        """[rows, time, ...] to [1, tokens, ...]."""
        return padded.flatten(0, 1).index_select(0, self.places)[None]


@dataclass(frozen=True)
class RowsApart:
    """A mask of packed rows: each query may attend to the keys of its own row; if causal, up to its own position."""

    queries: Ragged
    keys: Ragged
    is_causal: bool = False


def takes_ragged(device: torch.device, dtype: torch.dtype, key_dim: int, value_dim: int, dropped: float) -> bool:
    """Returns True where PyTorch's attention of ragged rows can take such heads: flash attention on a GPU, which knows
    no dropout of weights."""
    fits = key_dim == value_dim and key_dim <= LARGEST_HEAD and key_dim % 8 == 0
    return device.type == "cuda" and dtype in HalfPrecision and fits and not dropped


def ragged_attention(
    query: Float[Tensor, "1 heads queries head_dim"],
    keys: Float[Tensor, "1 kv_heads keys head_dim"],
    values: Float[Tensor, "1 kv_heads keys head_dim"],
    may_attend: RowsApart,
) -> Float[Tensor, "1 heads queries head_dim"]:
    """softmax(Q K^T / sqrt(d_k)) V within each row; heads of keys may be shared by groups of heads of queries."""
    from torch.nn.attention.varlen import varlen_attn

    grouped: dict[str, Any] = {"enable_gqa": True} if query.shape[1] != keys.shape[1] else {}  # PyTorch 2.11 has it not
    context = varlen_attn(
        query.squeeze(0).transpose(0, 1),  # [tokens, heads, head_dim]
        keys.squeeze(0).transpose(0, 1),
        values.squeeze(0).transpose(0, 1),
        may_attend.queries.offsets,
        may_attend.keys.offsets,
        may_attend.queries.longest,
        may_attend.keys.longest,
        window_size=(-1, 0) if may_attend.is_causal else (-1, -1),
        **grouped,
    )
    assert isinstance(context, Tensor)
    return context.transpose(0, 1)[None]
