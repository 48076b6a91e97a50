"""Heads, which turn the vectors of a text encoder into outputs, a small one per task, and models of both."""

from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from transduce.base.config import Settings
from transduce.base.ranges import PositiveFloat, PositiveInt, PositiveShare, ShareBelowOne
from transduce.base.shapes import Mask, Tokens
from transduce.models.interface import EncodedText, Pooling, TextEncoder
from transduce.nn.layers import ACTIVATIONS, Dropout
from transduce.nn.places import Place, Places, within
from transduce.nn.ragged import Ragged


class ClassHeadConfig(Settings, frozen=True, tag_field="kind", tag="class"):
    """Settings of a head for the class of a text, or of a pair of texts."""

    labels: tuple[str, ...]
    """Names of the classes."""
    pair: bool = False
    """True if two texts are read together."""
    dropout: ShareBelowOne = 0.1
    """Share of the text's vector dropped."""
    pooling: Pooling = "pooler"
    """Pooling that makes the text's vector."""

    def _check_together(self) -> None:
        _check_labels(self.labels)


class ScoreHeadConfig(Settings, frozen=True, tag_field="kind", tag="score"):
    """Settings of a head for a number of a text, or of a pair of texts."""

    mean: float
    """Mean of the scores in the training data."""
    deviation: PositiveFloat
    """Standard deviation of these scores; the head gives a number of deviations from the mean."""
    pair: bool = False
    """True if two texts are read together."""
    dropout: ShareBelowOne = 0.1
    """Share of the text's vector dropped."""
    pooling: Pooling = "pooler"
    """Pooling that makes the text's vector."""


class TagHeadConfig(Settings, frozen=True, tag_field="kind", tag="tag"):
    """Settings of a head for the tag of each word."""

    labels: tuple[str, ...]
    """Names of the tags: O, B-kind and I-kind for each kind of entity."""
    dropout: ShareBelowOne = 0.1
    """Share of each token's vector dropped."""

    def _check_together(self) -> None:
        _check_labels(self.labels)


class SpanHeadConfig(Settings, frozen=True, tag_field="kind", tag="span"):
    """Settings of a head for the beginning and the end of the answer to a question, in a passage."""

    no_answer: bool = False
    """True if a passage may hold no answer."""
    overlap: PositiveInt = 64
    """Tokens that a window of a long passage shares with the one before."""
    longest_answer: PositiveInt = 30
    """Most tokens of an answer."""


class WordHeadConfig(Settings, frozen=True, tag_field="kind", tag="word"):
    """Settings of a head for masked words, and for one text following another."""

    next_sentence: bool = True
    """True if the model also predicts if the second text follows the first."""
    activation: Literal["relu", "gelu", "gelu_tanh"] = "gelu"
    """Between the two layers before the output; in imported models that of the encoder's layers."""
    norm_epsilon: PositiveShare = 1e-12
    """Added to the variance in the normalisation there."""


NEXT_SENTENCE = ("does not follow", "follows")
"""Meanings of the two logits of next sentences, in their order."""

HeadConfig = ClassHeadConfig | ScoreHeadConfig | TagHeadConfig | SpanHeadConfig | WordHeadConfig
"""The union of all heads' settings, distinguished by `kind`."""


def reads_pooler(head: HeadConfig | None) -> bool:
    """Returns True if a head reads the output of an encoder's pooler."""
    match head:
        case ClassHeadConfig() | ScoreHeadConfig():
            return head.pooling == "pooler"
        case WordHeadConfig():
            return head.next_sentence
        case _:
            return False


class TextHead(nn.Module):
    """Numbers for each text, of its vector."""

    def __init__(self, dim: int, outputs: int, dropout: float, pooling: Pooling) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.output = _linear(dim, outputs)
        self.pooling = pooling

    def forward(self, encoded: EncodedText) -> Float[Tensor, "rows outputs"]:
        """Returns [rows, outputs]."""
        return self.output(self.dropout(encoded.vectors(self.pooling)))


