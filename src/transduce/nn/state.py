"""What a decoder remembers between calls: one part a source sentence, one part a hypothesis."""

from dataclasses import dataclass, replace
from typing import Protocol, TypeVar, runtime_checkable

import torch
from torch import Tensor

from transduce.nn.attention import KeysValues
from transduce.nn.masks import SourceMask

Same = TypeVar("Same", bound="DecoderState")  # typing.Self cannot be checked while tests run


@runtime_checkable
class DecoderState(Protocol):
    """A started decoder's memory; a state that was passed to a call is consumed and must not be used again."""

    def expand(self: Same, rows_per_sentence: int) -> Same:
        """As many rows for each sentence, all alike, those of one sentence side by side."""
        ...

    def reorder(self: Same, rows: Tensor) -> Same:
        """The hypotheses of the given rows, in that order; each must stay with its own sentence."""
        ...

    def select(self: Same, sentences: Tensor) -> Same:
        """The given sentences with all their rows, in that order."""
        ...


@dataclass(frozen=True)
class AttentionState:
    """The state of a stack of attention layers: projected source, and keys and values of all earlier positions.

    The source is never copied for the hypotheses of a sentence; a decoder folds them into the query axis.
    """

    source: tuple[KeysValues, ...]
    """One a layer, rows are sentences."""
    source_may_attend: SourceMask
    """Which tokens of each source are real."""
    cache: tuple[KeysValues, ...]
    """One a layer, rows are hypotheses."""
    rows_per_sentence: int = 1

    @property
    def position(self) -> int:
        """How many tokens have been read."""
        return self.cache[0].keys.shape[2]

    def expand(self, rows_per_sentence: int) -> "AttentionState":
        """See DecoderState."""
        sentences = torch.arange(len(self.source_may_attend), device=self.source_may_attend.device)
        assert self.rows_per_sentence == 1, "a state is expanded once"
        rows = sentences.repeat_interleave(rows_per_sentence)
        cache = tuple(layer.select(rows) for layer in self.cache)
        return replace(self, cache=cache, rows_per_sentence=rows_per_sentence)

    def reorder(self, rows: Tensor) -> "AttentionState":
        """See DecoderState."""
        return replace(self, cache=tuple(layer.select(rows) for layer in self.cache))

    def select(self, sentences: Tensor) -> "AttentionState":
        """See DecoderState."""
        within = torch.arange(self.rows_per_sentence, device=sentences.device)
        rows = (sentences[:, None] * self.rows_per_sentence + within).flatten()
        return replace(
            self,
            source=tuple(layer.select(sentences) for layer in self.source),
            source_may_attend=self.source_may_attend.index_select(0, sentences),
            cache=tuple(layer.select(rows) for layer in self.cache),
        )
