"""The one table of model families: what `model.kind` may say, and who builds it."""

from torch import nn

from transduce.models.bert import BertConfig, build_bert
from transduce.models.causal import CausalTransformerConfig, build_causal_transformer
from transduce.models.heads import EncoderModel, HeadConfig, build_head
from transduce.models.recurrent.config import RecurrentConfig
from transduce.models.recurrent.language import RecurrentLanguageConfig, build_recurrent_language
from transduce.models.recurrent.model import build_recurrent
from transduce.models.transformer import TransformerConfig, build_transformer
from transduce.models.transformer_xl import TransformerXLConfig, build_transformer_xl

EncoderDecoderConfig = TransformerConfig | RecurrentConfig
"""Families that read a source and write a target, told apart by `kind`."""

LanguageModelConfig = CausalTransformerConfig | TransformerXLConfig | RecurrentLanguageConfig
"""Families that go on with a text."""

EncoderConfig = BertConfig
"""Families that read a text, on which a head stands."""

ModelConfig = EncoderDecoderConfig | LanguageModelConfig | BertConfig
"""The union of all families' settings."""


def build_model(
    config: ModelConfig, source_vocabulary: int, target_vocabulary: int, head: HeadConfig | None = None
) -> nn.Module:
    """A model with fresh weights from torch's global generator; vocabularies are counts of tokens. Only encoders of
    texts may have a head."""
    match config:
        case TransformerConfig():
            return build_transformer(config, source_vocabulary, target_vocabulary)
        case RecurrentConfig():
            return build_recurrent(config, source_vocabulary, target_vocabulary)
        case CausalTransformerConfig():
            return build_causal_transformer(config, target_vocabulary)
        case TransformerXLConfig():
            return build_transformer_xl(config, target_vocabulary)
        case RecurrentLanguageConfig():
            return build_recurrent_language(config, target_vocabulary)
        case BertConfig():
            return build_encoder_model(config, target_vocabulary, head)


def build_encoder_model(config: EncoderConfig, vocabulary: int, head: HeadConfig | None) -> EncoderModel:
    """An encoder with a head, if any, with fresh weights from torch's global generator."""
    encoder = build_bert(config, vocabulary)
    return EncoderModel(encoder, None if head is None else build_head(head, encoder))
