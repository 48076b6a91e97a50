"""The Transformer's encoder as a reader of texts, drawn for it or taken from a translation model."""

from collections.abc import Sequence

from torch import nn

from transduce.base.ranges import Layers
from transduce.base.shapes import Mask, Tokens
from transduce.models.interface import EncodedText, TextEncoder
from transduce.models.stack import Parts, PositionedStackConfig, position_encoding, rotary_positions
from transduce.models.transformer import TransformerConfig, TransformerEncoder
from transduce.nn.positions import Span
from transduce.nn.ragged import Ragged


class TransformerEncoderConfig(PositionedStackConfig, frozen=True, tag_field="kind", tag="transformer-encoder"):
    """Sizes and choices of a Transformer's encoder that reads texts; the defaults are those of a translation model."""

    layers: Layers = 6
    """Layers of self-attention."""

    @staticmethod
    def of(config: TransformerConfig) -> "TransformerEncoderConfig":
        """Returns the settings of a translation model's encoder."""
        shared = {name: getattr(config, name) for name in PositionedStackConfig.__struct_fields__}
        return TransformerEncoderConfig(layers=config.encoder_layers, **shared)


def build_transformer_encoder(
    config: TransformerEncoderConfig, vocabulary: int, has_pooler: bool
) -> "TransformerTextEncoder":
    """Returns an encoder with fresh weights from torch's global generator, for a number of tokens."""
    parts = Parts(config, config.layers)
    embedding = parts.embedding(parts.token_table(vocabulary), position_encoding(config, parts.initialization))
    rotary = rotary_positions(config)
    layers = [parts.self_attention_layer(rotary) for _ in range(config.layers)]
    encoder = TransformerEncoder(embedding, layers, parts.final_norm())
    return read_texts_with(config, encoder, has_pooler)


def read_texts_with(
    config: TransformerEncoderConfig, encoder: TransformerEncoder, has_pooler: bool
) -> "TransformerTextEncoder":
    """Returns a text reader with the encoder's weights; those of the second of two texts begin as the first's."""
    segments = nn.Embedding(2, config.dim)
    nn.init.zeros_(segments.weight)
    pooler = Parts(config, config.layers).pooler() if has_pooler else None
    return TransformerTextEncoder(encoder, segments, pooler)


class TransformerTextEncoder(TextEncoder):
    """Reads whole texts with a Transformer's encoder; see TextEncoder. A text's vector is made of its first token's."""

    def __init__(self, encoder: TransformerEncoder, segments: nn.Embedding, pooler: nn.Linear | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.segments = segments
        self.pooler = pooler

    @property
    def limit(self) -> int | None:
        """The rows of a learned table of positions, else None."""
        return self.encoder.embedding.positions.limit

    @property
    def table(self) -> nn.Embedding:
        """See TextEncoder."""
        return self.encoder.embedding.table

    @property
    def blocks(self) -> Sequence[nn.Module]:
        """See TextEncoder."""
        return self.encoder.blocks

    def forward(self, tokens: Tokens, segments: Tokens, is_real: Mask, rows: Ragged | None = None) -> EncodedText:
        """See TextEncoder."""
        embedded = self.encoder.embedding(tokens, Span(0, tokens.shape[1])) + self.segments(segments)
        return self.pooled(self.encoder.read(embedded, is_real), is_real)
