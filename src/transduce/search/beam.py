"""Beam search with length normalisation; a beam of one is greedy search."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

import torch
from jaxtyping import Int
from torch import Tensor

from transduce.config import Settings
from transduce.models.interface import Decoder
from transduce.nn.state import DecoderState
from transduce.search.hypothesis import Hypothesis
from transduce.search.rules import forbid, keep_within

State = TypeVar("State", bound=DecoderState)


class Beam(Settings, frozen=True):
    """How many hypotheses are followed, how they are ranked, and how long they may become."""

    size: int = 4
    """Hypotheses followed at once; 1 is greedy."""
    length_penalty: float = 0.6
    """The exponent alpha of length normalisation; 0 ranks by probability alone, higher prefers longer outputs."""
    normalization: Literal["wu", "power"] = "wu"
    """Divide log-probabilities by ((5 + n) / 6)^alpha (Wu et al. 2016), or by n^alpha, n counting the end token."""
    n_best: int = 1
    """Hypotheses returned for each sentence, best first."""
    max_ratio: float = 2.0
    """Longest output: this times the source's tokens, plus max_extra."""
    max_extra: int = 50
    """Tokens added to the longest output."""
    min_ratio: float = 0.0
    """Shortest output: this times the source's tokens."""
    allow_unknown: bool = False
    """Whether the unknown token may be chosen; it is then left out of the text all the same."""

    def __post_init__(self) -> None:
        if self.size < 1:
            raise ValueError("size must be at least 1")
        if not 1 <= self.n_best <= self.size:
            raise ValueError(f"n_best must be from 1 to the beam's size, {self.size}")
        if self.max_ratio < 0 or self.max_extra < 0 or self.max_ratio + self.max_extra == 0:
            raise ValueError("max_ratio and max_extra must leave room for an output")

    def normalize(self, log_probability: float, length: int) -> float:
        """The score of a hypothesis of `length` tokens, the end token counted."""
        base = (5 + length) / 6 if self.normalization == "wu" else length
        return log_probability / base**self.length_penalty


@dataclass(frozen=True)
class Limits:
    """How long each sentence's output may be, the end token counted."""

    shortest: Int[Tensor, " sentences"]
    longest: Int[Tensor, " sentences"]

    def select(self, sentences: Tensor) -> "Limits":
        """The given sentences'."""
        return Limits(self.shortest[sentences], self.longest[sentences])


def limits_for(beam: Beam, source_lengths: Int[Tensor, " sentences"], target_limit: int | None) -> Limits:
    """Limits from the tokens of each source and from the most tokens that the model can write."""
    longest = (source_lengths * beam.max_ratio + beam.max_extra).long().clamp(1, target_limit)
    shortest = (source_lengths * beam.min_ratio).long().clamp(1)
    return Limits(torch.minimum(shortest, longest), longest)


@torch.no_grad()
def beam_search(
    decoder: Decoder[State],
    state: State,
    beam: Beam,
    limits: Limits,
    begin: int,
    end: int,
    forbidden: Sequence[int] = (),
) -> list[list[Hypothesis]]:
    """The best finished hypotheses of each sentence, best first.

    A hypothesis that ends among the best `size` candidates is set aside; a sentence is done when it has `size` of
    them, or at its longest length, and leaves the batch.

    Args:
        state: a started state with one row a sentence.
        begin: the token that every output starts from.
        end: the token that ends one.
        forbidden: tokens that no output may hold.
    """
    sentences = torch.arange(len(limits.longest), device=limits.longest.device)  # those still searched
    finished: list[list[Hypothesis]] = [[] for _ in sentences]
    tokens = sentences.new_full((len(sentences), 1), begin)  # [sentences * rows, length]
    scores = torch.zeros(len(sentences), 1, device=sentences.device)  # [sentences, rows]
    length = 0
    while len(sentences):
        logits, state = decoder(tokens[:, -1:], state)
        log_probabilities = logits[:, -1].float().log_softmax(-1).unflatten(0, scores.shape)  # [sentences, rows, vocab]
        forbid(log_probabilities, forbidden)
        keep_within(log_probabilities, length, limits.shortest, limits.longest, end)
        vocabulary = log_probabilities.shape[-1]
        totals = (scores[..., None] + log_probabilities).flatten(1)  # [sentences, rows * vocabulary]
        best, places = totals.topk(min(2 * beam.size, totals.shape[1]))  # [sentences, candidates]
        rows, chosen = places // vocabulary, places % vocabulary
        ends = chosen == end
        history = tokens.unflatten(0, scores.shape)  # [sentences, rows, length]
        length += 1

        _set_aside(finished, sentences, history, best, rows, ends, length, limits, beam)

        going_on = _first_that_go_on(ends, beam.size)  # [sentences, size]
        scores = best.gather(1, going_on).masked_fill(ends.gather(1, going_on), -torch.inf)
        rows, chosen = rows.gather(1, going_on), chosen.gather(1, going_on)
        if length == 1:
            state = state.expand(beam.size)
            tokens = tokens.repeat_interleave(beam.size, 0)
            from_rows = torch.arange(len(tokens), device=tokens.device)
        else:
            starts = torch.arange(len(sentences), device=tokens.device)[:, None] * history.shape[1]
            from_rows = (starts + rows).flatten()
            state = state.reorder(from_rows)
        tokens = torch.cat([tokens[from_rows], chosen.flatten()[:, None]], 1)

        done = [len(finished[i]) >= beam.size for i in sentences.tolist()]
        searched = ~(torch.tensor(done, device=tokens.device) | (length >= limits.longest))
        if not searched.all():
            kept = searched.nonzero()[:, 0]
            tokens = tokens.unflatten(0, scores.shape)[kept].flatten(0, 1)
            sentences, scores, limits, state = sentences[kept], scores[kept], limits.select(kept), state.select(kept)
    return [sorted(found, key=lambda h: -h.score)[: beam.n_best] for found in finished]


def _set_aside(
    finished: list[list[Hypothesis]],
    sentences: Tensor,
    history: Tensor,
    best: Tensor,
    rows: Tensor,
    ends: Tensor,
    length: int,
    limits: Limits,
    beam: Beam,
) -> None:
    """Keep the candidates that end, if they are among the best `size` of their sentence."""
    are_finished = ends & best.isfinite()
    are_finished[:, beam.size :] = False
    for place, candidate in are_finished.nonzero().tolist():
        log_probability = float(best[place, candidate])
        hypothesis = Hypothesis(
            tokens=history[place, rows[place, candidate], 1:].tolist(),
            log_probability=log_probability,
            score=beam.normalize(log_probability, length),
            truncated=length >= int(limits.longest[place]),
        )
        finished[int(sentences[place])].append(hypothesis)


def _first_that_go_on(ends: Tensor, size: int) -> Tensor:
    """Places of the best `size` candidates that do not end; where there are too few, ended ones fill up."""
    order = ends.long().argsort(dim=1, stable=True)  # [sentences, candidates]
    if order.shape[1] < size:
        order = torch.cat([order, order[:, -1:].expand(-1, size - order.shape[1])], 1)
    return order[:, :size]
