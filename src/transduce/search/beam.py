"""Beam search with length normalisation; a beam of one is greedy search."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.models.interface import Decoder
from transduce.nn.state import DecoderState
from transduce.search.hypothesis import Hypothesis
from transduce.search.largest import largest_sums
from transduce.search.limits import Limits
from transduce.search.rules import KeepWithin, LogProbabilities, Rule, SoFar
from transduce.search.settings import SearchSettings

State = TypeVar("State", bound=DecoderState)


class Beam(SearchSettings, frozen=True):
    """How many hypotheses are followed, how they are ranked, and how long they may become."""

    size: int = 4
    """Hypotheses followed at once; 1 is greedy."""
    length_penalty: float = 0.6
    """The exponent alpha of length normalisation; 0 ranks by probability alone, higher prefers longer outputs."""
    normalization: Literal["wu", "power"] = "wu"
    """Divide log-probabilities by ((5 + n) / 6)^alpha (Wu et al. 2016), or by n^alpha, n counting the end token."""
    coverage_penalty: float = 0.0
    """The weight beta by which finished hypotheses that leave source tokens without attention are ranked lower (Wu et
    al. 2016); 0 for none."""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("size must be at least 1")
        if not 1 <= self.n_best <= self.size:
            raise ValueError(f"n_best must be from 1 to the beam's size, {self.size}")
        if self.coverage_penalty < 0:
            raise ValueError("coverage_penalty must be at least 0")
        SearchSettings.__post_init__(self)

    @property
    def rows(self) -> int:
        """Hypotheses that a model must follow for each sentence."""
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
class Choice(Protocol):
    """How candidates are chosen: at least twice as many a group as live on, or all there are."""

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, so_far: SoFar
    ) -> Candidates:
        """Candidates from the hypotheses' log-probabilities, the next tokens' (-inf: may not come) and the texts."""
        ...


@dataclass(frozen=True)
class Step:
    """What a token more makes of the hypotheses."""

    candidates: Candidates
    are_finished: Bool[Tensor, "sentences groups candidates"]
    """Which of the candidates are outputs to set aside."""
    scores: Float[Tensor, "sentences rows"]
    """Log-probabilities of those that live on; -inf for one that only fills up."""
    from_rows: Int[Tensor, " hypotheses"]
    """Which of the hypotheses so far, all sentences' in one row, each goes on."""
    tokens: Int[Tensor, "hypotheses length"]
    """Their texts."""


def take_step(
    choose: Choice,
    scores: Float[Tensor, "sentences rows"],
    log_probabilities: LogProbabilities,
    history: Int[Tensor, "sentences rows length"],
    sentences: Int[Tensor, " sentences"],
    counts: Int[Tensor, "sentences groups"],
    share: int,
    end: int,
) -> Step:
    """Choose the hypotheses that live on; but for what `choose` does, no number is read from a tensor.

    Args:
        choose: names the candidates.
        scores: log-probabilities of the hypotheses.
        log_probabilities: of the next tokens; -inf: may not come.
        history: the hypotheses, with the token that begins them.
        sentences: their numbers in the batch as it began.
        counts: outputs that each group has set aside.
        share: how many it is to set aside.
        end: the token that ends an output.
    """
    candidates = choose(scores, log_probabilities, SoFar(sentences, history[..., 1:]))
    ends = candidates.tokens == end
    are_finished = ends & candidates.totals.isfinite() & (counts < share)[..., None]
    are_finished[..., share:] = False
    going_on = first_that_go_on(ends, share)  # [sentences, groups, share]
    scores = candidates.totals.gather(2, going_on).masked_fill(ends.gather(2, going_on), -torch.inf).flatten(1)
    rows, chosen = candidates.rows.gather(2, going_on), candidates.tokens.gather(2, going_on)
    starts = torch.arange(len(history), device=history.device)[:, None] * history.shape[1]
    from_rows = (starts + rows.flatten(1)).flatten()
    tokens = torch.cat([history.flatten(0, 1)[from_rows], chosen.flatten()[:, None]], 1)
    return Step(candidates, are_finished, scores, from_rows, tokens)


TakeStep = Callable[..., Step]
"""`take_step`, as it is or compiled."""


