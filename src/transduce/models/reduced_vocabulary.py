"""A trained model that writes only some tokens, numbered anew, so that its output layer computes no others."""

from dataclasses import dataclass, replace
from typing import Generic

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from transduce.base.shapes import Logits, Tokens
from transduce.models.interface import Decoder, Memory, State, Writer
from transduce.nn.linear import outputs_of


@dataclass(frozen=True)
class NarrowState(Generic[State]):
    """The state of the model itself, and the tokens that each sentence may write."""

    inner: State
    penalty: Float[Tensor, "sentences tokens"]
    """0 for tokens that the sentence may write, else -inf."""

    def expand(self, rows_per_sentence: int) -> "NarrowState[State]":
        """See DecoderState."""
        return replace(self, inner=self.inner.expand(rows_per_sentence))

    def reorder(self, rows: Tensor) -> "NarrowState[State]":
        """See DecoderState."""
        return replace(self, inner=self.inner.reorder(rows))

    def select(self, sentences: Tensor) -> "NarrowState[State]":
        """See DecoderState."""
        return NarrowState(self.inner.select(sentences), self.penalty[sentences])


class ReducedVocabularyModel(Generic[State]):
    """A model of a subset of target tokens, numbered by their index among those kept; see models/interface.py.

    Logits of tokens that a sentence may not write are -inf, so that its probabilities depend on no other sentence.

    Args:
        model: has a decoder that ends in an output layer.
        kept: the model's numbers of the tokens.
        allowed: which of them each sentence may write.
    """

    def __init__(
        self,
        model: Writer[State],
        kept: Int[Tensor, " tokens"],
        allowed: Bool[Tensor, "sentences tokens"],
    ) -> None:
        assert isinstance(model.decoder, Decoder)
        self.model = model
        self.kept = kept
        self.penalty = torch.zeros(allowed.shape, device=allowed.device).masked_fill(~allowed, -torch.inf)
        self.source_limit = model.source_limit
        self.target_limit = model.target_limit
        self.encode = model.encode
        self.read = model.decoder.read
        self.project = outputs_of(model.decoder.output, kept)

    def start(self, memory: Memory) -> NarrowState[State]:
        """Returns the model's state before the first target token."""
        return NarrowState(self.model.start(memory), self.penalty)

    def decoder(self, tokens: Tokens, state: NarrowState[State]) -> tuple[Logits, NarrowState[State]]:
        """Returns the model's logits for the tokens kept."""
        hidden, inner = self.read(self.kept[tokens], state.inner)
        logits = self.project(hidden)
        by_sentence = logits.unflatten(0, (len(state.penalty), -1))  # [sentences, rows, time, tokens]
        by_sentence += state.penalty[:, None, None]
        return logits, replace(state, inner=inner)
