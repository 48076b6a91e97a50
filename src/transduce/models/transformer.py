"""The Transformer: an encoder and a decoder made of attention (Vaswani et al. 2017)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal, cast

from msgspec import Meta
from torch import nn

from transduce.config import Settings
from transduce.errors import ConfigError
from transduce.models.interface import Memory
from transduce.models.projecting import ProjectingDecoder
from transduce.nn.attention import KeysValues, MultiHeadAttention
from transduce.nn.cache import Cache
from transduce.nn.initialization import Initialization, InitializationKind
from transduce.nn.layers import Activation, Dropout, FeedForward, NormPlace, Residual
from transduce.nn.masks import AttentionMask, SourceMask, padding_mask
from transduce.nn.positions import LearnedPositions, NoPositions, Positions, Rotary, SinusoidalPositions
from transduce.nn.self_attention import SelfAttention, Span
from transduce.nn.state import AttentionState
from transduce.ranges import Layers, ShareBelowOne, Width
from transduce.shapes import Hidden, Mask, Tokens


class TransformerConfig(Settings, frozen=True, tag_field="kind", tag="transformer"):
    """Sizes and choices of a Transformer; the defaults are the paper's base model, normalised before sublayers."""

    encoder_layers: Layers = 6
    """Layers of the encoder."""
    decoder_layers: Layers = 6
    """Layers of the decoder."""
    dim: Width = 512
    """Width of embeddings and layers."""
    heads: Width = 8
    """Attention heads."""
    key_dim: Width | None = None
    """Size of queries and keys in each head; dim / heads unless given."""
    value_dim: Width | None = None
    """Size of values in each head; dim / heads unless given."""
    inner_dim: Width = 2048
    """Width between the two layers of a feed-forward network."""
    activation: Activation = "relu"
    """In feed-forward networks: relu, gelu, or gated (GEGLU, with a third matrix)."""
    norm: NormPlace = "before"
    """Layer normalisation before each sublayer (and at the end of both stacks), or after each residual sum."""
    positions: Literal["sinusoidal", "learned", "rotary", "none"] = "sinusoidal"
    """How the order of tokens is told."""
    max_positions: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024
    """Rows of each table of learned positions: the most tokens of a sentence, its end token included."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(dim)."""
    tie: Literal["none", "target", "all"] = "target"
    """Share one matrix: target embeddings with the output layer, or both of these with the source embeddings."""
    dropout: ShareBelowOne = 0.1
    """Share dropped, 0 to 1, wherever the next four do not say otherwise."""
    embedding_dropout: ShareBelowOne | None = None
    """Share of the embedded input dropped."""
    attention_dropout: ShareBelowOne | None = None
    """Share of the attention weights dropped."""
    activation_dropout: ShareBelowOne | None = None
    """Share of a feed-forward network's inner layer dropped."""
    residual_dropout: ShareBelowOne | None = None
    """Share of each sublayer's output dropped."""
    initialization: InitializationKind = "scaled"
    """Xavier for all, Xavier with N(0, 1/dim) for embeddings (scaled), or GPT-2's (small)."""

    def _check_together(self) -> None:
        if self.dim % self.heads and (self.key_dim is None or self.value_dim is None):
            raise ValueError(f"dim {self.dim} is not a multiple of heads {self.heads}: set key_dim and value_dim")
        if self.positions == "rotary" and self.size_of_key % 2:
            raise ValueError(f"rotary positions need an even key_dim, not {self.size_of_key}")

    @property
    def size_of_key(self) -> int:
        """Size of queries and keys in each head."""
        return self.key_dim or self.dim // self.heads

    @property
    def size_of_value(self) -> int:
        """Size of values in each head."""
        return self.value_dim or self.dim // self.heads


