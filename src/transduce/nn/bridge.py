"""Bridges: a recurrent decoder's first state, made of the encoder's last."""

from jaxtyping import Float
from torch import Tensor, nn

from transduce.nn.initialization import RecurrentInitialization

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
        """A first state for each sentence."""
        return self.linear(final[:, -1].flatten(1)).tanh().unflatten(1, self.shape)


class CopyBridge(nn.Module):
    """Each layer goes on where the encoder's layer of the same number ended (Sutskever et al. 2014)."""

    def forward(self, final: Final) -> First:
        """A first state for each sentence."""
        return final


class ZeroBridge(nn.Module):
    """Begins with zeros: the source reaches the decoder by attention alone."""

    def __init__(self, layers: int, decoder_dim: int) -> None:
        super().__init__()
        self.layers, self.decoder_dim = layers, decoder_dim

    def forward(self, final: Final) -> First:
        """A first state for each sentence."""
        return final.new_zeros(len(final), self.layers, final.shape[2], self.decoder_dim)
