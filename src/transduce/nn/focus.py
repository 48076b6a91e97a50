"""Attention weights from scores: global, local or hard attention (Luong et al. 2015; Xu et al. 2015)."""

import math
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from transduce.nn.attention import Queries, normalize_scores
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.masks import SourceMask, window_mask
from transduce.nn.scores import Scores

HardGradient = Literal["score_function", "straight_through"]


@dataclass(frozen=True)
class Focused:
    """Attention weights, and the log-probabilities of positions that were drawn."""

    weights: Float[Tensor, "rows heads queries keys"]
    sampled_log_probabilities: Float[Tensor, "rows heads queries"] | None = None


@runtime_checkable
class Focus(Protocol):
    """Turns scores into weights."""

    def __call__(
        self, scores: Scores, query: Queries, may_attend: SourceMask, times: Int[Tensor, " queries"]
    ) -> Focused:
        """Returns weights, zero where a query may not attend; `times` are the queries' target positions, from 0."""


class GlobalAttention(nn.Module):
    """softmax of the scores over the whole source (Bahdanau et al. 2015, eq. 6; Luong et al. 2015, eq. 7)."""

    def forward(self, scores: Scores, query: Queries, may_attend: SourceMask, times: Tensor) -> Focused:
        """See Focus."""
        return Focused(normalize_scores(scores, may_attend))  # [rows, 1, queries, keys]


class LocalMonotonic(nn.Module):
    """Local attention, monotonic (Luong et al. 2015, section 3.2, local-m): softmax from p - window to p + window,
    where p is the target position itself; beyond the source, p stays at its last token."""

    def __init__(self, window: int) -> None:
        super().__init__()
        self.window = window

    def forward(self, scores: Scores, query: Queries, may_attend: SourceMask, times: Tensor) -> Focused:
        """See Focus."""
        last = may_attend.sum(-1, keepdim=True) - 1  # [rows, 1, 1, 1]
        center = torch.minimum(times[:, None], last).float()  # [rows, 1, queries, 1]
        return Focused(normalize_scores(scores, window_mask(may_attend, center, self.window)))


class LocalPredictive(nn.Module):
    """Local attention, predictive (Luong et al. 2015, eq. 9 and 10, local-p): softmax over p - window to p + window,
    times a Gaussian around p of standard deviation window / 2, where p = length * sigmoid(v · tanh(W s) / sqrt(d)).

    d is the width of s. The division is ours: Adam moves every weight of v equally far, so that without it the sum soon
    saturated the sigmoid, and the window stayed at an end of the source.
    """

    def __init__(self, window: int, query_dim: int, initialization: RecurrentInitialization) -> None:
        super().__init__()
        self.window = window
        self.hidden = nn.Linear(query_dim, query_dim, bias=False)
        self.place = nn.Linear(query_dim, 1, bias=False)
        for layer in (self.hidden, self.place):
            initialization.matrix(layer.weight)

    def forward(self, scores: Scores, query: Queries, may_attend: SourceMask, times: Tensor) -> Focused:
        """See Focus."""
        length = may_attend.sum(-1, keepdim=True)  # S, of the source  [rows, 1, 1, 1]
        energy = self.place(torch.tanh(self.hidden(query))).float()  # v · tanh(W s)  [rows, 1, queries, 1]
        logit = energy / math.sqrt(query.shape[-1])
        center = length * logit.sigmoid()  # p  [rows, 1, queries, 1]
        weights = normalize_scores(scores, window_mask(may_attend, center, self.window))  # [rows, 1, queries, keys]
        distance = torch.arange(may_attend.shape[-1], device=center.device) - center  # of each key from p
        gaussian = torch.exp(-2 * (distance / self.window) ** 2)  # exp(-(x - p)^2 / (2 sigma^2)), sigma = window / 2
        return Focused(weights * gaussian.to(weights.dtype))


class HardAttention(nn.Module):
    """Hard attention (Xu et al. 2015, section 4.1): one position alone, drawn by the softmax of the scores in training,
    and the best otherwise.

    A draw has no gradient. Either its log-probability is handed on, for an objective to weigh by how good the outcome
    was (the score-function estimator, Williams 1992), or the gradient passes as if the softmax had been used (the
    straight-through estimator, Bengio et al. 2013).
    """

    def __init__(self, gradient: HardGradient) -> None:
        super().__init__()
        self.gradient = gradient

    def forward(self, scores: Scores, query: Queries, may_attend: SourceMask, times: Tensor) -> Focused:
        """See Focus."""
        log_probabilities = scores.float().masked_fill(~may_attend, -torch.inf).log_softmax(-1)  # [.., queries, keys]
        if not self.training:
            return Focused(_one_hot(log_probabilities.argmax(-1), scores))
        gumbel = -torch.empty_like(log_probabilities).exponential_().log()  # its largest sum is a draw by the softmax
        chosen = (log_probabilities.detach() + gumbel).argmax(-1)  # [rows, 1, queries]
        weights = _one_hot(chosen, scores)
        if self.gradient == "straight_through":
            probabilities = log_probabilities.exp().to(scores.dtype)
            return Focused(weights + probabilities - probabilities.detach())
        return Focused(weights, log_probabilities.gather(-1, chosen[..., None])[..., 0])


def _one_hot(chosen: Tensor, scores: Tensor) -> Tensor:
    return functional.one_hot(chosen, scores.shape[-1]).to(scores.dtype)
