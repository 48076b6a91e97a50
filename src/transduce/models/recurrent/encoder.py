"""The encoder of the recurrent family."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.base.shapes import Hidden, Mask, Tokens
from transduce.models.interface import Memory
from transduce.nn.initialization import RecurrentInitialization
from transduce.nn.layers import Dropout, layer_list
from transduce.nn.places import Place, Places, places_of_blocks
from transduce.nn.recurrence import BidirectionalEncoder, reverse_real


@dataclass(frozen=True)
class RecurrentMemory(Memory):
    """The encoder's outputs, and its layers' final states."""

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

    def places(self) -> Places:
        """See HasPlaces; embeddings are in the input's order."""
        return {**places_of_blocks(self.blocks), "embedding": Place(self.embedding, is_arranged=False)}

    def arranged_back(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """See Rearranges."""
        return reverse_real(hidden, is_real) if self.reverse_source else hidden

    def forward(self, source: Tokens, is_real: Mask, lengths: Sequence[int] | None = None) -> RecurrentMemory:
        """Returns outputs at the positions of their tokens, in either order of reading; where the lengths of rows are
        given, a GPU is not asked for them."""
        outputs = self.embedding(source)
        if self.reverse_source:
            outputs = reverse_real(outputs, is_real)
        final = []
        for layer in self.layers:
            outputs, last = layer(outputs, is_real, lengths)
            outputs = self.dropout(outputs)
            final.append(last)
        return RecurrentMemory(self.arranged_back(outputs, is_real), is_real, torch.stack(final, 1))


Final = Float[Tensor, "sentences encoder_layers parts encoder_dim"]
First = Float[Tensor, "sentences decoder_layers parts decoder_dim"]


class LinearBridge(nn.Module):
    """tanh(W h) a layer; h is the last state of the encoder's top layer (Bahdanau et al. 2015, appendix A.2.2)."""

    def __init__(
        self, parts: int, encoder_dim: int, layers: int, decoder_dim: int, initialization: RecurrentInitialization
    ) -> None:
        super().__init__()
        self.shape = (layers, parts, decoder_dim)
        self.linear = nn.Linear(parts * encoder_dim, layers * parts * decoder_dim)
        for matrix in self.linear.weight.split(decoder_dim):
            initialization.matrix(matrix)
        nn.init.zeros_(self.linear.bias)

    def forward(self, final: Final) -> First:
        """Returns the decoder's first state for each sentence."""
        return self.linear(final[:, -1].flatten(1)).tanh().unflatten(1, self.shape)  # tanh(W h)


class CopyBridge(nn.Module):
    """Each layer starts from the final state of the encoder's layer of the same number (Sutskever et al. 2014)."""

    def forward(self, final: Final) -> First:
        """Returns the decoder's first state for each sentence."""
        return final


class ZeroBridge(nn.Module):
    """Begins with zeros: the source reaches the decoder by attention alone."""

    def __init__(self, layers: int, decoder_dim: int) -> None:
        super().__init__()
        self.layers, self.decoder_dim = layers, decoder_dim

    def forward(self, final: Final) -> First:
        """Returns the decoder's first state for each sentence."""
        return final.new_zeros(len(final), self.layers, final.shape[2], self.decoder_dim)
