"""The Transformer: an encoder and a decoder made of attention (Vaswani et al. 2017)."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

import torch
from torch import nn

from transduce.base.errors import ConfigError
from transduce.base.ranges import Layers, NonNegativeInt
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
from transduce.models.tying import Tie, token_tables
from transduce.nn.attention import AnyMask, KeysValues, MultiHeadAttention
from transduce.nn.cache import Cache
from transduce.nn.layers import FeedForward, Residual, layer_list
from transduce.nn.masks import SourceMask, padding_mask
from transduce.nn.positions import Rotary, Span
from transduce.nn.ragged import Ragged, RaggedHidden, RaggedTokens, RowsApart
from transduce.nn.self_attention import SelfAttention
from transduce.nn.ssru import SSRU, Cell
from transduce.nn.state import AttentionState


class TransformerConfig(PositionedStackConfig, frozen=True, tag_field="kind", tag="transformer"):
    """Sizes and choices of a Transformer; the defaults are the paper's base model, normalised before sublayers."""

    encoder_layers: Layers = 6
    """Layers of the encoder."""
    decoder_layers: Layers = 6
    """Layers of the decoder."""
    tie: Tie = "target"
    """Share one matrix: target embeddings with the output layer, or both of these with the source embeddings."""
    output_bias: bool = False
    """Give an output layer that shares its matrix a bias, as Marian does; one of its own always has a bias."""
    first_token: NonNegativeInt | None = None
    """The number of a token that the decoder reads before each target, as M2M100 and NLLB do; none by default."""
    decoder_start: Literal["token", "zeros"] = "token"
    """The decoder's first input: the embedding of the token that begins a text, or zeros, as Marian has it."""
    decoder_recurrence: Literal["none", "ssru"] = "none"
    """A recurrence in place of the decoder's self-attention: ssru (Kim et al. 2019), which remembers one vector a layer
    instead of all positions, so that translating takes fewer steps' time; for small models with few decoder layers."""

    def _check_together(self) -> None:
        PositionedStackConfig._check_together(self)
        if self.first_token is not None and self.decoder_start == "zeros":
            raise ValueError('first_token and decoder_start = "zeros" exclude each other; leave one of them out')