def beam_search(
    decoder: Decoder[State],
    state: State,
    beam: Beam,
    limits: Limits,
    begin: int,
    end: int,
    rules: Sequence[Rule] = (),
    take_step: TakeStep = take_step,
) -> list[list[Hypothesis]]:
    """The best finished hypotheses of each sentence, best first.

    A hypothesis that ends among the best `size` candidates is set aside; a sentence is done when it has `size` of
    them, or at its longest length, and leaves the batch.

    Args:
        state: a started state with one row a sentence.
        begin: the token that every output starts from.
        end: the token that ends one.
        rules: what may not come next, beside what the limits say.
        take_step: the function of this name, as it is or compiled.
    """
    found = follow(decoder, state, beam, limits, begin, end, rules, Best(beam.size), take_step=take_step)
    return [hypotheses[: beam.n_best] for hypotheses in found]


@torch.no_grad()
def follow(
    decoder: Decoder[State],
    state: State,
    beam: Beam,
    limits: Limits,
    begin: int,
    end: int,
    rules: Sequence[Rule],
    choose: Choice,
    groups: int = 1,
    take_step: TakeStep = take_step,
) -> list[list[Hypothesis]]:
    """All hypotheses that a beam set aside, best first; see `beam_search`. Every kind of beam is this loop."""
    sentences = torch.arange(len(limits.longest), device=limits.longest.device)  # those still searched
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    counts = sentences.new_zeros(len(sentences), groups)  # of the finished
    tokens = sentences.new_full((len(sentences), 1), begin)  # [sentences * rows, length]
    scores = torch.zeros(len(sentences), 1, device=sentences.device)  # [sentences, rows]
    rule, share = KeepWithin(limits, end, rules), beam.size // groups
    length = 0
    while len(sentences):
        logits, state = decoder(tokens[:, -1:], state)
        log_probabilities = logits[:, -1].float().log_softmax(-1).unflatten(0, scores.shape)  # [sentences, rows, vocab]
        history = tokens.unflatten(0, scores.shape)  # [sentences, rows, length]
        rule(log_probabilities, SoFar(sentences, history[..., 1:]))
        step = take_step(choose, scores, log_probabilities, history, sentences, counts, share, end)
        scores, tokens = step.scores, step.tokens
        length += 1

        some_finished = bool(step.are_finished.any())
        if some_finished:  # at most steps none has, and all this is spared
            counts += step.are_finished.sum(2)
            places = step.are_finished.nonzero()[:, 0]
            for sentence, text, log_probability, is_longest in zip(
                sentences[places].tolist(),
                history[places, step.candidates.rows[step.are_finished], 1:].tolist(),
                step.candidates.totals[step.are_finished].tolist(),
                (length >= limits.longest[sentences[places]]).tolist(),
                strict=True,
            ):
                score = beam.normalize(log_probability, length)
                finished[sentence].append(Hypothesis(text, log_probability, score, truncated=is_longest))

        if length == 1:
            state = state.expand(beam.size)
        elif beam.size > 1:
            state = state.reorder(step.from_rows)
        if not some_finished and length < limits.some_must_end:
            continue
        searched = (counts < share).any(1) & (length < limits.longest[sentences])
        if not searched.all():
            kept = searched.nonzero()[:, 0]
            tokens = tokens.unflatten(0, scores.shape)[kept].flatten(0, 1)
            sentences, scores, counts, state = sentences[kept], scores[kept], counts[kept], state.select(kept)
    return [sorted(hypotheses, key=lambda h: -h.score) for hypotheses in finished]


@dataclass(frozen=True)
class Best:
    """The candidates of the highest log-probability."""

    size: int

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, so_far: SoFar
    ) -> Candidates:
        """See Choice."""
        vocabulary = log_probabilities.shape[-1]
        best, places = largest_sums(scores, log_probabilities, 2 * self.size)
        return Candidates(best[:, None], places[:, None] // vocabulary, places[:, None] % vocabulary)


def first_that_go_on(
    ends: Bool[Tensor, "sentences groups candidates"], share: int
) -> Int[Tensor, "sentences groups share"]:
    """Places of each group's first candidates that do not end; where there are too few, ended ones fill up."""
    order = ends.long().argsort(dim=2, stable=True)
    if order.shape[2] < share:
        order = torch.cat([order, order[..., -1:].expand(-1, -1, share - order.shape[2])], 2)
    return order[..., :share]