class TokenHead(nn.Module):
    """Numbers for each token, of its vector."""

    def __init__(self, dim: int, outputs: int, dropout: float) -> None:
        super().__init__()
        self.dropout = Dropout(dropout)
        self.output = _linear(dim, outputs)

    def forward(self, encoded: EncodedText) -> Float[Tensor, "rows time outputs"]:
        """Returns [rows, time, outputs]."""
        return self.output(self.dropout(encoded.hidden))


class WordHead(nn.Module):
    """Logits of the vocabulary for masked tokens, by the table of embeddings, and of one text following another."""

    def __init__(self, table: nn.Embedding, config: WordHeadConfig) -> None:
        super().__init__()
        self.activation = ACTIVATIONS[config.activation]
        dim = table.embedding_dim
        self.inner = _linear(dim, dim)
        self.norm = nn.LayerNorm(dim, config.norm_epsilon)
        self.output = nn.Linear(dim, table.num_embeddings)
        self.output.weight = table.weight
        nn.init.zeros_(self.output.bias)
        self.follows = _linear(dim, 2) if config.next_sentence else None

    @torch.no_grad()
    def swap_follows(self) -> None:
        """Exchanges the two logits of next sentences."""
        if self.follows is not None:
            for parameter in (self.follows.weight, self.follows.bias):
                parameter.copy_(parameter.flip(0))

    def before_output(self, hidden: Float[Tensor, "*any dim"]) -> Float[Tensor, "*any dim"]:
        """Returns the vectors of which the output layer makes logits."""
        return self.norm(self.activation(self.inner(hidden)))

    def forward(self, encoded: EncodedText) -> Float[Tensor, "rows time vocabulary"]:
        """Returns logits for each token."""
        return self.output(self.before_output(encoded.hidden))


Head = TextHead | TokenHead | WordHead


def build_head(config: HeadConfig, encoder: TextEncoder) -> Head:
    """Returns a head with fresh weights from torch's global generator; a WordHead shares the encoder's embeddings."""
    match config:
        case ClassHeadConfig():
            return TextHead(encoder.dim, len(config.labels), config.dropout, config.pooling)
        case ScoreHeadConfig():
            return TextHead(encoder.dim, 1, config.dropout, config.pooling)
        case TagHeadConfig():
            return TokenHead(encoder.dim, len(config.labels), config.dropout)
        case SpanHeadConfig():
            return TokenHead(encoder.dim, 2, 0.0)
        case WordHeadConfig():
            return WordHead(encoder.table, config)


class EncoderModel(nn.Module):
    """A text encoder and its head, if any."""

    def __init__(self, encoder: TextEncoder, head: Head | None) -> None:
        super().__init__()
        self.encoder = encoder
        self.head = head

    def forward(self, tokens: Tokens, segments: Tokens, is_real: Mask, rows: Ragged | None = None) -> Tensor:
        """Returns the head's output, [rows, outputs] or [rows, time, outputs]; without a head, hidden vectors."""
        encoded: EncodedText = self.encoder(tokens, segments, is_real, rows)
        return encoded.hidden if self.head is None else self.head(encoded)

    def places(self) -> Places:
        """See Decoder."""
        return within("encoder", self.encoder.places()) | {"logits": Place(self, is_arranged=False)}


def fixed_projection(outputs: Tensor, is_real: Mask) -> Float[Tensor, " rows"]:
    """Returns one number for each row, which changes with any change in the model's outputs, padding left out.

    It is the sum of the outputs, each weighted by the cosine of its number.
    """
    if outputs.dim() == 3:
        outputs = outputs * is_real[..., None]
    flat = outputs.flatten(1).double()
    weights: Float[Tensor, " outputs"] = torch.arange(flat.shape[1], device=flat.device, dtype=flat.dtype).cos()
    return (flat * weights).sum(1)


def _check_labels(labels: tuple[str, ...]) -> None:
    if len(set(labels)) < max(len(labels), 2):
        raise ValueError("labels must be two or more, all different")


def _linear(dim: int, outputs: int) -> nn.Linear:
    layer = nn.Linear(dim, outputs)
    nn.init.normal_(layer.weight, std=0.02)
    nn.init.zeros_(layer.bias)
    return layer
