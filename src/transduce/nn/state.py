"""States of decoders between calls: a part for each source sentence, a part for each hypothesis."""

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from transduce.nn.attention import KeysValues
from transduce.nn.cache import Cache
from transduce.nn.masks import CAUSAL, Ancestry, AttentionMask, Causal, SourceMask, causal_mask, shared_cache_mask
from transduce.nn.positions import DevicePlace, Span
from transduce.nn.relative_attention import Past, ProjectedDistances
from transduce.nn.ssru import Cell

FEW = 16
"""Largest number of hypotheses of a sentence that share a row of the cache."""

Carried = Float[Tensor, "layers rows _ dim"]
"""The memory that a segment of a text hands the next: each layer's last positions, or parts of a recurrent state."""

Same = TypeVar("Same", bound="DecoderState")  # typing.Self cannot be checked while tests run


@runtime_checkable
class DecoderState(Protocol):
    """A started decoder's memory; a state that was passed to a call is consumed and must not be used again."""

    def expand(self: Same, rows_per_sentence: int) -> Same:
        """Returns the state with this many equal rows for each sentence, those of one sentence adjacent."""

    def reorder(self: Same, rows: Tensor) -> Same:
        """Returns the hypotheses of the given rows, in that order; each must stay with its own sentence."""

    def select(self: Same, sentences: Tensor) -> Same:
        """Returns the given sentences with all their rows, in that order."""


@runtime_checkable
class Reserves(DecoderState, Protocol):
    """A state that can take the memory of all steps to come at once."""

    def reserve(self: Same, tokens: int, rows_per_sentence: int) -> Same:
        """Returns the state, not expanded yet, with room for this many further tokens of each of these rows."""


@runtime_checkable
class Sampler(Protocol):
    """The state of a decoder that may draw positions; only an objective asks for it."""

    @property
    def sampled_log_probabilities(self) -> Float[Tensor, "rows time"] | None:
        """Log-probabilities of the last call's draws for each token; None if nothing is learned from them."""


