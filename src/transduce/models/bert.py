"""BERT: a Transformer encoder that reads a text, or a pair of texts, from both sides (Devlin et al. 2019)."""

from collections.abc import Sequence
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta
from torch import nn

from transduce.base.config import Settings
from transduce.base.ranges import Layers, PositiveShare, ShareBelowOne, Width
from transduce.base.shapes import Hidden, Mask, Tokens
from transduce.models.interface import EncodedText, TextEncoder
from transduce.models.stack import Parts, StackConfig
from transduce.nn.attention import MultiHeadAttention, split_heads
from transduce.nn.layers import Activation, Dropout, FeedForward, Residual, layer_list
from transduce.nn.packing import Packed, Packing
from transduce.nn.positions import LearnedPositions, Span
from transduce.nn.ragged import Ragged, RowsApart

Size = Literal["tiny", "mini", "small", "medium", "base", "large"]


class Sizes(NamedTuple):
    """Sizes of an encoder."""

    layers: int
    dim: int
    heads: int
    feed_forward_dim: int


SIZES: dict[str, Sizes] = {  # the small ones are those of Turc et al. 2019
    "tiny": Sizes(2, 128, 2, 512),
    "mini": Sizes(4, 256, 4, 1024),
    "small": Sizes(4, 512, 8, 2048),
    "medium": Sizes(8, 512, 8, 2048),
    "base": Sizes(12, 768, 12, 3072),
    "large": Sizes(24, 1024, 16, 4096),
}


class BertConfig(Settings, frozen=True, tag_field="kind", tag="bert"):
    """Sizes and choices of a BERT encoder: one of its sizes by name, or layers, dim and heads."""

    size: Size | None = None
    """tiny, mini, small, medium, base or large: 2 to 24 layers, 128 to 1,024 wide; the next four override it."""
    layers: Layers | None = None
    """Layers of self-attention."""
    dim: Width | None = None
    """Width of embeddings and layers."""
    heads: Width | None = None
    """Attention heads; dim must be a multiple."""
    feed_forward_dim: Width | None = None
    """Width between the two layers of a feed-forward network; default: the size's, or four times dim."""
    activation: Activation = "gelu"
    """Function in feed-forward networks; gelu_tanh is gelu approximated by tanh, as GPT-2 does, silu is Marian's swish,
    and geglu is gated, with a third matrix."""
    max_positions: Annotated[int, Meta(ge=4, le=1_000_000)] = 512
    """Rows of the table of learned positions: the most tokens of a text, special ones included."""
    segments: Annotated[int, Meta(ge=1, le=1000)] = 2
    """Rows of the table of segments, of which the first of two texts has one and the second the next."""
    pooler: bool = True
    """True if the vector of a whole text is made by a layer of its own, or is that of its first token."""
    norm_epsilon: PositiveShare = 1e-12
    """Added to the variance in layer normalisation."""
    dropout: ShareBelowOne = 0.1
    """Dropout rate of embeddings and of each sublayer's output, 0 to 1."""
    attention_dropout: ShareBelowOne = 0.1
    """Share of the attention weights dropped."""

    def _check_together(self) -> None:
        if self.size is None and None in (self.layers, self.dim, self.heads):
            raise ValueError(f"give size ({', '.join(SIZES)}), or layers, dim and heads")
        sizes = self.sizes
        if sizes.dim % sizes.heads:
            raise ValueError(f"dim {sizes.dim} is not a multiple of heads {sizes.heads}")

    @property
    def sizes(self) -> Sizes:
        """Sizes by the name of a size and the settings that override it."""
        named = SIZES[self.size] if self.size is not None else None
        layers, dim, heads = (
            given or (getattr(named, name) if named else 0)
            for name, given in (("layers", self.layers), ("dim", self.dim), ("heads", self.heads))
        )
        inner = named.feed_forward_dim if named and self.dim is None else 4 * dim
        return Sizes(layers, dim, heads, self.feed_forward_dim or inner)

    @property
    def stack(self) -> StackConfig:
        """The settings that its layers share with other stacks."""
        sizes = self.sizes
        return StackConfig(
            dim=sizes.dim,
            heads=sizes.heads,
            feed_forward_dim=sizes.feed_forward_dim,
            activation=self.activation,
            norm="post",
            scale_embeddings=False,
            dropout=self.dropout,
            attention_dropout=self.attention_dropout,
            activation_dropout=0.0,
            initialization="bert",
        )


