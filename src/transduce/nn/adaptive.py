"""Adaptive embeddings and adaptive softmax: rare tokens get narrow vectors, and logits only when they are needed.

The vocabulary, frequent tokens first, is cut into clusters. The head of the softmax (Grave et al. 2017) has the tokens
of the first cluster and one more entry for each further cluster, in which a token's probability is that of its cluster
times that within it. Embeddings of a cluster are narrower by a factor than those of the one before, and projected to
the model's width (Baevski and Auli 2019).
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.shapes import Hidden, Tokens
from transduce.nn.initialization import Initialization
from transduce.nn.layers import layer_list


def cluster_bounds(vocabulary: int, cutoffs: Sequence[int]) -> list[tuple[int, int]]:
    """Returns each cluster's first token, and that after its last; ValueError for cutoffs beyond the vocabulary."""
    if cutoffs and cutoffs[-1] >= vocabulary:
        raise ValueError(
            f"cutoffs must be below the {vocabulary:,} tokens of the vocabulary, but there is {cutoffs[-1]:,}"
        )
    return list(pairwise([0, *cutoffs, vocabulary]))


class AdaptiveEmbedding(nn.Module):
    """A vector for each token: narrow ones, projected, for rare tokens.

    Args:
        bounds: see `cluster_bounds`.
        dim: width of the vectors that are looked up.
        factor: by which the tables of each further cluster are narrower.
        initialization: sets the tables and projections.
    """

    def __init__(
        self, bounds: Sequence[tuple[int, int]], dim: int, factor: int, initialization: Initialization
    ) -> None:
        super().__init__()
        self.bounds = list(bounds)
        self.num_embeddings, self.embedding_dim = bounds[-1][1], dim
        widths = [max(dim // factor**i, 1) for i in range(len(bounds))]
        tables = [nn.Embedding(stop - start, width) for (start, stop), width in zip(bounds, widths, strict=True)]
        self.tables = layer_list(tables)
        self.projections = layer_list([nn.Linear(width, dim, bias=False) for width in widths])
        for table, projection in zip(tables, self.projections, strict=True):
            initialization.embedding(table.weight)
            initialization.matrix(projection.weight)

    def forward(self, tokens: Tokens) -> Hidden:
        """Returns the vectors of tokens, [rows, time, dim]."""
        weight = self.projections[0].weight
        vectors = weight.new_zeros(*tokens.shape, self.embedding_dim)
        for (start, stop), table, projection in zip(self.bounds, self.tables, self.projections, strict=True):
            is_within = (tokens >= start) & (tokens < stop)
            vectors[is_within] = projection(table(tokens[is_within] - start))
        return vectors


class AdaptiveOutput(nn.Module):
    """The output layer that shares the tables and projections of an adaptive embedding; its logits are
    log-probabilities."""

    def __init__(self, embedding: AdaptiveEmbedding, initialization: Initialization) -> None:
        super().__init__()
        self.bounds = embedding.bounds
        self.tables, self.projections = embedding.tables, embedding.projections
        self.biases = nn.ParameterList([torch.zeros(stop - start) for start, stop in self.bounds])
        self.clusters = nn.Linear(self.tables[0].embedding_dim, len(self.bounds) - 1)
        initialization.matrix(self.clusters.weight)
        nn.init.zeros_(self.clusters.bias)

    def forward(self, hidden: Float[Tensor, "*positions dim"]) -> Float[Tensor, "*positions vocabulary"]:
        """Returns log-probabilities of all tokens."""
        head = functional.linear(self.projected(hidden, 0), *self.head).log_softmax(-1)  # [.., frequent + clusters]
        frequent = self.bounds[0][1]
        parts = [head[..., :frequent]]
        for cluster in range(1, len(self.bounds)):
            tail = functional.linear(self.projected(hidden, cluster), *self.tail(cluster)).log_softmax(-1)
            parts.append(tail + head[..., frequent + cluster - 1, None])  # log p(token | cluster) + log p(cluster)
        return torch.cat(parts, -1)

    @property
    def head(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the frequent tokens and of each further cluster."""
        weight = torch.cat([self.tables[0].weight, self.clusters.weight])
        return weight, torch.cat([self.biases[0], self.clusters.bias])

    def tail(self, cluster: int) -> tuple[Tensor, Tensor]:
        """Returns the weight and bias of the tokens of a further cluster."""
        return self.tables[cluster].weight, self.biases[cluster]

    def projected(self, hidden: Float[Tensor, "*positions dim"], cluster: int) -> Float[Tensor, "*positions _"]:
        """Returns hidden states projected to the width of a cluster's table."""
        return functional.linear(hidden, self.projections[cluster].weight.t())

    def head_target(self, target: Int[Tensor, " tokens"]) -> Int[Tensor, " tokens"]:
        """Returns the entry of the head that a token belongs to."""
        entries = target
        for cluster, (start, stop) in enumerate(self.bounds[1:], 1):
            entry = self.bounds[0][1] + cluster - 1
            entries = torch.where((target >= start) & (target < stop), entry, entries)
        return entries
