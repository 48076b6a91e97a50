"""Sizes and choices of recurrent encoder-decoders."""

from typing import Literal

from transduce.base.config import Settings
from transduce.base.errors import InputError
from transduce.base.ranges import Layers, PositiveFloat, ShareBelowOne, Width
from transduce.models.recurrent.recurrent_attention import AttentionConfig, BahdanauAttentionConfig, NoAttentionConfig
from transduce.models.tying import Tie
from transduce.nn.initialization import RecurrentInitializationKind
from transduce.nn.recurrence import CellKind
from transduce.nn.scores import SCORES


class RecurrentConfig(Settings, frozen=True, tag_field="kind", tag="recurrent"):
    """Sizes and choices of a recurrent encoder-decoder; the defaults are a small form of Bahdanau's."""

    cell: CellKind = "gru"
    """The unit: gru (Cho et al. 2014) or lstm (Hochreiter and Schmidhuber 1997)."""
    encoder_layers: Layers = 1
    """Layers of the encoder."""
    decoder_layers: Layers = 1
    """Layers of the decoder."""
    dim: Width = 256
    """Width of embeddings, and of the readout before the output layer."""
    encoder_dim: Width = 256
    """Width of each direction of the encoder."""
    decoder_dim: Width = 512
    """Width of the decoder's layers."""
    bidirectional: bool = True
    """The encoder reads forwards and backwards, else in one direction."""
    reverse_source: bool = False
    """Read the source in reverse order (Sutskever et al. 2014)."""
    attention: AttentionConfig = BahdanauAttentionConfig()
    """Attention mechanism."""
    bridge: Literal["linear", "copy", "zero"] = "linear"
    """The decoder's first state: a layer's tanh of the encoder's last, that state itself, or zeros."""
    tie: Tie = "target"
    """Share one matrix: target embeddings with the output layer, or both of these with the source embeddings."""
    dropout: ShareBelowOne = 0.1
    """Dropout rate, 0 to 1; the next three override it."""
    embedding_dropout: ShareBelowOne | None = None
    """Share of the embedded tokens dropped."""
    layer_dropout: ShareBelowOne | None = None
    """Share of each recurrent layer's outputs dropped, on the way to what reads them."""
    readout_dropout: ShareBelowOne | None = None
    """Share of the readout dropped; Luong's attentional vector is one."""
    initialization: RecurrentInitializationKind = "orthogonal"
    """All weights uniform, or matrices from state to state orthogonal and others Xavier."""
    uniform_bound: PositiveFloat | None = None
    """The largest weight that the uniform initialisation draws (default: 0.08)."""

    def _check_together(self) -> None:
        if self.uniform_bound is not None and self.initialization != "uniform":
            raise ValueError("uniform_bound is for initialization = uniform alone")
        if self.bidirectional and self.reverse_source:
            raise ValueError("reverse_source is for an encoder of one direction: set bidirectional = false")
        if self.bridge == "copy" and (self.encoder_layers, self.memory_dim) != (self.decoder_layers, self.decoder_dim):
            raise ValueError(
                f"bridge = copy needs layers and widths that agree, but the encoder has {self.encoder_layers} x "
                f"{self.memory_dim} (directions times encoder_dim), the decoder {self.decoder_layers} x "
                f"{self.decoder_dim}; change them, or set bridge = linear"
            )
        if self.bridge == "zero" and self.attention == NoAttentionConfig(thought="start"):
            raise ValueError("bridge = zero without attention keeps the source from the decoder; choose another bridge")
        score = getattr(self.attention, "score", None)
        if score is not None and score not in SCORES.others:
            try:
                SCORES.find(score).check(self.decoder_dim, self.memory_dim)
            except InputError as error:
                raise ValueError(str(error)) from None
        if score == "dot" and self.memory_dim != self.decoder_dim:
            raise ValueError(
                f"the dot score needs decoder_dim, {self.decoder_dim}, to be the encoder's width, {self.memory_dim} "
                "(directions times encoder_dim); change one, or choose the score general"
            )

    @property
    def memory_dim(self) -> int:
        """Width of the encoder's output: one direction's, or both concatenated."""
        return self.encoder_dim * (2 if self.bidirectional else 1)
