"""Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2.2)."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden
from transduce.nn import cpu
from transduce.nn.initialization import Initialization
from transduce.nn.layers import Dropout
from transduce.nn.masks import AttentionMask, Causal, causal_mask, masked_softmax
from transduce.nn.places import Place, Places
from transduce.nn.ragged import RowsApart, ragged_attention, takes_ragged
from transduce.nn.recording import Write, write_nothing

Heads = Float[Tensor, "rows heads time head_dim"]
Queries = Float[Tensor, "rows heads queries key_dim"]
Keys = Float[Tensor, "rows heads keys key_dim"]
Values = Float[Tensor, "rows heads keys value_dim"]
Context = Float[Tensor, "rows heads queries value_dim"]


@dataclass(frozen=True)
class KeysValues:
    """Projected keys and values of one attention."""

    keys: Keys
    values: Values

    @staticmethod
    def empty(like: Hidden, heads: int, key_dim: int, value_dim: int) -> "KeysValues":
        """Returns keys and values of no position, for as many rows as a tensor has, of its type and device."""
        return KeysValues(*(like.new_empty(len(like), heads, 0, dim) for dim in (key_dim, value_dim)))

    def append(self, other: "KeysValues") -> "KeysValues":
        """Returns these keys and values, followed in time by the others."""
        return KeysValues(torch.cat([self.keys, other.keys], 2), torch.cat([self.values, other.values], 2))

    def blank(self, rows: int, time: int) -> "KeysValues":
        """Returns keys and values of zeros, as wide as these."""
        keys, values = self.keys, self.values
        return KeysValues(*(each.new_zeros(rows, each.shape[1], time, each.shape[3]) for each in (keys, values)))

    def select(self, rows: Tensor) -> "KeysValues":
        """Returns the given rows, in the given order."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


@runtime_checkable
class AttentionKernel(Protocol):
    """Weighs values by the match of queries and keys; `dropout` is applied to the weights while training."""

    def __call__(
        self, query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
    ) -> Context:
        """Returns one value for each head and query."""


def attention(
    query: Queries,
    keys: Keys,
    values: Values,
    may_attend: AttentionMask | None,
    dropout: Dropout,
    write: Write = write_nothing,
) -> Context:
    """Returns softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017, eq. 1); `write` receives the weights."""
    weights = attention_weights(query, keys, may_attend)  # [rows, heads, queries, keys]
    write(weights)
    return dropout(weights) @ values  # [rows, heads, queries, value_dim]


def attention_weights(
    query: Queries, keys: Keys, may_attend: AttentionMask | None
) -> Float[Tensor, "rows heads queries keys"]:
    """Returns softmax(Q K^T / sqrt(d_k)); a query that may attend to nothing has weights of zero."""
    key_dim = query.shape[-1]
    scores = (query / math.sqrt(key_dim)) @ keys.transpose(-2, -1)  # Q K^T / sqrt(d_k)  [rows, heads, queries, keys]
    return normalize_scores(scores, may_attend)


def normalize_scores(
    scores: Float[Tensor, "rows heads queries keys"], may_attend: AttentionMask | None
) -> Float[Tensor, "rows heads queries keys"]:
    """Returns softmax over the keys that a query may attend to; one that may attend to nothing has weights of zero."""
    if scores.device.type == "cpu":
        return cpu.attention_softmax(scores, may_attend)
    return masked_softmax(scores, may_attend)[..., :-1]


def fused_attention(
    query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
) -> Context:
    """Returns the same formula by PyTorch's fused kernel, which never has all weights in memory."""
    return functional.scaled_dot_product_attention(query, keys, values, may_attend, dropout.share)


def maskless_attention(query: Queries, memory: KeysValues, rule: Causal | RowsApart, dropout: Dropout) -> Context:
    """Returns the same formula by a kernel that knows by itself which keys a query may attend to."""
    if isinstance(rule, RowsApart):
        return ragged_attention(query, memory.keys, memory.values, rule)
    is_grouped = query.shape[1] != memory.keys.shape[1]
    return functional.scaled_dot_product_attention(
        query, memory.keys, memory.values, dropout_p=dropout.share, is_causal=True, enable_gqa=is_grouped
    )


def fast_attention(
    query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
) -> Context:
    """Returns the faster of both: the fused kernel, on a CPU the formula where that one is slow."""
    is_slow = query.device.type == "cpu" and cpu.is_fused_slow(query, keys, dropout.share)
    kernel = attention if is_slow else fused_attention
    return kernel(query, keys, values, may_attend, dropout)


AnyMask = AttentionMask | Causal | RowsApart
"""A mask as a tensor, or one that kernels of a GPU know without a tensor."""


