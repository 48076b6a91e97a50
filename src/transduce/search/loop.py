"""The loop of every beam search, with its inputs and results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.base.devices import to_device, to_host
from transduce.models.interface import Predictor
from transduce.nn.state import DecoderState, Reserves
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import LengthConstraint, LogProbabilities, Prefixes, Rule
from transduce.search.search_settings import Begin, Limits, begin_each

State = TypeVar("State", bound=DecoderState)

LOOK_EVERY = 8
"""Steps on a GPU from one look at what has ended to the next: each waits for the GPU. Sentences that end between two
looks are decoded on, to no effect, since their outputs have all been set aside."""


@dataclass(frozen=True)
class Hypothesis:
    """A finished target sequence."""

    tokens: list[int]
    """Token ids without the end token."""
    log_probability: float
    """Natural log-probability, the end token included."""
    score: float
    """The rank of a hypothesis: its log-probability, normalised for length, or its expected chrF."""
    truncated: bool
    """True if it ended only because it reached the length limit."""


@dataclass(frozen=True)
class Candidates:
    """Hypotheses extended by a token, in the order in which they should continue; padded with totals of -inf.

    In each group an equal share of the beam continues, and only its own outputs end it.
    """

    totals: Float[Tensor, "sentences groups candidates"]
    """Log-probabilities, the new token's included."""
    rows: Int[Tensor, "sentences groups candidates"]
    """Index of the sentence's hypothesis that each candidate extends."""
    tokens: Int[Tensor, "sentences groups candidates"]
    """Ids of the new tokens."""


@runtime_checkable
class ChooseCandidates(Protocol):
    """Chooses candidates: at least twice as many per group as continue, or all there are."""

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """Returns candidates from the hypotheses' and the next tokens' log-probabilities (-inf: excluded) and the
        texts."""


@dataclass(frozen=True)
class Written:
    """Number of tokens written, the one that begins outputs not counted, where there is room for more."""

    count: int
    read: int
    """Number of tokens that the decoder's state has read."""
    on_device: Int[Tensor, " 1"]
    """The count, of which steps that a graph takes know nothing else."""


@dataclass(frozen=True)
class Active(Generic[State]):
    """The sentences still searched, and the active hypotheses of each."""

    sentences: Int[Tensor, " sentences"]
    """Indices of the sentences in the initial batch."""
    counts: Int[Tensor, "sentences groups"]
    """Number of outputs that each group has set aside."""
    scores: Float[Tensor, "sentences rows"]
    """Log-probabilities; -inf for hypotheses that are padding."""
    tokens: Int[Tensor, "sentences rows length"]
    """Token ids, with the token that begins outputs."""
    state: State
    """The decoder's state, which has not read the last tokens yet."""
    written: Written | None = None
    """The place of the last tokens in `tokens`, if a graph takes the steps; None if they are the last ones there."""

    @property
    def last(self) -> Int[Tensor, "sentences rows 1"]:
        """The last token of each hypothesis."""
        if self.written is None:
            return self.tokens[..., -1:]
        return self.tokens.index_select(2, self.written.on_device)

    def select(self, places: Int[Tensor, " kept"]) -> "Active[State]":
        """Returns the sentences at these indices."""
        return Active(
            self.sentences[places],
            self.counts[places],
            self.scores[places],
            self.tokens[places],
            self.state.select(places),
            self.written,
        )


@dataclass(frozen=True)
class Step(Generic[State]):
    """The hypotheses after one more token."""

    candidates: Candidates
    are_finished: Bool[Tensor, "sentences groups candidates"]
    """True for candidates that are outputs to set aside."""
    active: Active[State]
    """The hypotheses that continue."""
    history: Int[Tensor, "sentences rows length"]
    """The texts before the step, see Active; there may be room after them."""
    is_counted: bool = False
    """True if `active` counts outputs that are set aside now."""


