"""Parts of every Transformer: the settings that its stacks share, embeddings, and a layer of self-attention."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from msgspec import Meta
from torch import nn
from torch.nn import functional

from transduce.base.config import Settings
from transduce.base.ranges import ShareBelowOne, Width
from transduce.base.shapes import Hidden, Tokens
from transduce.nn.adaptive import AdaptiveEmbedding
from transduce.nn.attention import AnyMask, MultiHeadAttention
from transduce.nn.cache import Cache
from transduce.nn.initialization import Initialization, InitializationKind
from transduce.nn.layers import (
    NORMS,
    Activation,
    Dropout,
    FeedForward,
    NormKind,
    NormPlace,
    Residual,
    VariationalDropout,
    WordDropout,
)
from transduce.nn.positions import LearnedPositions, NoPositions, Positions, Rotary, SinusoidalPositions, Span
from transduce.nn.ragged import Ragged
from transduce.nn.relative_attention import RelativeSelfAttention
from transduce.nn.self_attention import SelfAttention
from transduce.nn.ssru import SSRU


class StackConfig(Settings, frozen=True):
    """Settings of all stacks of attention layers; the defaults are those of the paper's base model, pre-norm."""

    dim: Width = 512
    """Width of embeddings and layers."""
    heads: Width = 8
    """Attention heads."""
    key_dim: Width | None = None
    """Size of queries and keys in each head (default: dim / heads)."""
    value_dim: Width | None = None
    """Size of values in each head (default: dim / heads)."""
    feed_forward_dim: Width = 2048
    """Width between the two layers of a feed-forward network."""
    activation: Activation = "relu"
    """Function in feed-forward networks; gelu_tanh is gelu approximated by tanh, as GPT-2 does, silu is Marian's swish,
    and geglu is gated, with a third matrix."""
    norm: NormPlace = "pre"
    """Normalisation before each sublayer and at the end of a stack (pre), or after each residual sum (post)."""
    norm_kind: NormKind = "layer"
    """Layer normalisation, or RMSNorm (rms, Zhang and Sennrich 2019), which neither subtracts the mean nor adds a
    bias."""
    scale_embeddings: bool = True
    """Multiply embeddings by sqrt(dim)."""
    dropout: ShareBelowOne = 0.1
    """Dropout rate, 0 to 1; the next four override it."""
    embedding_dropout: ShareBelowOne | None = None
    """Dropout rate of the embedded input."""
    attention_dropout: ShareBelowOne | None = None
    """Share of the attention weights dropped."""
    activation_dropout: ShareBelowOne | None = None
    """Share of a feed-forward network's inner layer dropped."""
    residual_dropout: ShareBelowOne | None = None
    """Share of each sublayer's output dropped."""
    initialization: InitializationKind = "scaled"
    """Xavier for all, Xavier with N(0, 1/dim) for embeddings (scaled), BERT's, or GPT-2's."""

    def _check_together(self) -> None:
        if self.dim % self.heads and (self.key_dim is None or self.value_dim is None):
            raise ValueError(f"dim {self.dim} is not a multiple of heads {self.heads}: set key_dim and value_dim")

    @property
    def size_of_key(self) -> int:
        """Size of queries and keys in each head."""
        return self.key_dim or self.dim // self.heads

    @property
    def size_of_value(self) -> int:
        """Size of values in each head."""
        return self.value_dim or self.dim // self.heads


class PositionedStackConfig(StackConfig, frozen=True):
    """Settings of stacks whose tokens have positions."""

    positions: Literal["sinusoidal", "concatenated", "marian", "fairseq", "learned", "rotary", "none"] = "sinusoidal"
    """Position encoding; concatenated: sinusoidal with all sines before all cosines, as transformers' MarianMT has it;
    marian: the same with the wavelengths of Marian itself; fairseq: as marian, from position 2 on, as M2M100 and NLLB
    have it."""
    kv_heads: Width | None = None
    """Heads of keys and values, each shared by a group of heads of queries (grouped-query attention, Ainslie et al.
    2023), which makes the states of steps smaller; heads must be a multiple (default: heads)."""
    max_positions: Annotated[int, Meta(ge=1, le=1_000_000)] = 1024
    """Rows of each table of learned positions: the most tokens of a sentence, its end token included."""
    retired: ClassVar = {"layer_dropout": 0.0}

    def _check_together(self) -> None:
        StackConfig._check_together(self)
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise ValueError(f"heads {self.heads} is not a multiple of kv_heads {self.kv_heads}")
        if self.positions == "rotary" and self.size_of_key % 2:
            raise ValueError(f"rotary positions need an even key_dim, not {self.size_of_key}")
        if self.positions in ("marian", "fairseq") and (self.dim % 2 or self.dim < 4):
            raise ValueError(f"{self.positions}'s positions need an even dim of 4 or more, not {self.dim}")


