"""Decoders that end in an output layer, which an objective may apply for itself where and when it needs logits."""

from abc import ABC, abstractmethod
from typing import Generic

from torch import nn

from transduce.models.interface import State
from transduce.shapes import Hidden, Logits, Tokens


class ProjectingDecoder(nn.Module, ABC, Generic[State]):
    """A Decoder (see models/interface.py) in two steps: what it reads, and the projection of that to the vocabulary."""

    output: nn.Linear

    @abstractmethod
    def read(self, tokens: Tokens, state: State) -> tuple[Hidden, State]:
        """What the output layer makes logits of, for the token after each of `tokens`, and the state after the last."""

    def forward(self, tokens: Tokens, state: State) -> tuple[Logits, State]:
        """See Decoder."""
        hidden, state = self.read(tokens, state)
        return self.output(hidden), state