def build_bert(config: BertConfig, vocabulary: int) -> "Bert":
    """Returns a BERT encoder with fresh weights from torch's global generator, for a number of tokens."""
    sizes, parts = config.sizes, Parts(config.stack, config.sizes.layers, config.norm_epsilon)
    start = parts.initialization
    segments = nn.Embedding(config.segments, sizes.dim)
    start.embedding(segments.weight)
    positions = LearnedPositions(config.max_positions, sizes.dim, start)
    embedding = BertEmbedding(parts.token_table(vocabulary), segments, positions, parts.norm(), Dropout(config.dropout))
    layers = [
        PackedLayer(parts.attention(), parts.feed_forward(), parts.residual(), parts.residual())
        for _ in range(sizes.layers)
    ]
    return Bert(embedding, layers, parts.pooler() if config.pooler else None)


class Bert(TextEncoder):
    """Embeddings, layers of self-attention, and a vector of the whole text from its first token; see TextEncoder.

    Padding is not computed: layers see the real tokens in one row, and only attention sees rows.
    """

    def __init__(self, embedding: "BertEmbedding", layers: list["PackedLayer"], pooler: nn.Linear | None) -> None:
        super().__init__()
        self.embedding = embedding
        self.layers = layer_list(layers)
        self.pooler = pooler

    @property
    def limit(self) -> int | None:
        """The rows of the table of positions."""
        return self.embedding.positions.limit

    @property
    def table(self) -> nn.Embedding:
        """See TextEncoder."""
        return self.embedding.table

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See TextEncoder."""
        return [self.embedding, *self.layers]

    def arranged_back(self, hidden: Packed, is_real: Mask) -> Hidden:
        """See Rearranges."""
        return Packing.of(is_real).spread(hidden)

    def forward(self, tokens: Tokens, segments: Tokens, is_real: Mask, rows: Ragged | None = None) -> EncodedText:
        """See TextEncoder."""
        packing = Packing.of(is_real, rows)
        hidden = self.embedding(tokens, segments, packing)
        for layer in self.layers:
            hidden = layer(hidden, packing)
        return self.pooled(packing.spread(hidden), is_real)


class BertEmbedding(nn.Module):
    """Vectors of tokens, of the texts that they belong to and of their positions: their sum, normalised."""

    def __init__(
        self,
        table: nn.Embedding,
        segments: nn.Embedding,
        positions: LearnedPositions,
        norm: nn.Module,
        dropout: Dropout,
    ) -> None:
        super().__init__()
        self.table = table
        self.segments = segments
        self.positions = positions
        self.norm = norm
        self.dropout = dropout

    def forward(self, tokens: Tokens, segments: Tokens, packing: Packing) -> Packed:
        """Returns the vectors of real tokens, [1, tokens, dim], of [rows, time]."""
        summed: Hidden = self.positions(self.table(tokens) + self.segments(segments), Span(0, tokens.shape[1]))
        return self.dropout(self.norm(packing.pack(summed)))


class PackedLayer(nn.Module):
    """Self-attention within each row, then a feed-forward network, of real tokens in one row."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: FeedForward,
        around_attention: Residual,
        around_feed_forward: Residual,
    ) -> None:
        super().__init__()
        self.attention = attention
        self.feed_forward = feed_forward
        self.around_attention = around_attention
        self.around_feed_forward = around_feed_forward

    def forward(self, hidden: Packed, packing: Packing) -> Packed:
        """Maps [1, tokens, dim] to the same shape."""

        def attend(x: Packed) -> Packed:
            part = self.attention
            queries, known = part.query(x), part.key_value(x)
            if packing.rows is not None and part.takes_ragged:
                may_attend = RowsApart(packing.rows, packing.rows)
                return part(split_heads(queries, part.heads), part.split(known), may_attend)
            contexts = [
                block.pack(
                    part.attend(
                        split_heads(block.spread(queries), part.heads),
                        part.split(block.spread(known)),
                        block.may_attend,
                    )
                )
                for block in packing.blocks
            ]
            return part.output(packing.joined(contexts))

        hidden = self.around_attention(hidden, attend)
        return self.around_feed_forward(hidden, self.feed_forward)
