"""The loop of every beam search, what a search is given, and what it finds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.models.interface import Predictor
from transduce.nn.state import DecoderState
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import LengthConstraint, LogProbabilities, Prefixes, Rule
from transduce.search.settings import Begin, Limits, begin_each

State = TypeVar("State", bound=DecoderState)


@dataclass(frozen=True)
class Hypothesis:
    """A finished target sequence."""

    tokens: list[int]
    """Without the end token."""
    log_probability: float
    """Natural logarithm, the end token counted."""
    score: float
    """What hypotheses are ranked by: the log-probability, normalised for length, or expected chrF."""
    truncated: bool
    """Whether it was ended because it reached the longest length allowed."""


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
    decoder: Predictor[State],
    active: Active[State],
    choose: ChooseCandidates,
    rule: Rule,
    beam_per_group: int,
    end: int,
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


@dataclass(frozen=True)
class SearchProblem(Generic[State]):
    """Sentences whose outputs are searched."""

    decoder: Predictor[State]
    """Gives the next token's logits."""
    state: State
    """A started state with one row a sentence."""
    limits: Limits
    """How long each sentence's output may be."""
    begin: Begin
    """The token that every output starts from, or one for each sentence."""
    end: int
    """The token that ends an output."""
    rules: Sequence[Rule] = ()
    """What may not come next, beside what the limits say."""
    sources: Sequence[Sequence[int]] = ()
    """The tokens of each source, by which samples are drawn."""
    required: Sequence[Sequence[Phrase]] = ()
    """The phrases that each sentence's outputs must hold; for a plain beam alone."""
    edges: WordEdges | None = None
    """Where words begin and end; needed for required phrases."""
    take_step: TakeStep = take_step
    """Takes a beam's steps: `take_step`, as it is, compiled or watched."""

    @property
    def rule(self) -> LengthConstraint:
        """All rules and the limits as one rule."""
        return LengthConstraint(self.limits, self.end, self.rules)


@torch.no_grad()
def search_loop(
    problem: SearchProblem[State],
    choose: ChooseCandidates,
    size: int,
    normalize: Callable[[float, int], float],
    groups: int = 1,
) -> list[list[Hypothesis]]:
    """All finished hypotheses of each sentence, best first. Every kind of beam is this loop.

    A hypothesis that ends among the best `size` candidates is set aside; a sentence is done when it has `size` of
    them, or at its longest length, and leaves the batch. `normalize` gives the score of a log-probability and a length.
    """
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
    beam_per_group, length = size // groups, 0
    while len(active.sentences):
        history, step = (
            active.tokens,
            problem.take_step(problem.decoder, active, choose, rule, beam_per_group, problem.end),
        )
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
                score = normalize(log_probability, length)
                finished[sentence].append(Hypothesis(text, log_probability, score, truncated=is_longest))
        if not some_finished and length < limits.some_must_end:
            continue
        searched = (active.counts < beam_per_group).any(1) & ~limits.are_reached(length, active.sentences)
        if not searched.all():
            active = active.select(searched.nonzero()[:, 0])
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in finished]


def first_unfinished(
    ends: Bool[Tensor, "sentences groups candidates"], beam_per_group: int
) -> Int[Tensor, "sentences groups beam_per_group"]:
    """Places of each group's first candidates that do not end; where there are too few, ended ones fill up."""
    order = ends.long().argsort(dim=2, stable=True)
    if order.shape[2] < beam_per_group:
        order = torch.cat([order, order[..., -1:].expand(-1, -1, beam_per_group - order.shape[2])], 2)
    return order[..., :beam_per_group]
