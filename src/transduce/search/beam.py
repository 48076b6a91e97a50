"""Beam search with length normalisation; a beam of one is greedy search."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.models.interface import Decoder
from transduce.nn.state import DecoderState
from transduce.ranges import BeamSize, LengthPenalty, NonNegativeFloat
from transduce.search.hypothesis import Hypothesis
from transduce.search.largest import largest_sums
from transduce.search.limits import begin_each
from transduce.search.problem import SearchProblem
from transduce.search.rules import LogProbabilities, Prefixes, Rule
from transduce.search.settings import SearchSettings

State = TypeVar("State", bound=DecoderState)


class Beam(SearchSettings, frozen=True):
    """Beam search: size, length normalisation and length limits."""

    size: BeamSize = 4
    """Hypotheses active at once; 1 is greedy."""
    length_penalty: LengthPenalty = 0.6
    """The exponent alpha of length normalisation; 0 for no normalisation; larger values favour longer outputs."""
    normalization: Literal["wu", "power"] = "wu"
    """Divide log-probabilities by ((5 + n) / 6)^alpha (Wu et al. 2016), or by n^alpha, n counting the end token."""
    coverage_penalty: NonNegativeFloat = 0.0
    """Coverage penalty beta (Wu et al. 2016), applied to finished hypotheses; 0 for none."""

    def _check_together(self) -> None:
        if self.n_best > self.size:
            raise ValueError(f"n_best must be from 1 to the beam's size, {self.size}")
        SearchSettings._check_together(self)

    @property
    def rows(self) -> int:
        """Hypotheses that the model decodes at once for each sentence."""
        return self.size

    def normalize(self, log_probability: float, length: int) -> float:
        """The score of a hypothesis of `length` tokens, the end token counted."""
        base = (5 + length) / 6 if self.normalization == "wu" else length
        return log_probability / base**self.length_penalty


@dataclass(frozen=True)
class Candidates:
    """Hypotheses that are one token longer, those that should live before others; -inf fills up.

    A group keeps to itself: of each an equal share of the beam lives on, and only its own outputs end it.
    """

    totals: Float[Tensor, "sentences groups candidates"]
    """Log-probabilities, the new token's included."""
    rows: Int[Tensor, "sentences groups candidates"]
    """Which of the sentence's hypotheses each goes on."""
    tokens: Int[Tensor, "sentences groups candidates"]
    """The new tokens."""


@runtime_checkable
class ChooseCandidates(Protocol):
    """How candidates are chosen: at least twice as many a group as live on, or all there are."""

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """Candidates from the hypotheses' log-probabilities, the next tokens' (-inf: may not come) and the texts."""
        ...


@dataclass(frozen=True)
class Active(Generic[State]):
    """The sentences still searched, and the hypotheses that are active for each."""

    sentences: Int[Tensor, " sentences"]
    """Their numbers in the batch as it began."""
    counts: Int[Tensor, "sentences groups"]
    """Outputs that each group has set aside."""
    scores: Float[Tensor, "sentences rows"]
    """Log-probabilities; -inf for a hypothesis that only fills up."""
    tokens: Int[Tensor, "sentences rows length"]
    """The texts, with the token that begins them."""
    state: State
    """The decoder's, which has not read the last token of each yet."""

    def select(self, places: Int[Tensor, " kept"]) -> "Active[State]":
        """The sentences at these places."""
        return Active(
            self.sentences[places],
            self.counts[places],
            self.scores[places],
            self.tokens[places],
            self.state.select(places),
        )


@dataclass(frozen=True)
class Step(Generic[State]):
    """What a token more makes of the hypotheses."""

    candidates: Candidates
    are_finished: Bool[Tensor, "sentences groups candidates"]
    """Which of the candidates are outputs to set aside."""
    active: Active[State]
    """Those that live on; what is set aside is not counted yet."""


