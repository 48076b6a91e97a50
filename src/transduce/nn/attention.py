"""Multi-head scaled dot-product attention (Vaswani et al. 2017, section 3.2.2)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from transduce.nn.initialization import Initialization
from transduce.nn.layers import Dropout
from transduce.nn.masks import AttentionMask
from transduce.shapes import Hidden

Heads = Float[Tensor, "rows heads time head_dim"]
Queries = Float[Tensor, "rows heads queries key_dim"]
Keys = Float[Tensor, "rows heads keys key_dim"]
Values = Float[Tensor, "rows heads keys value_dim"]
Context = Float[Tensor, "rows heads queries value_dim"]

FEW_WEIGHTS = 1024
"""Queries times keys of a head, up to which PyTorch's fused attention is slower on a CPU than if it is written out."""

MIN_WIDTH = 16
"""Of a row whose softmax PyTorch makes many numbers at a time (floats of AVX-512)."""


@dataclass(frozen=True)
class KeysValues:
    """Projected keys and values of one attention."""

    keys: Keys
    values: Values

    def append(self, other: "KeysValues") -> "KeysValues":
        """These, followed in time by the other."""
        return KeysValues(torch.cat([self.keys, other.keys], 2), torch.cat([self.values, other.values], 2))

    def select(self, rows: Tensor) -> "KeysValues":
        """The given rows, in the given order."""
        return KeysValues(self.keys.index_select(0, rows), self.values.index_select(0, rows))


@runtime_checkable
class AttentionKernel(Protocol):
    """Weighs values by the match of queries and keys; `dropout` is applied to the weights while training."""

    def __call__(
        self, query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
    ) -> Context:
        """One value a head and query."""
        ...


def fast_attention(
    query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
) -> Context:
    """PyTorch's fused kernel; on a CPU written out where that is slow."""
    if query.device.type == "cpu" and _is_slow_fused(query, keys, dropout):
        weights = attention_weights(query, keys, may_attend)
        return dropout(weights) @ values
    return functional.scaled_dot_product_attention(query, keys, values, may_attend, dropout.share)


def _is_slow_fused(query: Queries, keys: Keys, dropout: Dropout) -> bool:
    """With dropout, in compiled code, in bfloat16 (backwards up to ten times as slow), and for few weights a head."""
    if dropout.share or torch.compiler.is_compiling() or query.dtype == torch.bfloat16:
        return True
    return query.shape[2] * keys.shape[2] <= FEW_WEIGHTS


def attention_weights(
    query: Queries, keys: Keys, may_attend: AttentionMask | None
) -> Float[Tensor, "rows heads queries keys"]:
    """softmax(Q K^T / sqrt(key_dim)); a query that may attend to nothing has weights of zero."""
    return normalize_scores((query / math.sqrt(query.shape[-1])) @ keys.transpose(-2, -1), may_attend)


def normalize_scores(
    scores: Float[Tensor, "rows heads queries keys"], may_attend: AttentionMask | None
) -> Float[Tensor, "rows heads queries keys"]:
    """softmax over the keys that a query may attend to; one that may attend to nothing has weights of zero.

    On a CPU it is in float32, where a softmax of bfloat16 is several times as slow.
    """
    if scores.device.type == "cpu" and torch.is_grad_enabled() and not torch.compiler.is_compiling():
        return cast(Tensor, _Normalize.apply(scores, may_attend))  # type: ignore[no-untyped-call]
    return _with_further_keys(scores, may_attend)[..., : scores.shape[-1]].to(scores.dtype)


def _with_further_keys(scores: Tensor, may_attend: AttentionMask | None) -> Tensor:
    """The weights of `normalize_scores`, and those of further keys, which are zero unless there is nothing else.

    On a CPU a softmax of fewer than 16 numbers is several times as slow; compiled code is alike for any number.
    """
    further = (0, 1 if torch.compiler.is_compiling() else max(MIN_WIDTH - scores.shape[-1], 1))
    scores = scores.float() if scores.device.type == "cpu" else scores
    scores = functional.pad(scores, further, value=torch.finfo(scores.dtype).min)
    if may_attend is not None:
        scores = scores.masked_fill_(~functional.pad(may_attend, further, value=True), -torch.inf)
    return scores.softmax(-1)