def take_step(
    decoder: Predictor[State],
    active: Active[State],
    choose: ChooseCandidates,
    rule: Rule,
    beam_per_group: int,
    end: int,
) -> Step[State]:
    """Reads the last tokens and chooses the hypotheses that continue, one token longer.

    Except in `choose` and `rule`, no number is read from a tensor, so that the step can be compiled whole.

    Args:
        choose: chooses the candidates.
        rule: excludes next tokens.
        beam_per_group: how many outputs each group is to set aside.
        end: the token that ends an output.
    """
    scores, history, written = active.scores, active.tokens, active.written
    # read the last token of each hypothesis and predict the next
    logits, state = decoder(active.last.flatten(0, 1), active.state)  # [sentences * rows, 1, vocabulary]
    log_probabilities = logits[:, -1].float().log_softmax(-1).unflatten(0, scores.shape)  # [sentences, rows, vocab]
    # exclude what constraints and length limits forbid
    prefixes = Prefixes(active.sentences, history[..., 1:], None if written is None else written.on_device)
    rule(log_probabilities, prefixes)
    # choose the best extensions, twice as many as continue: at most half of them can end now
    candidates = choose(scores, log_probabilities, prefixes)  # [sentences, groups, candidates]
    # set aside the outputs that end among the best, until a group has enough
    ends = candidates.tokens == end
    are_finished = ends & candidates.totals.isfinite() & (active.counts < beam_per_group)[..., None]
    are_finished[..., beam_per_group:] = False
    # the best of the others continue
    going_on = first_unfinished(ends, beam_per_group)  # [sentences, groups, beam_per_group]
    scores = candidates.totals.gather(2, going_on).masked_fill(ends.gather(2, going_on), -torch.inf).flatten(1)
    rows, chosen = candidates.rows.gather(2, going_on), candidates.tokens.gather(2, going_on)
    # each takes the text of the hypothesis that it extends, and its new token
    starts = torch.arange(len(history), device=history.device)[:, None] * history.shape[1]
    from_rows = (starts + rows.flatten(1)).flatten()  # [sentences * rows]
    kept, new = history.flatten(0, 1)[from_rows], chosen.flatten()[:, None]
    if written is None:
        tokens = torch.cat([kept, new], 1)  # [sentences * rows, length + 1]
    else:
        written = replace(written, on_device=written.on_device + 1)
        tokens = kept.index_copy(1, written.on_device, new)
    # and the decoder's state of that hypothesis
    if scores.shape[1] > history.shape[1]:  # all begin from one
        state = state.expand(scores.shape[1])
    elif scores.shape[1] > 1:
        state = state.reorder(from_rows)
    tokens = tokens.unflatten(0, scores.shape)
    return Step(
        candidates, are_finished, Active(active.sentences, active.counts, scores, tokens, state, written), history
    )


TakeStep = Callable[..., Step[Any]]
"""`take_step`, as it is or compiled."""