class SelfAttentionLayer(nn.Module):
    """Self-attention, then a feed-forward network."""

    def __init__(self, attention: SelfAttention, feed_forward: FeedForward, residuals: list[Residual]) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention, self.around_feed_forward = residuals

    def forward(
        self, hidden: Hidden, at: Span | Ragged, may_attend: AnyMask | None, cache: Cache
    ) -> tuple[Hidden, Cache]:
        """Maps [rows, time, dim] to the same shape; returns also the cache with these positions' keys and values."""

        def attend(x: Hidden) -> Hidden:
            nonlocal cache
            x, cache = self.attention(x, at, may_attend, cache)
            return x

        # x + self-attention(norm(x))  [rows, time, dim], with pre-norm
        hidden = self.around_attention(hidden, attend)
        # x + feed-forward(norm(x))
        return self.around_feed_forward(hidden, self.feed_forward), cache

    def read_whole(self, hidden: Hidden, may_attend: AnyMask | None, at: Span | Ragged | None = None) -> Hidden:
        """Maps [rows, time, dim] of whole sequences to the same shape."""
        return self(hidden, at or Span(0, hidden.shape[1]), may_attend, self.attention.empty_cache(hidden))[0]


class Embedding(nn.Module):
    """Token embeddings with scale, positions and dropout."""

    def __init__(
        self,
        table: nn.Embedding,
        scale: float,
        positions: Positions,
        dropout: Dropout,
        starts_with_zeros: bool = False,
    ) -> None:
        super().__init__()
        self.table = table
        self.scale = scale
        self.positions = positions
        self.dropout = dropout
        self.starts_with_zeros = starts_with_zeros
        """True if the vector of the first token, whichever it is, is zero before its position is added."""

    def forward(self, tokens: Tokens, at: Span | Ragged) -> Hidden:
        """Returns [rows, time, dim] of tokens at these positions."""
        embedded = self.table(tokens)
        if self.scale != 1:
            embedded = embedded * self.scale  # keeps embeddings as large as positions (section 3.4)
        if self.starts_with_zeros:
            embedded = _without_first(embedded, at)
        return self.dropout(self.positions(embedded, at))


def _without_first(embedded: Hidden, at: Span | Ragged) -> Hidden:
    """Returns the vectors with zeros at the first position of each row."""
    if isinstance(at, Ragged):
        return embedded * (at.positions > 0)[:, None]
    if at.on_device is not None:
        return embedded * (at.on_device.position > 0)
    return functional.pad(embedded[:, 1:], (0, 0, 1, 0)) if at.start == 0 else embedded


class TextEmbedding(nn.Module):
    """Token embeddings with scale and dropout; positions are known to other parts of the model."""

    def __init__(
        self,
        table: nn.Embedding | AdaptiveEmbedding,
        scale: float,
        word_dropout: WordDropout,
        dropout: Dropout | VariationalDropout,
    ) -> None:
        super().__init__()
        self.table = table
        self.scale = scale
        self.word_dropout = word_dropout
        self.dropout = dropout

    def forward(self, tokens: Tokens) -> Hidden:
        """Returns the embeddings, [rows, time, dim]."""
        return self.dropout(self.word_dropout(self.table(tokens) * self.scale, tokens))


