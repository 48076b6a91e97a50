"""The table of model families: the values of `model.kind`, and the functions that build them."""

from typing import Any

from torch import nn

from transduce.base.config import Settings
from transduce.base.errors import ConfigError
from transduce.models.bert import BertConfig, build_bert
from transduce.models.causal import CausalTransformerConfig, build_causal_transformer
from transduce.models.heads import EncoderModel, HeadConfig, build_head, reads_pooler
from transduce.models.interface import EncoderDecoder, TextEncoder
from transduce.models.recurrent.language import RecurrentLanguageConfig, build_recurrent_language
from transduce.models.recurrent.model import build_recurrent
from transduce.models.recurrent.recurrent_config import RecurrentConfig
from transduce.models.stack import Parts
from transduce.models.transformer import Transformer, TransformerConfig, build_transformer
from transduce.models.transformer_encoder import (
    TransformerEncoderConfig,
    build_transformer_encoder,
    read_texts_with,
)
from transduce.models.transformer_xl import TransformerXLConfig, build_transformer_xl
from transduce.models.xlnet import XLNetConfig, XLNetEncoder, XLNetLanguageModel, build_xlnet, build_xlnet_encoder


class PhrasesConfig(Settings, frozen=True, tag_field="kind", tag="phrases"):
    """A phrase-based model (Koehn, Och and Marcu 2003), for hundreds to some thousands of sentence pairs: learned in
    seconds, it translates better than a neural model of so little text."""


EncoderDecoderConfig = TransformerConfig | RecurrentConfig | PhrasesConfig
"""Families that read a source and write a target, distinguished by `kind`."""

LanguageModelConfig = CausalTransformerConfig | TransformerXLConfig | XLNetConfig | RecurrentLanguageConfig
"""Families that continue a text."""

EncoderConfig = BertConfig | XLNetConfig | TransformerEncoderConfig
"""Families that read a text, for a head; an XLNet without a head continues a text."""

ModelConfig = EncoderDecoderConfig | LanguageModelConfig | EncoderConfig
"""The union of all families' settings."""


def build_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, head: HeadConfig | None = None
) -> EncoderDecoder[Any] | EncoderModel:
    """Returns a model with fresh weights from torch's global generator; vocabularies are counts of tokens. Only
    encoders of texts may have a head."""
    match config:
        case TransformerConfig():
            return build_transformer(config, source_vocabulary, target_vocabulary)
        case RecurrentConfig():
            return build_recurrent(config, source_vocabulary, target_vocabulary)
        case CausalTransformerConfig():
            return build_causal_transformer(config, target_vocabulary)
        case TransformerXLConfig():
            return build_transformer_xl(config, target_vocabulary)
        case XLNetConfig() if head is None:
            return build_xlnet(config, target_vocabulary)
        case RecurrentLanguageConfig():
            return build_recurrent_language(config, target_vocabulary)
        case PhrasesConfig():
            raise ConfigError('model.kind = "phrases" has no weights to train by gradients; use a neural family here')
        case BertConfig() | XLNetConfig() | TransformerEncoderConfig():
            return build_encoder_model(config, target_vocabulary, head)


def build_encoder_model(config: EncoderConfig, vocabulary: int, head: HeadConfig | None) -> EncoderModel:
    """Returns an encoder with a head, if any, with fresh weights from torch's global generator."""
    encoder: TextEncoder
    match config:
        case BertConfig():
            encoder = build_bert(config, vocabulary)
        case XLNetConfig():
            encoder = build_xlnet_encoder(config, vocabulary, reads_pooler(head))
        case TransformerEncoderConfig():
            encoder = build_transformer_encoder(config, vocabulary, reads_pooler(head))
    return EncoderModel(encoder, None if head is None else build_head(head, encoder))


def encoder_of(config: EncoderConfig, model: nn.Module, head: HeadConfig) -> TextEncoder:
    """Returns the encoder of a model that was trained for something else, with what a head reads of it.

    Raises ConfigError for a model without an encoder of texts.
    """
    encoder: TextEncoder
    match model, config:
        case EncoderModel(), _:
            encoder = model.encoder
        case XLNetLanguageModel(), XLNetConfig():
            encoder = XLNetEncoder(model.decoder.stack, None)
        case Transformer(), TransformerEncoderConfig():
            encoder = read_texts_with(config, model.encoder, has_pooler=False)
        case _:
            raise ConfigError(f"model: a {type(model).__name__} has no encoder of texts")
    if isinstance(config, XLNetConfig | TransformerEncoderConfig):
        if not reads_pooler(head):
            encoder.pooler = None
        elif encoder.pooler is None:
            encoder.pooler = Parts(config, config.layers).pooler()
    return encoder


def encoder_limit(config: EncoderConfig) -> int | None:
    """Returns the most tokens that an encoder with these settings reads at once; None for no limit."""
    match config:
        case BertConfig():
            return config.max_positions
        case XLNetConfig():
            return None
        case TransformerEncoderConfig():
            return config.max_positions if config.positions == "learned" else None