@dataclass(frozen=True)
class SearchProblem(Generic[State]):
    """Sentences whose outputs are searched."""

    decoder: Predictor[State]
    """Predicts the next token's logits."""
    state: State
    """The initial state, with one row a sentence."""
    limits: Limits
    """Length limits of each sentence's output."""
    begin: Begin
    """The token that begins outputs, or one for each sentence."""
    end: int
    """The token that ends an output."""
    rules: Sequence[Rule] = ()
    """Rules on the next token, beside the limits."""
    sources: Sequence[Sequence[int]] = ()
    """Token ids of each source, which seed the sampling."""
    required: Sequence[Sequence[Phrase]] = ()
    """The phrases that each sentence's outputs must have; only for a plain beam."""
    edges: WordEdges | None = None
    """Word boundaries of the vocabulary; needed for required phrases."""
    take_step: TakeStep = take_step
    """Makes the steps of a beam: `take_step`, plain, compiled, in a graph or observed."""
    runs_ahead: bool = False
    """True if steps may also be taken after the last output, to no effect, where that spares waiting for a GPU; those
    of `take_step` itself always may, and whoever observes steps must see no more than there are."""

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
    """Returns all finished hypotheses of each sentence, best first. All beam searches use this loop.

    A hypothesis that ends among the best `size` candidates is set aside; a sentence with `size` of them, or at its
    longest length, leaves the batch. `normalize` returns the score of a log-probability and a length.
    """
    limits, rule = problem.limits, problem.rule
    sentences = torch.arange(len(limits.longest), device=limits.longest.device)
    active: Active[Any] = Active(
        sentences,
        counts=sentences.new_zeros(len(sentences), groups),
        scores=torch.zeros(len(sentences), 1, device=sentences.device),
        tokens=begin_each(problem.begin, sentences)[:, None],
        state=reserved(problem.state, limits, size),
    )
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    beam_per_group, length = size // groups, 0
    on_host = limits.on_host or limits
    runs_ahead = problem.runs_ahead or problem.take_step is take_step
    look_every = LOOK_EVERY if runs_ahead and sentences.device.type == "cuda" else 1
    unseen: list[_Unseen] = []
    while len(active.sentences):
        step = problem.take_step(problem.decoder, active, choose, rule, beam_per_group, problem.end)
        active, length = step.active, length + 1
        if look_every > 1 or step.are_finished.any():  # at most steps none has, and this is spared
            if not step.is_counted:
                active = replace(active, counts=active.counts + step.are_finished.sum(2))
            candidates = step.candidates
            tensors = [active.sentences, step.are_finished, candidates.rows, candidates.totals, step.history]
            unseen.append(_Unseen(length, tensors))
        if length % look_every and length < limits.all_must_end:
            continue
        if not unseen and length < limits.some_must_end:
            continue
        tensors = [active.sentences, active.counts, *(tensor for each in unseen for tensor in each.tensors)]
        numbers, counts, *seen = to_host(tensors)
        of_steps = iter(seen)
        for each in unseen:
            each.set_aside([next(of_steps) for _ in each.tensors], finished, normalize, on_host)
        unseen = []
        searched = (counts < beam_per_group).any(1) & ~on_host.are_reached(length, numbers)
        left = int(searched.sum())
        if left < len(searched) and (look_every == 1 or 2 * left <= len(searched)):  # each copies all of a GPU's states
            active = active.select(*to_device([searched.nonzero()[:, 0]], sentences.device))
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in finished]


@dataclass(frozen=True)
class _Unseen:
    """Outputs that a step has set aside and the host has not looked at."""

    length: int
    """Length of the outputs in tokens, the end token included."""
    tensors: list[Tensor]
    """Sentences, which candidates are finished, the rows and totals of the candidates, and the texts before the step:
    see Active and Candidates."""

    def set_aside(
        self,
        on_host: Sequence[Tensor],
        finished: list[list[Hypothesis]],
        normalize: Callable[[float, int], float],
        limits: Limits,
    ) -> None:
        """Adds the outputs to those of each sentence, from the same tensors on the host."""
        sentences, are_finished, rows, totals, history = on_host
        places = are_finished.nonzero()[:, 0]
        ended = sentences[places]
        for sentence, text, log_probability, is_longest in zip(
            ended.tolist(),
            history[places, rows[are_finished], 1 : self.length].tolist(),
            totals[are_finished].tolist(),
            limits.are_reached(self.length, ended).tolist(),
            strict=True,
        ):
            score = normalize(log_probability, self.length)
            finished[sentence].append(Hypothesis(text, log_probability, score, truncated=is_longest))


def reserved(state: State, limits: Limits, rows_per_sentence: int) -> State:
    """Returns a state that is not expanded yet, on a GPU with memory for the longest outputs of all rows: else it
    would be taken, and the states copied, again and again."""
    if limits.longest.device.type == "cuda" and isinstance(state, Reserves):
        return state.reserve(limits.all_must_end, rows_per_sentence)
    return state


def first_unfinished(
    ends: Bool[Tensor, "sentences groups candidates"], beam_per_group: int
) -> Int[Tensor, "sentences groups beam_per_group"]:
    """Returns indices of each group's first candidates that do not end; if there are too few, ended ones pad them."""
    order = ends.long().argsort(dim=2, stable=True)
    if order.shape[2] < beam_per_group:
        order = torch.cat([order, order[..., -1:].expand(-1, -1, beam_per_group - order.shape[2])], 2)
    return order[..., :beam_per_group]
