"""Beam search with length normalisation; a beam of one is greedy search."""

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.base.ranges import BeamSize, LengthPenalty
from transduce.nn.state import DecoderState
from transduce.search.constrained import DynamicBeamAllocation
from transduce.search.loop import Candidates, Hypothesis, SearchProblem, search_loop
from transduce.search.rules import LogProbabilities, Prefixes
from transduce.search.search_settings import SearchSettings

State = TypeVar("State", bound=DecoderState)

HEIGHT = 32
"""Rows of a table of tokens: for most columns only the maximum is examined."""


class Beam(SearchSettings, frozen=True):
    """Beam search: size, length normalisation and length limits."""

    retired: ClassVar = {"coverage_penalty": 0.0}

    size: BeamSize = 4
    """Beam size, the hypotheses active at once; 1 is greedy search."""
    length_penalty: LengthPenalty = 0.6
    """Exponent alpha of length normalisation; 0 for none; larger values favour longer outputs."""
    normalization: Literal["wu", "power"] = "wu"
    """Length normalisation: wu divides log-probabilities by ((5 + n) / 6)^alpha (Wu et al. 2016), power by n^alpha; n
    counts the end token."""

    def _check_together(self) -> None:
        if self.n_best > self.size:
            raise ValueError(f"n_best must be from 1 to the beam's size, {self.size}")
        SearchSettings._check_together(self)

    @property
    def rows(self) -> int:
        """Number of hypotheses that the model decodes at once for each sentence."""
        return self.size

    def normalize(self, log_probability: float, length: int) -> float:
        """Returns the score of a hypothesis of `length` tokens, the end token included."""
        base = (5 + length) / 6 if self.normalization == "wu" else length
        return log_probability / base**self.length_penalty

    def find(self, problem: SearchProblem[State]) -> list[list[Hypothesis]]:
        """Returns the best finished hypotheses of each sentence, best first; see `search_loop`.

        Outputs have all required phrases, unless the search found none that has.
        """
        if any(problem.required):
            assert problem.edges is not None
            allocation = DynamicBeamAllocation(self.size, problem.end, problem.required, problem.edges)
            outputs = search_loop(problem, allocation, self.size, self.normalize)
            outputs = [allocation.least_missing(number, hypotheses) for number, hypotheses in enumerate(outputs)]
        else:
            outputs = search_loop(problem, Best(self.size), self.size, self.normalize)
        return [hypotheses[: self.n_best] for hypotheses in outputs]


@dataclass(frozen=True)
class Best:
    """Chooses the candidates of highest log-probability."""

    size: int

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """See ChooseCandidates."""
        vocabulary = log_probabilities.shape[-1]
        best, indices = largest_sums(scores, log_probabilities, 2 * self.size)
        return Candidates(best[:, None], indices[:, None] // vocabulary, indices[:, None] % vocabulary)


def largest_sums(
    scores: Float[Tensor, "sentences rows"], log_probabilities: Float[Tensor, "sentences rows vocabulary"], count: int
) -> tuple[Float[Tensor, "sentences count"], Int[Tensor, "sentences count"]]:
    """Returns the `count` largest totals of each sentence's rows and next tokens, and their indices, row * vocabulary +
    token.

    The result is that of `topk` over all sums, which are not computed, since `topk` is slow on a CPU. Each row is a
    table of 32 lines: the largest sums are in the columns of the largest maxima, or in the rest.
    """
    sentences, rows, vocabulary = log_probabilities.shape
    width = vocabulary // HEIGHT
    if rows * width < count:
        totals, indices = (scores[..., None] + log_probabilities).flatten(1).topk(min(count, rows * vocabulary))
        return totals, indices
    tables = log_probabilities[..., : HEIGHT * width].unflatten(-1, (HEIGHT, width))
    columns = (scores[..., None] + tables.amax(-2)).flatten(1).topk(count, sorted=False).indices  # row * width + column
    starts = columns // width * vocabulary + columns % width  # indices of the columns' first lines
    lines = torch.arange(0, HEIGHT * width, width, device=starts.device)
    indices = (starts[..., None] + lines).flatten(1)  # [sentences, count * HEIGHT]
    if HEIGHT * width < vocabulary:
        rest = torch.arange(rows * vocabulary, device=starts.device).view(rows, vocabulary)[:, HEIGHT * width :]
        indices = torch.cat([indices, rest.reshape(1, -1).expand(sentences, -1)], 1)
    totals = scores.gather(1, indices // vocabulary) + log_probabilities.flatten(1).gather(1, indices)
    totals, order = totals.topk(count)
    return totals, indices.gather(1, order)