def build_transformer(config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> "Transformer":
    """Returns a Transformer with fresh weights from torch's global generator; vocabularies are counts of tokens."""
    if config.first_token is not None and config.first_token >= target_vocabulary:
        raise ConfigError(
            f"model.first_token = {config.first_token}, but the target has {target_vocabulary} tokens, numbered from 0"
        )
    parts = Parts(config, config.encoder_layers + config.decoder_layers)
    source_table, target_table = token_tables(config.tie, source_vocabulary, target_vocabulary, parts.token_table)
    if config.tie == "none":
        output = nn.Linear(config.dim, target_vocabulary)
        parts.initialization.matrix(output.weight)
        nn.init.zeros_(output.bias)
    else:
        output = nn.Linear(config.dim, target_vocabulary, bias=config.output_bias)
        output.weight = target_table.weight
        if config.output_bias:
            nn.init.zeros_(output.bias)
    rotary = rotary_positions(config)
    encoder_layers = [parts.self_attention_layer(rotary) for _ in range(config.encoder_layers)]
    decoder_layers = [_decoder_layer(config, parts, rotary) for _ in range(config.decoder_layers)]
    of_source, of_target = (
        parts.embedding(table, position_encoding(config, parts.initialization), starts_with_zeros)
        for table, starts_with_zeros in ((source_table, False), (target_table, config.decoder_start == "zeros"))
    )
    encoder = TransformerEncoder(of_source, encoder_layers, parts.final_norm())
    decoder = TransformerDecoder(of_target, decoder_layers, parts.final_norm(), output, config.first_token)
    return Transformer(encoder, decoder)


def _decoder_layer(
    config: TransformerConfig, parts: Parts, rotary: Rotary | None
) -> "DecoderLayer | RecurrentDecoderLayer":
    reads_target = parts.self_attention(rotary) if config.decoder_recurrence == "none" else parts.ssru()
    rest = (parts.attention(), parts.feed_forward(), [parts.residual() for _ in range(3)])
    if isinstance(reads_target, SSRU):
        return RecurrentDecoderLayer(reads_target, *rest)
    return DecoderLayer(reads_target, *rest)


class Transformer(EncoderDecoder[AttentionState]):
    """An encoder and a decoder; see models/interface.py for their contracts."""

    decoder: "TransformerDecoder"

    def __init__(self, encoder: "TransformerEncoder", decoder: "TransformerDecoder") -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder

    @property
    def source_limit(self) -> int | None:
        """The rows of a learned table of source positions, else None."""
        return self.encoder.embedding.positions.limit

    @property
    def target_limit(self) -> int | None:
        """The rows of a learned table of target positions, without that of a first token, else None."""
        limit = self.decoder.embedding.positions.limit
        return limit if limit is None or self.decoder.first_token is None else limit - 1

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Reads the source sentences."""
        return Memory(self.encoder(source, is_real), is_real)

    def start(self, memory: Memory) -> AttentionState:
        """Projects the memory once for all steps to come."""
        return self.decoder.start(memory)

    @property
    def takes_ragged(self) -> bool:
        """See ReadsRagged."""
        return self.decoder.first_token is None and self.decoder.layers[0].cross_attention.takes_ragged

    def read_ragged(
        self, source: RaggedTokens, of_source: Ragged, target: RaggedTokens, of_target: Ragged
    ) -> RaggedHidden:
        """See ReadsRagged."""
        memory = self.encoder.embedding(source, of_source)  # [1, source tokens, dim]
        for layer in self.encoder.layers:
            memory = layer.read_whole(memory, RowsApart(of_source, of_source), of_source)
        return self.decoder.read_ragged(target, of_target, self.encoder.norm(memory), of_source)


class TransformerEncoder(nn.Module):
    """Layers of self-attention over the whole source."""

    def __init__(self, embedding: Embedding, layers: list[SelfAttentionLayer], norm: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.norm = norm

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See Layered."""
        return [self.embedding, *self.layers]

    def forward(self, source: Tokens, is_real: Mask) -> Hidden:
        """Returns [sentences, time, dim]; vectors at padding mean nothing."""
        return self.read(self.embedding(source, Span(0, source.shape[1])), is_real)

    def read(self, hidden: Hidden, is_real: Mask) -> Hidden:
        """Runs the layers on embedded tokens, [sentences, time, dim]."""
        may_attend = padding_mask(is_real)  # [sentences, 1, 1, time]
        for layer in self.layers:
            hidden = layer.read_whole(hidden, may_attend)  # [sentences, time, dim]
        return self.norm(hidden)


class TransformerDecoder(Decoder[AttentionState]):
    """Layers of attention to the target so far and to the source, and the output layer."""

    embedding: Embedding
    layers: Sequence["DecoderLayer | RecurrentDecoderLayer"]
    output: nn.Linear

    def __init__(
        self,
        embedding: Embedding,
        layers: Sequence["DecoderLayer | RecurrentDecoderLayer"],
        norm: nn.Module,
        output: nn.Linear,
        first_token: int | None = None,
    ) -> None:
        super().__init__()
        self.first_token = first_token
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.norm = norm
        self.output = output

    def start(self, memory: Memory) -> AttentionState:
        """Returns a state that has read nothing, or the token that comes before each target."""
        source = tuple(layer.cross_attention.project(memory.hidden) for layer in self.layers)
        cache = tuple(layer.empty_cache(memory.hidden) for layer in self.layers)
        state = AttentionState(source, padding_mask(memory.is_real), cache, position=0)
        if self.first_token is None:
            return state
        first = torch.full((len(memory.is_real), 1), self.first_token, device=memory.is_real.device)
        return self.read(first, state)[1]

    def read(self, tokens: Tokens, state: AttentionState) -> tuple[Hidden, AttentionState]:
        """See Decoder."""
        # embed the tokens at the positions after those that the state has read
        span = state.span(tokens.shape[1])
        embedded = self.embedding(tokens, span)  # [rows, time, dim]
        # each may attend to itself and to all before it
        may_attend, past = state.extend(span)  # [rows, 1, queries, keys]
        # hypotheses of a sentence that share its cache are one row, their queries in one axis
        hidden = embedded.view(state.cache[0].rows, -1, embedded.shape[-1])
        caches = []
        for layer, source, cache in zip(self.layers, state.source, state.cache, strict=True):
            hidden, cache = layer(hidden, span, may_attend, cache, source, state.source_may_attend)
            caches.append(cache)
        # the state keeps the keys and values of these tokens for the next call
        return self.norm(hidden).view_as(embedded), state.advance(tuple(caches), span.time, past)

    def read_ragged(
        self, target: RaggedTokens, of_target: Ragged, memory: RaggedHidden, of_source: Ragged
    ) -> RaggedHidden:
        """See ReadsRagged; the memory is the encoder's output."""
        hidden = self.embedding(target, of_target)  # [1, target tokens, dim]
        before, source = RowsApart(of_target, of_target, is_causal=True), RowsApart(of_target, of_source)
        for layer in self.layers:
            cache, projected = layer.empty_cache(hidden), layer.cross_attention.project(memory)
            hidden, _ = layer(hidden, of_target, before, cache, projected, source)
        return self.norm(hidden)


class DecoderLayer(nn.Module):
    """Self-attention to earlier positions, attention to the source, then a feed-forward network."""

    def __init__(
        self,
        attention: SelfAttention,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residuals: list[Residual],
    ) -> None:
        super().__init__()
        self.attention = attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_attention, self.around_cross_attention, self.around_feed_forward = residuals

    def empty_cache(self, like: Hidden) -> Cache:
        """Returns the cache before the first position."""
        return self.attention.empty_cache(like)

    def forward(
        self,
        hidden: Hidden,
        at: Span | Ragged,
        may_attend: AnyMask | None,
        cache: Cache,
        source: KeysValues,
        source_may_attend: SourceMask | RowsApart,
    ) -> tuple[Hidden, Cache]:
        """Maps [rows, time, dim] to the same shape; returns also the cache with these positions' keys and values."""

        def attend_to_target(x: Hidden) -> Hidden:
            nonlocal cache
            x, cache = self.attention(x, at, may_attend, cache)
            return x

        # x + self-attention(norm(x))  [rows, time, dim], with pre-norm; likewise below
        hidden = self.around_attention(hidden, attend_to_target)
        # x + cross-attention(norm(x), source)
        to_source = partial(_attend_to_source, self.cross_attention, source, source_may_attend)
        hidden = self.around_cross_attention(hidden, to_source)
        # x + feed-forward(norm(x))
        return self.around_feed_forward(hidden, self.feed_forward), cache


class RecurrentDecoderLayer(nn.Module):
    """A recurrence over earlier positions, attention to the source, then a feed-forward network."""

    def __init__(
        self,
        recurrence: SSRU,
        cross_attention: MultiHeadAttention,
        feed_forward: FeedForward,
        residuals: list[Residual],
    ) -> None:
        super().__init__()
        self.recurrence = recurrence
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.around_recurrence, self.around_cross_attention, self.around_feed_forward = residuals

    def empty_cache(self, like: Hidden) -> Cell:
        """Returns the memory before the first position."""
        return self.recurrence.empty_cell(like)

    def forward(
        self,
        hidden: Hidden,
        at: Span | Ragged,
        may_attend: AnyMask | None,
        cell: Cell,
        source: KeysValues,
        source_may_attend: SourceMask | RowsApart,
    ) -> tuple[Hidden, Cell]:
        """Maps [rows, time, dim] to the same shape; returns also the memory after these positions.

        A recurrence needs no mask: a row is one hypothesis, and its memory holds none of its future.
        """

        def remember(x: Hidden) -> Hidden:
            nonlocal cell
            x, cell = self.recurrence(x, at, cell)
            return x

        hidden = self.around_recurrence(hidden, remember)
        to_source = partial(_attend_to_source, self.cross_attention, source, source_may_attend)
        hidden = self.around_cross_attention(hidden, to_source)
        return self.around_feed_forward(hidden, self.feed_forward), cell


def _attend_to_source(
    attention: MultiHeadAttention, source: KeysValues, may_attend: SourceMask | RowsApart, hidden: Hidden
) -> Hidden:
    # all hypotheses of a sentence attend to the same keys: their queries are one axis
    folded = hidden.view(len(source.keys), -1, hidden.shape[-1])  # [sentences, rows_per_sentence * time, dim]
    return attention(attention.queries(folded), source, may_attend).view_as(hidden)