@dataclass(frozen=True)
class Parts:
    """Makes the parts of a model's stacks, with fresh weights from torch's global generator."""

    config: StackConfig
    layers: int
    """Layers of all stacks together, by which some initializations scale."""
    norm_epsilon: float = 1e-5
    """Added to the variance in normalisation."""

    @property
    def initialization(self) -> Initialization:
        """Initialisation of the weights."""
        return Initialization(self.config.initialization, self.layers)

    def token_table(self, vocabulary: int) -> nn.Embedding:
        """Returns a table with a vector for each token of a vocabulary."""
        table = nn.Embedding(vocabulary, self.config.dim)
        self.initialization.embedding(table.weight)
        return table

    def embedding(self, table: nn.Embedding, positions: Positions, starts_with_zeros: bool = False) -> Embedding:
        """Returns embeddings of tokens with positions."""
        config = self.config
        scale = config.dim**0.5 if config.scale_embeddings else 1.0
        return Embedding(table, scale, positions, Dropout(self.rate(config.embedding_dropout)), starts_with_zeros)

    def output(self, table: nn.Embedding, tie: bool) -> nn.Linear:
        """Returns the layer that makes logits, without a bias: with the matrix of the embeddings if they are tied."""
        output = nn.Linear(self.config.dim, table.num_embeddings, bias=False)
        if tie:
            output.weight = table.weight
        else:
            self.initialization.matrix(output.weight)
        return output

    def attention(self) -> MultiHeadAttention:
        """Returns an attention with as many heads as the settings say."""
        config = self.config
        dropout = self.rate(config.attention_dropout)
        sizes = (config.dim, config.heads, config.size_of_key, config.size_of_value)
        kv_heads = config.kv_heads if isinstance(config, PositionedStackConfig) else None
        return MultiHeadAttention(*sizes, dropout, self.initialization, kv_heads=kv_heads)

    def relative_attention(self) -> RelativeSelfAttention:
        """Returns an attention of a sequence to itself and to earlier positions, by distances."""
        config = self.config
        sizes = (config.dim, config.heads, config.size_of_key, config.size_of_value)
        return RelativeSelfAttention(*sizes, self.rate(config.attention_dropout), self.initialization)

    def self_attention(self, rotary: Rotary | None) -> SelfAttention:
        """Returns an attention of a sequence to itself, with rotary positions."""
        return SelfAttention(self.attention(), rotary)

    def ssru(self) -> SSRU:
        """Returns a recurrence in place of a decoder's self-attention."""
        return SSRU(self.config.dim, self.initialization)

    def feed_forward(self) -> FeedForward:
        """Returns the feed-forward network of a layer."""
        config = self.config
        dropout = self.rate(config.activation_dropout)
        return FeedForward(config.dim, config.feed_forward_dim, config.activation, dropout, self.initialization)

    def norm(self) -> nn.Module:
        """Returns a normalisation of vectors as wide as the layers."""
        return NORMS[self.config.norm_kind](self.config.dim, self.norm_epsilon)

    def residual(self) -> Residual:
        """Returns the connection that adds a sublayer's output to its input."""
        return Residual(self.norm(), self.config.norm, self.rate(self.config.residual_dropout))

    def final_norm(self) -> nn.Module:
        """Returns the normalisation of the last layer's output; none where each sum has been normalised."""
        return self.norm() if self.config.norm == "pre" else nn.Identity()

    def self_attention_layer(self, rotary: Rotary | None) -> SelfAttentionLayer:
        """Returns a layer of self-attention and a feed-forward network."""
        residuals = [self.residual() for _ in range(2)]
        return SelfAttentionLayer(self.self_attention(rotary), self.feed_forward(), residuals)

    def pooler(self) -> nn.Linear:
        """Returns the layer that makes the vector of a text from that of one of its tokens."""
        layer = nn.Linear(self.config.dim, self.config.dim)
        self.initialization.matrix(layer.weight)
        nn.init.zeros_(layer.bias)
        return layer

    def rate(self, special: float | None) -> float:
        """Returns a rate of dropout: a special one, else that of the settings."""
        return self.config.dropout if special is None else special


def position_encoding(config: PositionedStackConfig, initialization: Initialization) -> Positions:
    """Returns the position encoding that is added to embeddings, as the settings say."""
    match config.positions:
        case "sinusoidal" | "concatenated" | "marian" | "fairseq":
            return SinusoidalPositions(config.dim, config.positions)
        case "learned":
            return LearnedPositions(config.max_positions, config.dim, initialization)
        case "rotary" | "none":
            return NoPositions()


def rotary_positions(config: PositionedStackConfig) -> Rotary | None:
    """Returns the rotary positions of queries and keys in all layers; None if the settings say otherwise."""
    return Rotary(config.size_of_key) if config.positions == "rotary" else None
