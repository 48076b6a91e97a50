"""M2M100 (Fan et al. 2021) and NLLB (NLLB Team 2022): Transformers that translate many languages into each other."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.bundle_config import FORMAT, BundleConfig
from transduce.corpora.directions import MANY, LanguageTokens
from transduce.errors import InputError
from transduce.exchange.huggingface.family import Family, unlike
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import from_vocabulary
from transduce.exchange.huggingface.m2m100_tokenizers import (
    BEGIN,
    END,
    PADDING,
    language_tokens,
    read_tokenizers,
    write_tokenizers,
)
from transduce.exchange.huggingface.marian import ACTIVATIONS, BUFFERS, COPIES, read_search, same_layers, write_layers
from transduce.exchange.huggingface.weights import Same, linear
from transduce.models.transformer import TransformerConfig
from transduce.ranges import Layers, PositiveInt, ShareBelowOne, Width
from transduce.text.tokenizer import TokenizerConfig

ADDED = 2  # tokens of a source that are no text: its language and its end


def read(fields: Fields, tokenizer: TokenizerConfig) -> BundleConfig:
    """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
    fields.must_be("tie_word_embeddings", True, True)
    fields.must_lack("quantization_config", "quantized weights cannot be carried over")
    for name, id_ in (
        ("pad_token_id", PADDING),
        ("bos_token_id", BEGIN),
        ("eos_token_id", END),
        ("decoder_start_token_id", END),
    ):
        fields.must_be(name, id_, id_)
    if fields.values.get("bad_words_ids"):
        raise InputError(f"{fields.path}: bad_words_ids bans words, which cannot be carried over")
    heads, inner = fields.number("encoder_attention_heads", Width, 16), fields.number("encoder_ffn_dim", Width, 4096)
    fields.must_be("decoder_attention_heads", heads, 16)
    fields.must_be("decoder_ffn_dim", inner, 4096)
    try:
        model = TransformerConfig(
            encoder_layers=fields.number("encoder_layers", Layers, 12),
            decoder_layers=fields.number("decoder_layers", Layers, 12),
            dim=fields.number("d_model", Width, 1024),
            heads=heads,
            feed_forward_dim=inner,
            activation=fields.one_of("activation_function", ACTIVATIONS, "relu"),
            norm="pre",
            positions="fairseq",
            scale_embeddings=fields.flag("scale_embedding", True),
            tie="all",
            first_token=END,
            dropout=fields.number("dropout", ShareBelowOne, 0.1),
            attention_dropout=fields.number("attention_dropout", ShareBelowOne, 0.1),
            activation_dropout=fields.number("activation_dropout", ShareBelowOne, 0.0),
        )
    except ValueError as error:
        raise InputError(f"{fields.path}: {error} (d_model and encoder_attention_heads)") from None
    return BundleConfig(
        format=FORMAT,
        source=MANY,
        target=MANY,
        model=model,
        tokenizer=tokenizer,
        longest_source=max(fields.number("max_position_embeddings", PositiveInt, 1024) - ADDED, 1),
        languages=LanguageTokens(place="decoder", tokens=language_tokens(fields.path.parent)),
    )


def is_of(config: BundleConfig) -> bool:
    """Returns True if a bundle has a Transformer that translates in several directions."""
    return isinstance(config.model, TransformerConfig) and config.languages is not None


def problems(config: BundleConfig) -> list[str]:
    """Lists the settings that M2M100 does not have, in words."""
    model, languages = config.model_as(TransformerConfig), config.languages
    assert languages is not None  # as an M2M100 has
    expected = {"positions": "fairseq", "norm": "pre", "tie": "all", "output_bias": False, "first_token": END}
    found = unlike("M2M100", model, expected, ACTIVATIONS.values())
    if languages.place != "decoder":
        found.append(f"data.language_token is {languages.place!r}, where M2M100 has 'decoder'")
    return found


def write(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the config.json of a bundle without problems."""
    return {
        **write_layers(bundle.config.model_as(TransformerConfig)),
        "bos_token_id": BEGIN,
        "decoder_layerdrop": 0.0,
        "decoder_start_token_id": END,
        "encoder_layerdrop": 0.0,
        "eos_token_id": END,
        "is_encoder_decoder": True,
        "max_position_embeddings": bundle.config.longest_source + ADDED,
        "pad_token_id": PADDING,
        "tie_word_embeddings": True,
        "vocab_size": len(bundle.tokenizers.target),
    }


def write_search(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the imported model's own search settings, else as many tokens as there are positions."""
    search = {"max_length": bundle.config.longest_source + ADDED}
    imported: dict[str, Any] = bundle.history.get("imported", {}).get("search", {})
    return search | imported


def same(config: BundleConfig) -> list[Same]:
    """Lists the tensors that are the same."""
    norms = [pair for side in ("encoder", "decoder") for pair in linear(f"{side}.norm", f"model.{side}.layer_norm")]
    return [*norms, *same_layers(config.model_as(TransformerConfig))]


@torch.inference_mode()
def outputs(bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
    """Returns the logits after each token of a row that is both source and target, [tokens, vocabulary]."""
    model, tokens = bundle.writer, torch.tensor([ids])
    memory = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
    return model.decoder(tokens, model.start(memory))[0][0]


def their_inputs(tokens: Tensor) -> Mapping[str, Tensor]:
    """Returns the same row, before which their decoder is given the token that ours reads by itself."""
    everything = torch.ones_like(tokens)  # a row may hold the token of padding
    first = tokens.new_full((len(tokens), 1), END)
    return {"input_ids": tokens, "attention_mask": everything, "decoder_input_ids": torch.cat([first, tokens], 1)}


M2M100 = Family(
    model_type="m2m_100",
    title="M2M100 and NLLB",
    architecture=lambda config: "M2M100ForConditionalGeneration",
    architectures=("M2M100ForConditionalGeneration",),
    inputs=("input_ids", "attention_mask"),
    roles={},
    special={},
    is_byte_level=False,
    read=read,
    is_of=is_of,
    problems=problems,
    write=write,
    write_search=write_search,
    same=same,
    rename=lambda config, name: None if name.endswith(BUFFERS) else name,
    slow_tokenizer=from_vocabulary,
    read_tokenizers=read_tokenizers,
    write_tokenizers=write_tokenizers,
    read_search=read_search,
    needs=("sentencepiece",),
    outputs=outputs,
    their_outputs=lambda found: cast(Tensor, found.logits)[:, 1:],
    longest=lambda bundle: bundle.config.longest_source,
    copies=lambda config: dict.fromkeys(COPIES, "model.shared.weight"),
    their_inputs=their_inputs,
)