def build_transformer(config: TransformerConfig, source_vocabulary: int, target_vocabulary: int) -> "Transformer":
    """A Transformer with fresh weights from torch's global generator; vocabularies are counts of tokens."""
    if config.tie == "all" and source_vocabulary != target_vocabulary:
        raise ConfigError(
            f'model.tie = "all" shares one matrix, but the source has {source_vocabulary} tokens and the target '
            f'{target_vocabulary}; set tokenizer.shared = true or model.tie = "target"'
        )
    source_table = _token_table(config, source_vocabulary)
    target_table = source_table if config.tie == "all" else _token_table(config, target_vocabulary)
    if config.tie == "none":
        output = nn.Linear(config.dim, target_vocabulary)
        _initialization(config).matrix(output.weight)
        nn.init.zeros_(output.bias)
    else:
        output = nn.Linear(config.dim, target_vocabulary, bias=False)
        output.weight = target_table.weight
    encoder_layers = [
        EncoderLayer(_self_attention(config), _feed_forward(config), [_residual(config) for _ in range(2)])
        for _ in range(config.encoder_layers)
    ]
    decoder_layers = [
        DecoderLayer(
            _self_attention(config), _attention(config), _feed_forward(config), [_residual(config) for _ in range(3)]
        )
        for _ in range(config.decoder_layers)
    ]
    encoder = TransformerEncoder(_embedding(config, source_table), encoder_layers, _final_norm(config))
    decoder = TransformerDecoder(_embedding(config, target_table), decoder_layers, _final_norm(config), output)
    return Transformer(encoder, decoder)


class Transformer(nn.Module):
    """An encoder and a decoder; see models/interface.py for what they promise."""

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
        """The rows of a learned table of target positions, else None."""
        return self.decoder.embedding.positions.limit

    def encode(self, source: Tokens, is_real: Mask) -> Memory:
        """Read the source sentences."""
        return Memory(self.encoder(source, is_real), is_real)

    def start(self, memory: Memory) -> AttentionState:
        """Project the memory once for all steps to come."""
        return self.decoder.start(memory)


class TransformerEncoder(nn.Module):
    """Layers of self-attention over the whole source."""

    def __init__(self, embedding: "Embedding", layers: list["EncoderLayer"], norm: nn.Module) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = cast(Sequence[EncoderLayer], nn.ModuleList(layers))
        self.norm = norm

    def forward(self, source: Tokens, is_real: Mask) -> Hidden:
        """[sentences, time, dim]; what stands at padding means nothing."""
        hidden = self.embedding(source, start=0)
        may_attend = padding_mask(is_real)
        for layer in self.layers:
            hidden = layer(hidden, may_attend)
        return self.norm(hidden)


class EncoderLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, attention: SelfAttention, feed_forward: FeedForward, residuals: list[Residual]) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention, self.around_feed_forward = residuals

    def forward(self, hidden: Hidden, may_attend: AttentionMask) -> Hidden:
        """[sentences, time, dim] to the same shape."""
        hidden = self.around_attention(
            hidden, lambda x: self.attention(x, Span(0, x.shape[1]), may_attend, self.attention.empty_cache(x))[0]
        )
        return self.around_feed_forward(hidden, self.feed_forward)


class TransformerDecoder(ProjectingDecoder[AttentionState]):
    """Layers of attention to the target so far and to the source, and the output layer."""

    def __init__(
        self, embedding: "Embedding", layers: list["DecoderLayer"], norm: nn.Module, output: nn.Linear
    ) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = cast(Sequence[DecoderLayer], nn.ModuleList(layers))
        self.norm = norm
        self.output = output

    def start(self, memory: Memory) -> AttentionState:
        """A state that has read nothing."""
        source = tuple(layer.cross_attention.project(memory.hidden) for layer in self.layers)
        cache = tuple(layer.attention.empty_cache(memory.hidden) for layer in self.layers)
        return AttentionState(source, padding_mask(memory.is_real), cache, position=0)

    def read(self, tokens: Tokens, state: AttentionState) -> tuple[Hidden, AttentionState]:
        """See ProjectingDecoder."""
        start, time = state.position, tokens.shape[1]
        embedded = self.embedding(tokens, start)
        may_attend, past = state.extend(time)
        hidden = embedded.view(state.cache[0].rows, -1, embedded.shape[-1])  # queries of a cache's row side by side
        caches = []
        for layer, source, cache in zip(self.layers, state.source, state.cache, strict=True):
            hidden, cache = layer(hidden, Span(start, time), may_attend, cache, source, state.source_may_attend)
            caches.append(cache)
        after = replace(state, cache=tuple(caches), position=start + time, past=past)
        return self.norm(hidden).view_as(embedded), after