@dataclass(frozen=True)
class AttentionState:
    """The state of a stack of attention layers: projected source, and keys and values of all earlier positions, or a
    vector for them.

    The source is never copied for the hypotheses of a sentence; a decoder folds them into the query axis. Neither is
    the cache, as long as they are few: their keys share one row, each at a fixed position, and `past` says which
    of them belong to a hypothesis. So `reorder` moves no keys. Many hypotheses would skip many keys of others; they
    have a row of the cache each.
    """

    source: tuple[KeysValues, ...]
    """One per layer, rows are sentences."""
    source_may_attend: SourceMask
    """Mask of the real tokens of each source."""
    cache: tuple[Cache | Cell, ...]
    """One per layer; rows are sentences where `past` is given, else hypotheses. The cell of a recurrence, in place of
    keys and values, is never shared."""
    position: int
    """Number of tokens read."""
    past: Ancestry | None = None
    """Mask of each hypothesis's own keys; None where each hypothesis has a row of the cache to itself. Like the cache,
    it may have room for later keys."""
    rows_per_sentence: int = 1
    place: Int[Tensor, " 2"] | None = None
    """Numbers of tokens read and of keys known, where a graph takes the steps (inference/engines/graph_states.py)."""

    def expand(self, rows_per_sentence: int) -> "AttentionState":
        """See DecoderState."""
        assert self.rows_per_sentence == 1, "a state is expanded once"
        cache = self.cache[0]
        if 1 < rows_per_sentence <= FEW and not isinstance(cache, Cell):
            may_attend = self.source_may_attend
            room = max(cache.room, self.position) if may_attend.device.type == "cuda" else self.position
            past = may_attend.new_ones(len(may_attend), rows_per_sentence, room)
            past[..., self.position :] = False
            return replace(self, past=past, rows_per_sentence=rows_per_sentence)
        state = self.reorder(_expanded(self.source_may_attend, rows_per_sentence))
        return replace(state, rows_per_sentence=rows_per_sentence)

    def reorder(self, rows: Tensor) -> "AttentionState":
        """See DecoderState."""
        if self.past is None:
            return replace(self, cache=tuple(layer.select(rows) for layer in self.cache))
        return replace(self, past=self.past.flatten(0, 1).index_select(0, rows).view_as(self.past))

    def select(self, sentences: Tensor) -> "AttentionState":
        """See DecoderState."""
        rows = _rows_of(sentences, self.rows_per_sentence) if self.past is None else sentences
        return replace(
            self,
            source=tuple(layer.select(sentences) for layer in self.source),
            source_may_attend=self.source_may_attend.index_select(0, sentences),
            cache=tuple(layer.select(rows) for layer in self.cache),
            past=None if self.past is None else self.past.index_select(0, sentences),
        )

    def reserve(self, tokens: int, rows_per_sentence: int) -> "AttentionState":
        """See Reserves; rows that do not share a cache are copied at each step, and keep no room."""
        if rows_per_sentence > FEW:
            return self
        keys = self.position + tokens * rows_per_sentence
        cache = tuple(layer.reserve(keys) if isinstance(layer, Cache) else layer for layer in self.cache)
        return replace(self, cache=cache)

    def span(self, time: int) -> Span:
        """Returns the positions of the next tokens; one, where a graph takes the steps."""
        if self.place is None:
            return Span(self.position, time)
        slots = 1 if self.past is None else self.rows_per_sentence
        return Span(
            self.position,
            time,
            DevicePlace(self.place[:1], self.place[1:] + torch.arange(slots, device=self.place.device)),
        )

    def advance(self, cache: tuple[Cache | Cell, ...], time: int, past: Ancestry | None) -> "AttentionState":
        """Returns the state after `time` tokens, with the layers' caches and `past` after them."""
        if self.place is None:
            return replace(self, cache=cache, position=self.position + time, past=past)
        slots = 1 if past is None else self.rows_per_sentence
        steps = torch.cat([torch.full_like(self.place[:1], count) for count in (1, slots)])
        return replace(self, cache=cache, past=past, place=self.place + steps)

    def extend(self, at: Span) -> tuple[AttentionMask | Causal | None, Ancestry | None]:
        """Returns the mask of the next tokens of each hypothesis, its own keys included, and `past` after them.

        Queries are those of a row of the cache, hypothesis by hypothesis; None where all may attend to all.
        """
        time, cache = at.time, self.cache[0]
        if isinstance(cache, Cell):  # which no mask is for
            return None, self.past
        if at.on_device is not None:
            slots = at.on_device.slots
            if self.past is None:
                return (torch.arange(cache.room, device=slots.device) <= slots)[None, None, None], None
            own = torch.eye(len(slots), dtype=torch.bool, device=slots.device).expand(len(self.past), -1, -1)
            after = self.past.index_copy(2, slots, own)
            return after[:, None], after
        if self.past is None:
            device = self.source_may_attend.device
            if self.position == 0 and time > 1 and device.type == "cuda":
                return CAUSAL, None
            return causal_mask(time, self.position + time, device), None
        return shared_cache_mask(self.past, time, cache.length)


@runtime_checkable
class CarriedState(DecoderState, Protocol):
    """The state of a language model that continues from one segment of a text to the next."""

    @property
    def carried(self) -> Carried:
        """The memory from which the next segment's state is made, without gradients; see SegmentRecurrence."""


@dataclass(frozen=True)
class SegmentState:
    """The state of a stack of relative attention: the last positions, as its layers keep them."""

    past: tuple[Past, ...]
    """One per layer, rows are hypotheses."""
    distances: tuple[ProjectedDistances, ...] = ()
    """For each layer, projected once for all steps to come; none while gradients are on, since weights change."""
    rows_per_sentence: int = 1

    @property
    def length(self) -> int:
        """Number of positions kept."""
        past = self.past[0]
        return past.length if isinstance(past, Cache) else past.shape[1]

    @property
    def carried(self) -> Carried:
        """The vectors that each layer read at the last positions; only while gradients are on."""
        return torch.stack([layer for layer in self.past if not isinstance(layer, Cache)])

    def expand(self, rows_per_sentence: int) -> "SegmentState":
        """See DecoderState."""
        assert self.rows_per_sentence == 1, "a state is expanded once"
        past = self.past[0]
        sentences = past.buffer.keys if isinstance(past, Cache) else past
        return replace(self.reorder(_expanded(sentences, rows_per_sentence)), rows_per_sentence=rows_per_sentence)

    def reorder(self, rows: Tensor) -> "SegmentState":
        """See DecoderState."""
        past = tuple(
            layer.select(rows) if isinstance(layer, Cache) else layer.index_select(0, rows) for layer in self.past
        )
        return replace(self, past=past)

    def select(self, sentences: Tensor) -> "SegmentState":
        """See DecoderState."""
        return self.reorder(_rows_of(sentences, self.rows_per_sentence))


