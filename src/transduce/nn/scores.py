"""Score functions of recurrent attention: dot, general, concat, additive.

Each projects the source once (its keys), and gives one unnormalised number for each query and key. In the equations s
is the decoder's state, the query, and h the encoder's output at a position.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, assert_never, cast, get_args, runtime_checkable

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional

from transduce.base.errors import InputError
from transduce.base.plugins import Registry, check_takes
from transduce.base.shapes import Hidden
from transduce.nn.attention import Keys, Queries
from transduce.nn.initialization import RecurrentInitialization

LuongScore = Literal["dot", "general", "concat"]
"""The scores that settings name."""
ScoreKind = Literal[LuongScore, "additive"]
QueryStates = Float[Tensor, "rows heads queries query_dim"]
Scores = Float[Tensor, "rows heads queries keys"]


@runtime_checkable
class AttentionScore(Protocol):
    """A match of queries and keys."""

    def project(self, memory: Hidden) -> Keys:
        """Returns the keys of an encoder's output, made once and used for every query."""

    def __call__(self, query: QueryStates, keys: Keys) -> Scores:
        """Returns one number for each query and key."""


def build_score(
    kind: str, query_dim: int, memory_dim: int, dim: int, initialization: RecurrentInitialization
) -> AttentionScore:
    """Returns the score of that name; `dim` is the width of the hidden layer in concat and additive.

    Raises InputError for an unknown score, or a registered one that does not fit.
    """
    if kind not in get_args(ScoreKind):
        return SCORES.find(kind).build(query_dim, memory_dim)
    match cast(ScoreKind, kind):
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
        return query @ keys.transpose(-2, -1)  # s · h  [rows, 1, queries, keys]


class GeneralScore(nn.Module):
    """s · W h (Luong et al. 2015, eq. 8, general)."""

    def __init__(self, query_dim: int, memory_dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.key = nn.Linear(memory_dim, query_dim, bias=False)
        initialization.matrix(self.key.weight)

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return self.key(memory)[:, None]  # W h  [rows, 1, keys, query_dim]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return query @ keys.transpose(-2, -1)  # s · W h  [rows, 1, queries, keys]


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
        return self.key(memory)[:, None]  # U h  [rows, 1, keys, dim]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return energy_of(self.energy, self.query(query), keys)


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
        return functional.linear(memory, self.hidden.weight[:, self.query_dim :])[:, None]  # [rows, 1, keys, dim]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return energy_of(self.energy, functional.linear(query, self.hidden.weight[:, : self.query_dim]), keys)


class FunctionScore(nn.Module):
    """A score without weights: a function of queries and the encoder's output, both with an axis for heads."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def project(self, memory: Hidden) -> Keys:
        """See AttentionScore."""
        return memory[:, None]

    def forward(self, query: QueryStates, keys: Keys) -> Scores:
        """See AttentionScore."""
        return self.function(query, keys)


@dataclass(frozen=True)
class OwnScore:
    """A user's score: a module's class, or a function."""

    name: str
    made_of: Callable[..., Any]

    def build(self, query_dim: int, memory_dim: int) -> AttentionScore:
        """Returns the score between these widths; raises InputError if its output has another shape."""
        score = self.made_of(query_dim, memory_dim) if isinstance(self.made_of, type) else FunctionScore(self.made_of)
        self._try(score, query_dim, memory_dim)
        return cast(AttentionScore, score)

    def check(self, query_dim: int, memory_dim: int) -> None:
        """Raises InputError where the score does not fit these widths; no random numbers are used up."""
        with torch.random.fork_rng(devices=[]):
            self.build(query_dim, memory_dim)

    def _try(self, score: object, query_dim: int, memory_dim: int) -> None:
        rows, queries, keys = 2, 3, 5
        if not isinstance(score, nn.Module) or not isinstance(score, AttentionScore):
            raise InputError(f"score '{self.name}': expected a torch.nn.Module with a method `project`")
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            try:
                projected = score.project(torch.ones(rows, keys, memory_dim))
                scores = score(torch.ones(rows, 1, queries, query_dim), projected)
            except (RuntimeError, TypeError, ValueError) as error:
                raise InputError(
                    f"score '{self.name}' fails on queries of width {query_dim} and an encoder's output of width "
                    f"{memory_dim}: {str(error).splitlines()[0]}"
                ) from None
        expected = [rows, 1, queries, keys]
        if not isinstance(scores, Tensor) or list(scores.shape) != expected:
            shape = list(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
            raise InputError(
                f"score '{self.name}' gave {shape} where {expected} is expected: rows, 1, queries, keys, for queries "
                f"{[rows, 1, queries, query_dim]} and an encoder's output {[rows, keys, memory_dim]}"
            )


def _own_score(name: str, given: Any) -> OwnScore:
    expected = "a torch.nn.Module's class, made with query_dim and memory_dim, or a function of queries and keys"
    if isinstance(given, type) and not issubclass(given, nn.Module):
        raise InputError(f"score '{name}': {given.__qualname__} is no torch.nn.Module; expected {expected}")
    if isinstance(given, nn.Module):
        raise InputError(f"score '{name}': a module is made already; give its class, or a function")
    check_takes("score", name, given, ("query_dim", "memory_dim"), expected)
    return OwnScore(name, given)


SCORES: Registry[OwnScore] = Registry("score", "transduce.scores", _own_score, others=get_args(LuongScore))
"""Users' scores; the built-in ones are ScoreKind."""


def energy_of(energy: nn.Linear, query: Queries, keys: Keys) -> Scores:
    """Returns the scores of projected queries and keys by a layer with one output (Bahdanau et al. 2015)."""
    hidden = torch.tanh(query[:, :, :, None] + keys[:, :, None])  # tanh(W s + U h)  [rows, 1, queries, keys, dim]
    return energy(hidden)[..., 0]  # v · tanh(W s + U h)  [rows, 1, queries, keys]