class DecoderLayer(nn.Module):
    """Self-attention to what came before, attention to the source, then a feed-forward network."""

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

    def forward(
        self,
        hidden: Hidden,
        span: Span,
        may_attend: AttentionMask | None,
        cache: Cache,
        source: KeysValues,
        source_may_attend: SourceMask,
    ) -> tuple[Hidden, Cache]:
        """[rows, time, dim] to the same shape, and the cache with these positions' keys and values."""

        def attend_to_target(x: Hidden) -> Hidden:
            nonlocal cache
            x, cache = self.attention(x, span, may_attend, cache)
            return x

        def attend_to_source(x: Hidden) -> Hidden:
            sentences = len(source_may_attend)
            folded = x.view(sentences, -1, x.shape[-1])  # [sentences, rows_per_sentence * time, dim]
            queries = self.cross_attention.queries(folded)
            return self.cross_attention(queries, source, source_may_attend).view_as(x)

        hidden = self.around_attention(hidden, attend_to_target)
        hidden = self.around_cross_attention(hidden, attend_to_source)
        return self.around_feed_forward(hidden, self.feed_forward), cache


class Embedding(nn.Module):
    """Vectors of tokens, scaled, told their positions, and dropped in part."""

    def __init__(self, table: nn.Embedding, scale: float, positions: Positions, dropout: Dropout) -> None:
        super().__init__()
        self.table = table
        self.scale = scale
        self.positions = positions
        self.dropout = dropout

    def forward(self, tokens: Tokens, start: int) -> Hidden:
        """[rows, time, dim] of tokens that stand at positions start, start + 1, ..."""
        embedded = self.table(tokens)
        if self.scale != 1:
            embedded = embedded * self.scale  # keeps embeddings as large as positions (section 3.4)
        return self.dropout(self.positions(embedded, start))


def _initialization(config: TransformerConfig) -> Initialization:
    return Initialization(config.initialization, config.encoder_layers + config.decoder_layers)


def _rate(special: float | None, config: TransformerConfig) -> float:
    return config.dropout if special is None else special


def _token_table(config: TransformerConfig, vocabulary: int) -> nn.Embedding:
    table = nn.Embedding(vocabulary, config.dim)
    _initialization(config).embedding(table.weight)
    return table


def _embedding(config: TransformerConfig, table: nn.Embedding) -> Embedding:
    positions: Positions
    match config.positions:
        case "sinusoidal":
            positions = SinusoidalPositions(config.dim)
        case "learned":
            positions = LearnedPositions(config.max_positions, config.dim, _initialization(config))
        case "rotary" | "none":
            positions = NoPositions()
    scale = config.dim**0.5 if config.scale_embeddings else 1.0
    return Embedding(table, scale, positions, Dropout(_rate(config.embedding_dropout, config)))


def _attention(config: TransformerConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        config.dim,
        config.heads,
        config.size_of_key,
        config.size_of_value,
        _rate(config.attention_dropout, config),
        _initialization(config),
    )


def _self_attention(config: TransformerConfig) -> SelfAttention:
    rotary = Rotary(config.size_of_key) if config.positions == "rotary" else None
    return SelfAttention(_attention(config), rotary)


def _feed_forward(config: TransformerConfig) -> FeedForward:
    dropout = _rate(config.activation_dropout, config)
    return FeedForward(config.dim, config.inner_dim, config.activation, dropout, _initialization(config))


def _residual(config: TransformerConfig) -> Residual:
    return Residual(config.dim, config.norm, _rate(config.residual_dropout, config))


def _final_norm(config: TransformerConfig) -> nn.Module:
    return nn.LayerNorm(config.dim) if config.norm == "before" else nn.Identity()
