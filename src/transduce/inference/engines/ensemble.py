"""An ensemble: several models as one, whose probabilities are the mean of theirs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from transduce.base.errors import InputError
from transduce.base.shapes import Logits, Mask, Tokens
from transduce.inference.engines.exported import Model
from transduce.models.interface import Memory, Writer
from transduce.nn.state import DecoderState


@dataclass(frozen=True)
class EnsembleMemory(Memory):
    """Each model's memory of the same source; `hidden` is the first model's."""

    members: tuple[Memory, ...]


@dataclass(frozen=True)
class EnsembleState:
    """The state of each model."""

    members: tuple[DecoderState, ...]

    def expand(self, rows_per_sentence: int) -> "EnsembleState":
        """See DecoderState."""
        return EnsembleState(tuple(state.expand(rows_per_sentence) for state in self.members))

    def reorder(self, rows: Tensor) -> "EnsembleState":
        """See DecoderState."""
        return EnsembleState(tuple(state.reorder(rows) for state in self.members))

    def select(self, sentences: Tensor) -> "EnsembleState":
        """See DecoderState."""
        return EnsembleState(tuple(state.select(sentences) for state in self.members))


class Ensemble:
    """Models of one source and one target vocabulary, of any families; see models/interface.py for its promises."""

    def __init__(self, models: Sequence[Writer[Any]]) -> None:
        self.models = tuple(models)
        self.source_limit = min((m.source_limit for m in models if m.source_limit is not None), default=None)
        """The smallest limit of the models."""
        self.target_limit = min((m.target_limit for m in models if m.target_limit is not None), default=None)
        """The smallest limit of the models."""

    def encode(self, source: Tokens, is_real: Mask) -> EnsembleMemory:
        """Reads the source sentences with each model."""
        members = tuple(model.encode(source, is_real) for model in self.models)
        return EnsembleMemory(members[0].hidden, is_real, members)

    def start(self, memory: Memory) -> EnsembleState:
        """Returns all models' states before the first target token."""
        assert isinstance(memory, EnsembleMemory), "an ensemble's"
        states = [model.start(member) for model, member in zip(self.models, memory.members, strict=True)]
        return EnsembleState(tuple(states))

    def decoder(self, tokens: Tokens, state: EnsembleState) -> tuple[Logits, EnsembleState]:
        """Returns the logarithm of the mean probability of each next token."""
        outputs = [model.decoder(tokens, member) for model, member in zip(self.models, state.members, strict=True)]
        each = [
            logits.float().log_softmax(-1) for logits, _ in outputs
        ]  # log p of each model: [rows, time, vocabulary]
        mean = torch.stack(each).logsumexp(0) - math.log(len(each))  # log of the mean of p: [rows, time, vocabulary]
        return mean, EnsembleState(tuple(member for _, member in outputs))


def check_alike(first: Model, other: Model, number: int) -> None:
    """Raises InputError unless both models read and write the same tokens."""
    for side in ("source", "target"):
        if getattr(first.tokenizers, side).content != getattr(other.tokenizers, side).content:
            raise InputError(
                f"model {number} of the ensemble has another {side} tokenizer than the first; all must have the same: "
                "train them on the same text with the same [tokenizer]"
            )
    contexts = [each.config.context for each in (first, other)]
    read = [None if context is None else (context.before, context.side) for context in contexts]
    if first.config.languages != other.config.languages or read[0] != read[1]:
        raise InputError(
            f"model {number} of the ensemble has other directions or another context than the first; all must be alike"
        )