def take_step(
    decoder: Decoder[State], active: Active[State], choose: ChooseCandidates, rule: Rule, beam_per_group: int, end: int
) -> Step[State]:
    """Read the last tokens and choose the hypotheses that live on, one token longer.

    But for what `choose` and `rule` do, no number is read from a tensor, so that it can be compiled whole.

    Args:
        choose: names the candidates.
        rule: says which tokens may not come next.
        beam_per_group: how many outputs each group is to set aside.
        end: the token that ends an output.
    """
    scores, history = active.scores, active.tokens
    logits, state = decoder(history[..., -1:].flatten(0, 1), active.state)
    log_probabilities = logits[:, -1].float().log_softmax(-1).unflatten(0, scores.shape)  # [sentences, rows, vocab]
    prefixes = Prefixes(active.sentences, history[..., 1:])
    rule(log_probabilities, prefixes)
    candidates = choose(scores, log_probabilities, prefixes)
    ends = candidates.tokens == end
    are_finished = ends & candidates.totals.isfinite() & (active.counts < beam_per_group)[..., None]
    are_finished[..., beam_per_group:] = False
    going_on = first_unfinished(ends, beam_per_group)  # [sentences, groups, beam_per_group]
    scores = candidates.totals.gather(2, going_on).masked_fill(ends.gather(2, going_on), -torch.inf).flatten(1)
    rows, chosen = candidates.rows.gather(2, going_on), candidates.tokens.gather(2, going_on)
    starts = torch.arange(len(history), device=history.device)[:, None] * history.shape[1]
    from_rows = (starts + rows.flatten(1)).flatten()  # of all sentences' hypotheses so far, those that are gone on from
    tokens = torch.cat([history.flatten(0, 1)[from_rows], chosen.flatten()[:, None]], 1).unflatten(0, scores.shape)
    if scores.shape[1] > history.shape[1]:  # all begin from one
        state = state.expand(scores.shape[1])
    elif scores.shape[1] > 1:
        state = state.reorder(from_rows)
    return Step(candidates, are_finished, Active(active.sentences, active.counts, scores, tokens, state))


TakeStep = Callable[..., Step[Any]]
"""`take_step`, as it is or compiled."""


def beam_search(problem: SearchProblem[State], beam: Beam, take_step: TakeStep = take_step) -> list[list[Hypothesis]]:
    """The best finished hypotheses of each sentence, best first.

    A hypothesis that ends among the best `size` candidates is set aside; a sentence is done when it has `size` of
    them, or at its longest length, and leaves the batch.

    `take_step` is the function of this name, as it is or compiled.
    """
    found = search_loop(problem, beam, Best(beam.size), take_step=take_step)
    return [hypotheses[: beam.n_best] for hypotheses in found]


@torch.no_grad()
def search_loop(
    problem: SearchProblem[State],
    beam: Beam,
    choose: ChooseCandidates,
    groups: int = 1,
    take_step: TakeStep = take_step,
) -> list[list[Hypothesis]]:
    """All hypotheses that a beam set aside, best first; see `beam_search`. Every kind of beam is this loop."""
    limits, rule = problem.limits, problem.rule
    sentences = torch.arange(len(limits.longest), device=limits.longest.device)
    active = Active(
        sentences,
        counts=sentences.new_zeros(len(sentences), groups),
        scores=torch.zeros(len(sentences), 1, device=sentences.device),
        tokens=begin_each(problem.begin, sentences)[:, None],
        state=problem.state,
    )
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    beam_per_group, length = beam.size // groups, 0
    while len(active.sentences):
        history, step = active.tokens, take_step(problem.decoder, active, choose, rule, beam_per_group, problem.end)
        active = step.active
        length += 1
        some_finished = bool(step.are_finished.any())
        if some_finished:  # at most steps none has, and all this is spared
            active = replace(active, counts=active.counts + step.are_finished.sum(2))
            places = step.are_finished.nonzero()[:, 0]
            sentences = active.sentences[places]
            for sentence, text, log_probability, is_longest in zip(
                sentences.tolist(),
                history[places, step.candidates.rows[step.are_finished], 1:].tolist(),
                step.candidates.totals[step.are_finished].tolist(),
                limits.are_reached(length, sentences).tolist(),
                strict=True,
            ):
                score = beam.normalize(log_probability, length)
                finished[sentence].append(Hypothesis(text, log_probability, score, truncated=is_longest))
        if not some_finished and length < limits.some_must_end:
            continue
        searched = (active.counts < beam_per_group).any(1) & ~limits.are_reached(length, active.sentences)
        if not searched.all():
            active = active.select(searched.nonzero()[:, 0])
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in finished]


@dataclass(frozen=True)
class Best:
    """The candidates of the highest log-probability."""

    size: int

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """See ChooseCandidates."""
        vocabulary = log_probabilities.shape[-1]
        best, places = largest_sums(scores, log_probabilities, 2 * self.size)
        return Candidates(best[:, None], places[:, None] // vocabulary, places[:, None] % vocabulary)


def first_unfinished(
    ends: Bool[Tensor, "sentences groups candidates"], beam_per_group: int
) -> Int[Tensor, "sentences groups beam_per_group"]:
    """Places of each group's first candidates that do not end; where there are too few, ended ones fill up."""
    order = ends.long().argsort(dim=2, stable=True)
    if order.shape[2] < beam_per_group:
        order = torch.cat([order, order[..., -1:].expand(-1, -1, beam_per_group - order.shape[2])], 2)
    return order[..., :beam_per_group]