class MultiHeadAttention(nn.Module):
    """Projects to heads, attends, and projects back; keys and values are projected apart so that they can be kept.

    Args:
        dim: width of the inputs and outputs.
        heads: number of heads.
        key_dim: size of a query and of a key in each head.
        value_dim: size of a value in each head.
        dropout: share of the attention weights dropped in training, 0 to 1.
        initialization: sets the weights; biases begin at zero.
        kernel: computes the formula.
        kv_heads: heads of keys and values, of which each is that of a group of queries' heads that follow one another
            (grouped-query attention, Ainslie et al. 2023); as many as `heads` by default.
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        key_dim: int,
        value_dim: int,
        dropout: float,
        initialization: Initialization,
        kernel: AttentionKernel = fast_attention,
        kv_heads: int | None = None,
    ) -> None:
        super().__init__()
        kv_heads = kv_heads or heads
        self.heads, self.kv_heads, self.key_dim, self.value_dim = heads, kv_heads, key_dim, value_dim
        self.query = nn.Linear(dim, heads * key_dim)
        self.key_value = nn.Linear(dim, kv_heads * (key_dim + value_dim))
        self.output = nn.Linear(heads * value_dim, dim)
        self.dropout = Dropout(dropout)
        self.kernel = kernel
        initialization.matrix(self.query.weight)
        for matrix in self.key_value.weight.split([kv_heads * key_dim, kv_heads * value_dim]):
            initialization.matrix(matrix)
        initialization.residual(self.output.weight)
        for layer in (self.query, self.key_value, self.output):
            nn.init.zeros_(layer.bias)

    @property
    def takes_ragged(self) -> bool:
        """True if rows without padding can be attended to, on the device and in the precision of the weights."""
        weight = next(self.parameters())
        return takes_ragged(weight.device, weight.dtype, self.key_dim, self.value_dim, self.dropout.share)

    def queries(self, hidden: Hidden) -> Heads:
        """Returns one query for each head and position."""
        return split_heads(self.query(hidden), self.heads)  # [rows, heads, queries, key_dim]

    def project(self, hidden: Hidden) -> KeysValues:
        """Returns the keys and values of the vectors attended to."""
        return self.split(self.key_value(hidden))

    def split(self, projected: Hidden) -> KeysValues:
        """Returns the output of `key_value` as keys and values of each head."""
        keys, values = projected.split([self.kv_heads * self.key_dim, self.kv_heads * self.value_dim], -1)
        return KeysValues(split_heads(keys, self.kv_heads), split_heads(values, self.kv_heads))

    def split_joint(self, projected: Hidden) -> tuple[Float[Tensor, "rows queries_keys time key_dim"], Values]:
        """Returns the output of `query` and `key_value` joined, as heads of queries and then of keys, and as values."""
        heads = self.heads + self.kv_heads
        queries_keys, values = projected.tensor_split((heads * self.key_dim,), -1)
        return split_heads(queries_keys, heads), split_heads(values, self.kv_heads)

    def no_keys(self, like: Hidden) -> KeysValues:
        """Returns keys and values of no position, for as many rows as a tensor has."""
        return KeysValues.empty(like, self.kv_heads, self.key_dim, self.value_dim)

    def forward(
        self, query: Queries, memory: KeysValues, may_attend: AnyMask | None
    ) -> Float[Tensor, "rows queries dim"]:
        """Attends with projected queries to projected keys and values; [rows, queries, dim]."""
        return self.output(self.attend(query, memory, may_attend))

    def attend(
        self, query: Queries, memory: KeysValues, may_attend: AnyMask | None
    ) -> Float[Tensor, "rows queries heads_dim"]:
        """Returns the heads' contexts, concatenated, before they are projected back."""
        if isinstance(may_attend, Causal) and self.kernel is not fast_attention:
            may_attend = causal_mask(query.shape[2], memory.keys.shape[2], query.device)
        if isinstance(may_attend, Causal | RowsApart):
            context = maskless_attention(query, memory, may_attend, self.dropout)
        else:
            context = self._attend_by_group(query, memory, may_attend)
        return context.transpose(1, 2).flatten(-2)  # [rows, queries, heads * value_dim]

    def _attend_by_group(self, query: Queries, memory: KeysValues, may_attend: AttentionMask | None) -> Context:
        """Returns a context for each head; the queries of a group attend to the same keys, which are not copied."""
        group = self.heads // self.kv_heads
        if group == 1:
            return self.kernel(query, memory.keys, memory.values, may_attend, self.dropout)
        query = query.unflatten(1, (-1, group)).flatten(2, 3)  # [rows, kv_heads, group * queries, key_dim]
        if may_attend is not None and may_attend.shape[2] > 1:
            may_attend = may_attend.repeat(1, 1, group, 1)  # [rows, 1, group * queries, keys]
        context = self.kernel(query, memory.keys, memory.values, may_attend, self.dropout)
        return context.unflatten(2, (group, -1)).flatten(1, 2)  # [rows, heads, queries, value_dim]

    def recording_kernel(self, write: Write) -> AttentionKernel:
        """See Recordable."""
        group = self.heads // self.kv_heads  # [rows, kv_heads, group * queries, keys] as [rows, heads, queries, keys]
        return partial(attention, write=lambda weights: write(weights.unflatten(2, (group, -1)).flatten(1, 2)))

    def places(self) -> Places:
        """See HasPlaces: the heads' contexts, before they are projected back."""
        return {"heads": Place(self.output, argument=0, heads=self.heads)}


def split_heads(projected: Hidden, heads: int) -> Heads:
    """Returns a projection, [rows, time, heads * head_dim], as heads; on a CPU contiguous too, since each product with
    them would make such a copy for itself."""
    split = projected.view(*projected.shape[:-1], heads, -1).transpose(1, 2)  # [rows, heads, time, head_dim]
    return split.contiguous() if split.device.type == "cpu" else split