class _Normalize(torch.autograd.Function):
    """The gradient in fewer passes over the weights than those of each step: a weight of zero has one of zero."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, may_attend: AttentionMask | None) -> Tensor:
        weights = _with_further_keys(scores, may_attend)
        ctx.save_for_backward(weights)
        return weights[..., : scores.shape[-1]].to(scores.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (weights,) = ctx.saved_tensors
        keys = gradient.shape[-1]
        by_scores = torch.empty_like(weights)
        by_scores[..., :keys] = gradient
        by_scores[..., keys:] = 0
        torch._softmax_backward_data(by_scores, weights, -1, weights.dtype, grad_input=by_scores)
        return by_scores[..., :keys].to(gradient.dtype), None


class MultiHeadAttention(nn.Module):
    """Projects to heads, attends, and projects back; keys and values are projected apart so that they can be kept.

    Args:
        dim: width of what asks and of what comes out.
        heads: number of heads.
        key_dim: size of a query and of a key in each head.
        value_dim: size of a value in each head.
        dropout: share of the attention weights dropped in training, 0 to 1.
        initialization: how the weights begin; biases begin at zero.
    """

    def __init__(
        self, dim: int, heads: int, key_dim: int, value_dim: int, dropout: float, initialization: Initialization
    ) -> None:
        super().__init__()
        self.heads, self.key_dim, self.value_dim = heads, key_dim, value_dim
        self.query = nn.Linear(dim, heads * key_dim)
        self.key_value = nn.Linear(dim, heads * (key_dim + value_dim))
        self.output = nn.Linear(heads * value_dim, dim)
        self.dropout = Dropout(dropout)
        self.kernel: AttentionKernel = fast_attention
        initialization.matrix(self.query.weight)
        for matrix in self.key_value.weight.split([heads * key_dim, heads * value_dim]):
            initialization.matrix(matrix)
        initialization.residual(self.output.weight)
        for layer in (self.query, self.key_value, self.output):
            nn.init.zeros_(layer.bias)

    def queries(self, hidden: Hidden) -> Heads:
        """One query a head and position."""
        return split_heads(self.query(hidden), self.heads)

    def project(self, hidden: Hidden) -> KeysValues:
        """Keys and values of what is attended to."""
        return self.split(self.key_value(hidden))

    def split(self, projected: Hidden) -> KeysValues:
        """What `key_value` gives, apart for each head."""
        keys, values = projected.split([self.heads * self.key_dim, self.heads * self.value_dim], -1)
        return KeysValues(split_heads(keys, self.heads), split_heads(values, self.heads))

    def forward(
        self, query: Queries, memory: KeysValues, may_attend: AttentionMask | None
    ) -> Float[Tensor, "rows queries dim"]:
        """Attend with projected queries to projected keys and values; [rows, queries, dim]."""
        return self.output(self.attend(query, memory, may_attend))

    def attend(
        self, query: Queries, memory: KeysValues, may_attend: AttentionMask | None
    ) -> Float[Tensor, "rows queries heads_dim"]:
        """The heads' contexts side by side, before they are projected back."""
        context = self.kernel(query, memory.keys, memory.values, may_attend, self.dropout)
        return context.transpose(1, 2).flatten(-2)  # [rows, queries, heads * value_dim]

    def recording_kernel(self, write: Callable[[Tensor], None]) -> AttentionKernel:
        """See Recordable."""

        def attend(
            query: Queries, keys: Keys, values: Values, may_attend: AttentionMask | None, dropout: Dropout
        ) -> Context:
            weights = attention_weights(query, keys, may_attend)
            write(weights)
            return dropout(weights) @ values

        return attend


def split_heads(projected: Hidden, heads: int) -> Heads:
    """What a projection gives, [rows, time, heads * head_dim], apart for each head; on a CPU apart in memory too.

    There each product with it would make such a copy for itself.
    """
    split = projected.view(*projected.shape[:-1], heads, -1).transpose(1, 2)  # [rows, heads, time, head_dim]
    return split.contiguous() if split.device.type == "cpu" else split
