"""Self-attention by the distances of keys, not their positions (Dai et al. 2019, section 3.3), and its memory."""

import math
from collections.abc import Callable
from functools import partial
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden
from transduce.nn.attention import Context, Heads, KeysValues, Values, normalize_scores, split_heads
from transduce.nn.cache import Cache
from transduce.nn.initialization import Initialization
from transduce.nn.layers import Dropout
from transduce.nn.masks import AttentionMask
from transduce.nn.places import Place, Places
from transduce.nn.recording import Write, write_nothing

Scores = Float[Tensor, "rows heads queries keys"]
Distances = Float[Tensor, "distances dim"]
ProjectedDistances = Float[Tensor, "*#row heads distances key_dim"]
"""The projected distances of each row, or the same of all rows."""

Past = Float[Tensor, "rows _ dim"] | Cache
"""Memory of earlier positions in one attention: while gradients are on, its inputs, [rows, memory, dim]; else the keys
and values made of them, which then never change."""


@runtime_checkable
class ScoreKernel(Protocol):
    """Turns scores into weights and weighs values by them; `dropout` is applied to the weights while training."""

    def __call__(self, scores: Scores, values: Values, may_attend: AttentionMask | None, dropout: Dropout) -> Context:
        """Returns one value for each head and query."""


def weigh(
    scores: Scores, values: Values, may_attend: AttentionMask | None, dropout: Dropout, write: Write = write_nothing
) -> Context:
    """Returns the values' sum, weighted by a softmax over keys that may be attended to; `write` gets the weights."""
    weights = normalize_scores(scores, may_attend)  # [rows, heads, queries, keys]
    write(weights)
    return dropout(weights) @ values  # [rows, heads, queries, value_dim]


def sinusoids_of_distances(furthest: int, nearest: int, dim: int, device: torch.device | None = None) -> Distances:
    """Returns a vector for each distance between a query and a key, furthest first: sines, then cosines, float32.

    A negative distance is that of a key ahead of its query.
    """
    frequencies = torch.exp(torch.arange(0, dim, 2, device=device) * (-math.log(10000.0) / dim))  # 10000^(-2i / dim)
    angles = torch.arange(furthest, nearest - 1, -1, device=device)[:, None] * frequencies  # [distances, ceil(dim / 2)]
    return torch.cat([angles.sin(), angles.cos()], -1)[:, :dim]


