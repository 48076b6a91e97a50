"""Score functions of recurrent attention: dot, general, concat, additive.

Each projects the source once (its keys), and gives one unnormalised number a query and key. In the equations s is the
decoder's state that asks, h the encoder's output at a position.
"""

from typing import Literal, Protocol, assert_never, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.nn.attention import Keys, Queries
from transduce.nn.initialization import RecurrentInitialization
from transduce.shapes import Hidden

ScoreKind = Literal["dot", "general", "concat", "additive"]
QueryStates = Float[Tensor, "rows heads queries query_dim"]
Scores = Float[Tensor, "rows heads queries keys"]


@runtime_checkable
class AttentionScore(Protocol):
    """A match of queries and keys."""

    def project(self, memory: Hidden) -> Keys:
        """The keys of an encoder's output, made once and used for every query."""
        ...

    def __call__(self, query: QueryStates, keys: Keys) -> Scores:
        """One number a query and key."""
        ...


def build_score(
    kind: ScoreKind, query_dim: int, memory_dim: int, dim: int, initialization: RecurrentInitialization
) -> AttentionScore:
    """The score of that name; `dim` is the width of the hidden layer in concat and additive."""
    match kind:
        case "dot":
            return DotScore(query_dim, memory_dim)
        case "general":
            return GeneralScore(query_dim, memory_dim, initialization)
        case "concat":
            return ConcatScore(query_dim, memory_dim, dim, initialization)
        case "additive":
            return AdditiveScore(query_dim, memory_dim, dim, initialization)
        case never:
            assert_never(never)


class DotScore(nn.Module):
    """s · h (Luong et al. 2015, eq. 8, dot): both must be equally wide."""

    def __init__(self, query_dim: int, memory_dim: int) -> None:
        super().__init__()
        assert query_dim == memory_dim, "settings see to it"

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return memory[:, None]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return query @ keys.transpose(-2, -1)


class GeneralScore(nn.Module):
    """s · W h (Luong et al. 2015, eq. 8, general)."""

    def __init__(self, query_dim: int, memory_dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.key = nn.Linear(memory_dim, query_dim, bias=False)
        initialization.matrix(self.key.weight)

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return self.key(memory)[:, None]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return query @ keys.transpose(-2, -1)


class AdditiveScore(nn.Module):
    """v · tanh(W s + U h), a matrix for each (Bahdanau et al. 2015, appendix A.1.2)."""

    def __init__(self, query_dim: int, memory_dim: int, dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.query = nn.Linear(query_dim, dim, bias=False)
        self.key = nn.Linear(memory_dim, dim, bias=False)
        self.energy = nn.Linear(dim, 1, bias=False)
        for layer in (self.query, self.key, self.energy):
            initialization.matrix(layer.weight)

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return self.key(memory)[:, None]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return _energy(self.energy, self.query(query), keys)


class ConcatScore(nn.Module):
    """v · tanh(W [s; h]), one matrix over both (Luong et al. 2015, eq. 8, concat).

    The matrix is applied by halves: W [s; h] is the sum of its columns for s with s and of those for h with h, and only
    the second must meet every position.
    """

    def __init__(self, query_dim: int, memory_dim: int, dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.query_dim = query_dim
        self.hidden = nn.Linear(query_dim + memory_dim, dim, bias=False)
        self.energy = nn.Linear(dim, 1, bias=False)
        for layer in (self.hidden, self.energy):
            initialization.matrix(layer.weight)

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return functional.linear(memory, self.hidden.weight[:, self.query_dim :])[:, None]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return _energy(self.energy, functional.linear(query, self.hidden.weight[:, : self.query_dim]), keys)


def _energy(energy: nn.Linear, query: Queries, keys: Keys) -> Scores:
    hidden = torch.tanh(query[:, :, :, None] + keys[:, :, None])  # [rows, 1, queries, keys, dim]
    return energy(hidden)[..., 0]