@dataclass(frozen=True)
class RecurrentTextState:
    """The state of a recurrent network that reads a text."""

    hidden: Float[Tensor, "rows layers parts dim"]
    """Memory of each layer, rows are hypotheses."""
    rows_per_sentence: int = 1

    @property
    def carried(self) -> Carried:
        """Memory of each layer."""
        return self.hidden.detach().transpose(0, 1)

    def expand(self, rows_per_sentence: int) -> "RecurrentTextState":
        """See DecoderState."""
        assert self.rows_per_sentence == 1, "a state is expanded once"
        return RecurrentTextState(self.hidden.repeat_interleave(rows_per_sentence, 0), rows_per_sentence)

    def reorder(self, rows: Tensor) -> "RecurrentTextState":
        """See DecoderState."""
        return replace(self, hidden=self.hidden.index_select(0, rows))

    def select(self, sentences: Tensor) -> "RecurrentTextState":
        """See DecoderState."""
        return self.reorder(_rows_of(sentences, self.rows_per_sentence))


@dataclass(frozen=True)
class RecurrentState:
    """The state of a recurrent decoder: the projected source, and the layers' memory.

    Keys and values have one head. They are never copied for the hypotheses of a sentence; a decoder folds these into
    the query axis.
    """

    source: KeysValues
    """Rows are sentences."""
    source_may_attend: SourceMask
    """Mask of the real tokens of each source."""
    hidden: Float[Tensor, "rows layers parts dim"]
    """Memory of each layer, rows are hypotheses."""
    fed: Float[Tensor, "rows fed_dim"]
    """The last attentional vector, where the next input has it; else of no width."""
    position: int
    """Number of tokens read."""
    sampled_log_probabilities: Float[Tensor, "rows time"] | None = None
    """Log-probabilities of the source positions that the last call drew, for the score-function gradient; else None."""
    rows_per_sentence: int = 1
    place: Int[Tensor, " 1"] | None = None
    """Number of tokens read, where a graph takes the steps (inference/engines/graph_states.py)."""

    def expand(self, rows_per_sentence: int) -> "RecurrentState":
        """See DecoderState."""
        assert self.rows_per_sentence == 1, "a state is expanded once"
        state = self.reorder(_expanded(self.source_may_attend, rows_per_sentence))
        return replace(state, rows_per_sentence=rows_per_sentence)

    def reorder(self, rows: Tensor) -> "RecurrentState":
        """See DecoderState."""
        hidden, fed = self.hidden.index_select(0, rows), self.fed.index_select(0, rows)
        sampled = self.sampled_log_probabilities
        kept = None if sampled is None else sampled.index_select(0, rows)
        return replace(self, hidden=hidden, fed=fed, sampled_log_probabilities=kept)

    def select(self, sentences: Tensor) -> "RecurrentState":
        """See DecoderState."""
        return replace(
            self.reorder(_rows_of(sentences, self.rows_per_sentence)),
            source=self.source.select(sentences),
            source_may_attend=self.source_may_attend.index_select(0, sentences),
        )


def _expanded(sentences: Tensor, rows_per_sentence: int) -> Tensor:
    """Returns the index of each sentence, once for each of its rows."""
    return torch.arange(len(sentences), device=sentences.device).repeat_interleave(rows_per_sentence)


def _rows_of(sentences: Tensor, rows_per_sentence: int) -> Tensor:
    """Returns the indices of all rows of some sentences."""
    within = torch.arange(rows_per_sentence, device=sentences.device)
    return (sentences[:, None] * rows_per_sentence + within).flatten()