class RelativeSelfAttention(nn.Module):
    """Attention of a sequence to itself and to a memory of earlier positions.

    The score of a query q and a key k at distance d is (q + u) k + (q + v) W_R R_d, divided by sqrt(key_dim): the key's
    content, and its distance, each with a learned bias of its own (eq. of section 3.3, terms a to d).

    Args:
        dim: width of the inputs and outputs.
        heads: number of heads.
        key_dim: size of a query and of a key in each head.
        value_dim: size of a value in each head.
        dropout: share of the attention weights dropped in training, 0 to 1.
        initialization: sets the weights; u and v begin at zero.
    """

    def __init__(
        self, dim: int, heads: int, key_dim: int, value_dim: int, dropout: float, initialization: Initialization
    ) -> None:
        super().__init__()
        self.heads, self.key_dim, self.value_dim = heads, key_dim, value_dim
        self.query = nn.Linear(dim, heads * key_dim, bias=False)
        self.key_value = nn.Linear(dim, heads * (key_dim + value_dim), bias=False)
        self.distance = nn.Linear(dim, heads * key_dim, bias=False)
        self.output = nn.Linear(heads * value_dim, dim, bias=False)
        self.content_bias = nn.Parameter(torch.zeros(heads, 1, key_dim))
        """u."""
        self.distance_bias = nn.Parameter(torch.zeros(heads, 1, key_dim))
        """v."""
        self.dropout = Dropout(dropout)
        self.kernel: ScoreKernel = weigh
        for matrix in (self.query.weight, *self.key_value.weight.split([heads * key_dim, heads * value_dim])):
            initialization.matrix(matrix)
        initialization.matrix(self.distance.weight)
        initialization.residual(self.output.weight)

    def empty_past(self, like: Hidden) -> Past:
        """Returns the memory before the first position."""
        if torch.is_grad_enabled():
            return like[:, :0]
        return Cache(KeysValues.empty(like, self.heads, self.key_dim, self.value_dim), 0)

    def project_distances(self, distances: Distances) -> ProjectedDistances:
        """Returns W_R R for each head."""
        projected = self.distance(distances.to(self.distance_bias.dtype))  # [distances, heads * key_dim]
        return projected.unflatten(-1, (self.heads, -1)).transpose(0, 1)

    def remember(self, hidden: Hidden, past: Past, memory: int) -> tuple[KeysValues, Past]:
        """Returns keys and values of the past and of `hidden`, and the new past: the last `memory` positions."""
        if isinstance(past, Cache):
            cache = past.append(self._project(hidden))
            return cache.known, cache.last(memory)
        both = torch.cat([past, hidden], 1)
        return self._project(both), both[:, max(both.shape[1] - memory, 0) :].detach()

    def forward(
        self,
        hidden: Hidden,
        keys_values: KeysValues,
        by_distance: Callable[[Heads], Scores],
        may_attend: AttentionMask | None,
        by_segment: Callable[[Heads], Scores] | None = None,
    ) -> Hidden:
        """Maps [rows, time, dim] to the same shape.

        Args:
            hidden: vectors from which queries are made.
            keys_values: keys and values attended to.
            by_distance: products of queries with the distances of the keys, as `scores_by_distance` makes them.
            may_attend: mask of the keys that each query may attend to.
            by_segment: scores by segment of scaled queries, added if given.
        """
        # scale queries and both biases: all scores are divided by sqrt(d_k)
        root = math.sqrt(self.key_dim)
        query = split_heads(self.query(hidden), self.heads) / root  # q  [rows, heads, queries, key_dim]
        content_bias, distance_bias = self.content_bias / root, self.distance_bias / root  # u, v  [heads, 1, key_dim]
        # terms a and c: the content of keys
        scores = (query + content_bias) @ keys_values.keys.transpose(-2, -1)  # (q + u) k  [rows, heads, queries, keys]
        # terms b and d: the distance of keys
        scores = scores + by_distance(query + distance_bias)  # + (q + v) W_R R_d
        if by_segment is not None:
            scores = scores + by_segment(query)
        # weigh the values by a softmax, and project the heads' contexts back
        context = self.kernel(scores, keys_values.values, may_attend, self.dropout)  # [rows, heads, queries, value_dim]
        return self.output(context.transpose(1, 2).flatten(-2))  # [rows, time, dim]

    def recording_kernel(self, write: Write) -> ScoreKernel:
        """See Recordable."""
        return partial(weigh, write=write)

    def places(self) -> Places:
        """See HasPlaces: the heads' contexts, before they are projected back, and the memory of earlier positions."""
        memory = Place(self, ("remember",), argument=1, holds="before", get=_vectors_of, put=_with_vectors)
        return {"heads": Place(self.output, argument=0, heads=self.heads), "memory": memory}

    def _project(self, hidden: Hidden) -> KeysValues:
        keys, values = self.key_value(hidden).split([self.heads * self.key_dim, self.heads * self.value_dim], -1)
        return KeysValues(split_heads(keys, self.heads), split_heads(values, self.heads))


def _vectors_of(past: Past) -> Float[Tensor, "rows memory width"]:
    """Returns a vector for each remembered position: its input, or the keys and values of all heads."""
    if isinstance(past, Cache):
        return torch.cat([past.known.keys, past.known.values], -1).transpose(1, 2).flatten(2)
    return past


def _with_vectors(past: Past, vectors: Float[Tensor, "rows memory width"]) -> Past:
    """Returns the memory of these vectors, of the same kind."""
    if not isinstance(past, Cache):
        return vectors
    heads, key_dim = past.buffer.keys.shape[1], past.buffer.keys.shape[3]
    keys, values = split_heads(vectors, heads).tensor_split((key_dim,), -1)
    return Cache(KeysValues(keys, values), past.length)


def scores_by_distance(query: Heads, distances: ProjectedDistances, keys: int) -> Scores:
    """Returns each query's product with the distance of each key, aligned at the last key.

    The distances are furthest first, and the last one is that of the last query and the last key. Scores of keys that
    are further, or ahead of a query, mean nothing.
    """
    queries, missing = query.shape[2], keys - distances.shape[1]
    if missing < 0:  # the furthest are not met yet
        distances, missing = distances[:, -missing:], 0
    if queries == 1 and not missing:
        return query @ distances.transpose(-2, -1)
    table = functional.pad(distances, (0, 0, missing, 1))  # [heads, keys + 1, key_dim], with that of a key ahead
    return relative_shift(query @ table.transpose(-2, -1), keys)


def relative_shift(scores: Float[Tensor, "rows heads queries distances"], keys: int) -> Scores:
    """Returns scores of consecutive queries, by distance, as scores of keys: one view, no copy (appendix B).

    The first distance is that of the last query and the first key, each next one is less by one; there is at least one
    more than there are keys. Each query's row is read one position further on than that of the query after it.
    """
    queries, distances = scores.shape[2:]
    if queries == 1:
        return scores[..., :keys]
    row = distances - 1
    shifted = scores.flatten(-2)[..., queries - 1 : queries - 1 + queries * row]
    return shifted.unflatten(-1, (queries, row))[..., :keys]
