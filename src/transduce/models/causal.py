"""The decoder half of a Transformer alone: a model of running text (Radford et al. 2018)."""

from collections.abc import Sequence
from typing import Literal

from torch import nn

from transduce.base.ranges import Layers
from transduce.base.shapes import Hidden, Mask, Tokens
from transduce.models.interface import Decoder, EncoderDecoder, Memory
from transduce.models.stack import (
    Embedding,
    Parts,
    PositionedStackConfig,
    SelfAttentionLayer,
    position_encoding,
    rotary_positions,
)
from transduce.nn.initialization import InitializationKind
from transduce.nn.layers import Activation, layer_list
from transduce.nn.masks import padding_mask
from transduce.nn.state import AttentionState


class CausalTransformerConfig(PositionedStackConfig, frozen=True, tag_field="kind", tag="causal-transformer"):
    """Sizes and choices of a decoder-only Transformer, pre-norm by default."""

    layers: Layers = 6
    """Layers of the decoder."""
    activation: Activation = "gelu"
    """Function in feed-forward networks; gelu_tanh is gelu approximated by tanh, as GPT-2 does, silu is Marian's swish,
    and geglu is gated, with a third matrix."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "rotary"
    """Position encoding."""
    scale_embeddings: bool = False
    """Multiply embeddings by sqrt(dim)."""
    tie: bool = True
    """Share one matrix between embeddings and the output layer."""
    initialization: InitializationKind = "gpt2"
    """Xavier for all, Xavier with N(0, 1/dim) for embeddings (scaled), BERT's, or GPT-2's."""


def build_causal_transformer(config: CausalTransformerConfig, vocabulary: int) -> "CausalTransformer":
    """Returns a decoder-only Transformer with fresh weights from torch's global generator, for a number of tokens."""
    parts = Parts(config, config.layers)
    table = parts.token_table(vocabulary)
    output = parts.output(table, config.tie)
    rotary = rotary_positions(config)
    layers = [parts.self_attention_layer(rotary) for _ in range(config.layers)]
    embedding = parts.embedding(table, position_encoding(config, parts.initialization))
    decoder = CausalDecoder(embedding, layers, parts.final_norm(), output)
    return CausalTransformer(decoder)


class CausalTransformer(EncoderDecoder[AttentionState]):
    """A decoder without a source; see models/interface.py for its contract."""

    decoder: "CausalDecoder"

    def __init__(self, decoder: "CausalDecoder") -> None:
        super().__init__()
        self.decoder = decoder

    @property
    def target_limit(self) -> int | None:
        """The rows of a learned table of positions, else None."""
        return self.decoder.embedding.positions.limit

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Returns an empty memory for each row."""
        weight = self.decoder.embedding.table.weight
        return Memory.empty(len(source), weight.shape[1], weight)

    def start(self, memory: Memory) -> AttentionState:
        """Returns a state that has read nothing."""
        cache = tuple(layer.attention.empty_cache(memory.hidden) for layer in self.decoder.layers)
        return AttentionState((), padding_mask(memory.is_real), cache, position=0)


class CausalDecoder(Decoder[AttentionState]):
    """Layers of attention to the text so far, and the output layer."""

    embedding: Embedding
    layers: Sequence[SelfAttentionLayer]

    def __init__(
        self,
        embedding: Embedding,
        layers: list[SelfAttentionLayer],
        norm: nn.Module,
        output: nn.Linear,
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.norm = norm
        self.output = output

    def read(self, tokens: Tokens, state: AttentionState) -> tuple[Hidden, AttentionState]:
        """See Decoder."""
        span = state.span(tokens.shape[1])
        embedded = self.embedding(tokens, span)
        may_attend, past = state.extend(span)
        hidden = embedded.view(state.cache[0].rows, -1, embedded.shape[-1])  # queries of a cache's row in one axis
        caches = []
        for layer, cache in zip(self.layers, state.cache, strict=True):
            hidden, cache = layer(hidden, span, may_attend, cache)
            caches.append(cache)
        return self.norm(hidden).view_as(embedded), state.advance(tuple(caches), span.time, past)
