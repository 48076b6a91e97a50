"""The encoder of the recurrent family."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.models.interface import Memory
from transduce.nn.layers import Dropout, layer_list
from transduce.nn.recurrence import BidirectionalEncoder, reverse_real
from transduce.shapes import Hidden, Mask, Tokens


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoder's outputs, and what its layers remember at their ends."""

    final: Float[Tensor, "sentences layers parts memory_dim"]


class RecurrentEncoder(nn.Module):
    """Layers of recurrent units over the source, each reading the outputs of the one below."""

    def __init__(
        self, embedding: nn.Module, layers: list[BidirectionalEncoder], dropout: Dropout, reverse_source: bool
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.dropout = dropout
        self.reverse_source = reverse_source

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""
        return [self.embedding, *self.layers]

    def arranged_back(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """See Rearranges."""
        return reverse_real(hidden, is_real) if self.reverse_source else hidden

    def forward(self, source: Tokens, is_real: Mask) -> RecurrentMemory:
        """Outputs stand at the positions of their tokens, in whatever order these were read."""
        outputs = self.embedding(source)
        if self.reverse_source:
            outputs = reverse_real(outputs, is_real)
        final = []
        for layer in self.layers:
            outputs, last = layer(outputs, is_real)
            outputs = self.dropout(outputs)
            final.append(last)
        return RecurrentMemory(self.arranged_back(outputs, is_real), is_real, torch.stack(final, 1))
