"""Diverse beam search: groups that avoid each other's words (Vijayakumar et al. 2016)."""

from dataclasses import dataclass
from typing import TypeVar

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.base.ranges import BeamSize, NonNegativeFloat
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.loop import Candidates, Hypothesis, SearchProblem, first_unfinished, search_loop
from transduce.search.rules import LogProbabilities, Prefixes

State = TypeVar("State", bound=DecoderState)


class DiverseBeam(Beam, frozen=True):
    """Beam search in groups; each avoids the tokens that earlier groups choose at the same step."""

    groups: BeamSize = 2
    """Number of groups, into which the beam is divided equally; 1 for plain beam search."""
    diversity: NonNegativeFloat = 0.5
    """Penalty, in nats, for each hypothesis of an earlier group with the same token at this step (lambda)."""

    def _check_together(self) -> None:
        Beam._check_together(self)
        if self.size % self.groups:
            raise ValueError(f"groups must divide the beam's size, {self.size}, but is {self.groups}")

    def find(self, problem: SearchProblem[State]) -> list[list[Hypothesis]]:
        """Returns the best different outputs of all groups, best first; fewer than requested if groups found the
        same."""
        choose = GroupDiversity(self.groups, self.size // self.groups, self.diversity, problem.end)
        outputs = search_loop(problem, choose, self.size, self.normalize, self.groups)
        different = [{tuple(h.tokens): h for h in reversed(hypotheses)} for hypotheses in outputs]
        return [sorted(kept.values(), key=lambda h: -h.score)[: self.n_best] for kept in different]


@dataclass(frozen=True)
class GroupDiversity:
    """Chooses each group's best candidates, with a penalty for tokens that earlier groups chose at this step.

    The penalty decides which continue; log-probabilities stay the model's own (eq. 5 of the paper).
    """

    groups: int
    beam_per_group: int
    diversity: NonNegativeFloat
    end: int

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """See ChooseCandidates."""
        sentences, rows, vocabulary = log_probabilities.shape
        totals = scores[..., None] + log_probabilities
        penalty = log_probabilities.new_zeros(sentences, vocabulary)
        chosen = []
        for group in range(self.groups):
            start = group * self.beam_per_group if rows > 1 else 0  # all groups begin from one row
            sums = totals[:, start : start + self.beam_per_group].flatten(1)  # [sentences, beam_per_group * vocabulary]
            judged = sums - penalty.repeat(1, sums.shape[1] // vocabulary)
            indices = judged.topk(min(2 * self.beam_per_group, sums.shape[1])).indices
            tokens = indices % vocabulary
            best, rows_of_best = sums.gather(1, indices), indices // vocabulary + start
            chosen.append(Candidates(best[:, None], rows_of_best[:, None], tokens[:, None]))
            going_on = first_unfinished((tokens == self.end)[:, None], self.beam_per_group)[:, 0]
            penalty.scatter_add_(
                1, tokens.gather(1, going_on), torch.full_like(going_on, self.diversity, dtype=penalty.dtype)
            )
        return Candidates(*(torch.cat([getattr(c, name) for c in chosen], 1) for name in ("totals", "rows", "tokens")))
