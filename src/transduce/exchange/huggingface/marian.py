"""MarianMT (Junczys-Dowmunt et al. 2018), as OPUS-MT's models are: a Transformer that translates."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.bundle_config import FORMAT, BundleConfig
from transduce.errors import CheckpointError, InputError
from transduce.exchange.huggingface.family import Family, unlike
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import (
    ADVICE,
    GENERATION,
    TOKENIZER_CONFIG,
    from_vocabulary,
    read_optional,
    token_name,
    write_json,
)
from transduce.exchange.huggingface.weights import Same, linear
from transduce.models.transformer import TransformerConfig
from transduce.nn.layers import Activation
from transduce.ranges import Layers, NonNegativeInt, PositiveInt, ShareBelowOne, Width
from transduce.text.sentencepiece import read_sentencepiece, with_vocabulary
from transduce.text.tokenizer import SideConfig, SpecialTokens, TokenizerConfig, Tokenizers
from transduce.verification import read_json

ACTIVATIONS: dict[str, Activation] = {"swish": "silu", "silu": "silu", "gelu": "gelu", "relu": "relu"}
BUFFERS = ("embed_positions.weight", "embed_positions.weights")
"""Sinusoids, not weights, that older versions saved."""
VOCABULARY = "vocab.json"
MOST_BYTES = 1 << 26  # of the vocabulary; OPUS-MT's have one and a half million
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def read(fields: Fields, tokenizer: TokenizerConfig) -> BundleConfig:
    """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
    for name, supported in (
        ("share_encoder_decoder_embeddings", True),
        ("tie_word_embeddings", True),
        ("static_position_embeddings", True),
        ("normalize_before", False),
        ("normalize_embedding", False),
        ("add_final_layer_norm", False),
        ("add_bias_logits", False),
    ):
        fields.must_be(name, supported, supported)
    fields.must_lack("quantization_config", "quantized weights cannot be carried over")
    padding = fields.number("pad_token_id", NonNegativeInt)
    banned = fields.values.get("bad_words_ids") or [[padding]]
    if banned != [[padding]]:
        raise InputError(f"{fields.path}: bad_words_ids bans more than padding, which cannot be carried over")
    heads, inner = fields.number("encoder_attention_heads", Width, 16), fields.number("encoder_ffn_dim", Width, 4096)
    fields.must_be("decoder_attention_heads", heads, 16)
    fields.must_be("decoder_ffn_dim", inner, 4096)
    dim = fields.number("d_model", Width, 1024)
    if dim % 2:
        raise InputError(f"{fields.path}: d_model is {dim}, which is odd; its sinusoids cannot be carried over")
    try:
        model = TransformerConfig(
            encoder_layers=fields.number("encoder_layers", Layers, 12),
            decoder_layers=fields.number("decoder_layers", Layers, 12),
            dim=dim,
            heads=heads,
            feed_forward_dim=inner,
            activation=fields.one_of("activation_function", ACTIVATIONS, "gelu"),
            norm="post",
            positions="concatenated",
            scale_embeddings=fields.flag("scale_embedding", False),
            tie="all",
            output_bias=True,
            dropout=fields.number("dropout", ShareBelowOne, 0.1),
            attention_dropout=fields.number("attention_dropout", ShareBelowOne, 0.0),
            activation_dropout=fields.number("activation_dropout", ShareBelowOne, 0.0),
        )
    except ValueError as error:
        raise InputError(f"{fields.path}: {error} (d_model and encoder_attention_heads)") from None
    path = fields.path.parent / TOKENIZER_CONFIG
    named = Fields(path, read_optional(path))
    return BundleConfig(
        format=FORMAT,
        source=named.language("source_lang", "source"),
        target=named.language("target_lang", "target"),
        model=model,
        tokenizer=tokenizer,
        longest_source=max(fields.number("max_position_embeddings", PositiveInt, 1024) - 1, 1),
    )


def is_of(config: BundleConfig) -> bool:
    """Returns True if a bundle has a Transformer that translates in one direction."""
    return isinstance(config.model, TransformerConfig) and config.languages is None


def problems(config: BundleConfig) -> list[str]:
    """Lists the settings that MarianMT does not have, in words."""
    model = config.model_as(TransformerConfig)
    expected = {"positions": "concatenated", "norm": "post", "tie": "all", "output_bias": True, "first_token": None}
    found = unlike("MarianMT", model, expected, ACTIVATIONS.values())
    if model.dim % 2:
        found.append(f"model.dim is {model.dim}, where MarianMT has an even number")
    return found


def write(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the config.json of a bundle without problems."""
    model, special = bundle.config.model_as(TransformerConfig), bundle.special
    return {
        **write_layers(model),
        "decoder_start_token_id": special.target_bos,
        "eos_token_id": special.target_eos,
        "forced_eos_token_id": special.target_eos,
        "is_encoder_decoder": True,
        "max_position_embeddings": bundle.config.longest_source + 1,
        "pad_token_id": special.target_pad,
        "share_encoder_decoder_embeddings": True,
        "static_position_embeddings": True,
        "tie_word_embeddings": True,
        "vocab_size": len(bundle.tokenizers.target),
    }


def write_layers(model: TransformerConfig) -> dict[str, Any]:
    """Returns sizes and choices of layers in config.json."""
    activation = next(theirs for theirs, ours in ACTIVATIONS.items() if ours == model.activation)
    sizes = {
        f"{side}_{name}": value
        for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers))
        for name, value in (("layers", layers), ("attention_heads", model.heads), ("ffn_dim", model.feed_forward_dim))
    }
    rates = {
        name: model.dropout if rate is None else rate
        for name, rate in (
            ("dropout", model.residual_dropout),
            ("attention_dropout", model.attention_dropout),
            ("activation_dropout", model.activation_dropout),
        )
    }
    return {
        **sizes,
        **rates,
        "activation_function": activation,
        "d_model": model.dim,
        "scale_embedding": model.scale_embeddings,
    }


def write_search(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the imported model's own search settings, else as many tokens as positions; padding is never written."""
    imported = bundle.history.get("imported", {}).get("search", {})
    return {"bad_words_ids": [[bundle.special.target_pad]], "max_length": bundle.config.longest_source + 1} | imported


def write_tokenizers(folder: Path, bundle: ModelBundle) -> None:
    """Writes the SentencePiece models that the tokenizers were made from, and the vocabulary that numbers their pieces.

    Raises InputError for tokenizers that were made from none, or that number pieces in two ways.
    """
    refused = f"{bundle.folder} cannot be exported to Hugging Face: its"
    vocabularies = []
    for side, tokenizer in (("source", bundle.tokenizers.source), ("target", bundle.tokenizers.target)):
        if tokenizer.sentencepiece is None:
            raise InputError(
                f"{refused} {side} tokenizer was not made from a model of SentencePiece, and MarianMT has no others"
            )
        (folder / f"{side}.spm").write_bytes(tokenizer.sentencepiece)
        pieces = tokenizer.pieces(range(len(tokenizer)))
        vocabularies.append({piece: number for number, piece in enumerate(pieces)})
    if vocabularies[0] != vocabularies[1]:
        raise InputError(f"{refused} tokenizers number their pieces in two ways, and MarianMT has one vocabulary")
    write_json(folder / VOCABULARY, vocabularies[1])
    target = bundle.tokenizers.target
    names = zip(("pad", "unk", "eos"), target.pieces((target.pad, target.unknown, target.eos)), strict=True)
    settings = {
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": bundle.config.longest_source + 1,
        "separate_vocabs": False,
        "source_lang": bundle.config.source,
        "target_lang": bundle.config.target,
    }
    write_json(folder / TOKENIZER_CONFIG, settings | {f"{role}_token": name for role, name in names})


def read_tokenizers(folder: Path, fields: Fields) -> tuple[Tokenizers, TokenizerConfig]:
    """Reads two SentencePiece models over one vocabulary, as transformers' MarianTokenizer uses them.

    Raises InputError where a file is missing or has what cannot be carried over, CheckpointError for a damaged one.
    """
    files = [folder / name for name in (VOCABULARY, "source.spm", "target.spm")]
    if missing := [file.name for file in files if not file.exists()]:
        raise InputError(f"{folder} has no {missing[0]}: a model is imported with its tokenizer; {ADVICE}")
    vocabulary = read_json(files[0], dict[str, int], ADVICE, MOST_BYTES)
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise CheckpointError(f"{files[0]}: its ids are not 0 to {len(vocabulary) - 1:,}, each once; {ADVICE}")
    settings = read_optional(folder / TOKENIZER_CONFIG)
    if settings.get("separate_vocabs"):
        raise InputError(f"{folder}: separate_vocabs is true, which cannot be carried over; only false can")
    if code := next((piece for piece in vocabulary if piece.startswith(">>") and piece.endswith("<<")), None):
        raise InputError(
            f"{files[0]} has {code}: a model that writes several languages, which cannot be carried over yet"
        )
    names = {
        role: token_name(settings.get(f"{theirs}_token")) or default
        for role, theirs, default in (("pad", "pad", "<pad>"), ("unknown", "unk", "<unk>"), ("eos", "eos", "</s>"))
    }
    for role, id_ in (("pad", "pad_token_id"), ("eos", "eos_token_id"), ("unknown", None)):
        if names[role] not in vocabulary:
            raise CheckpointError(f"{files[0]}: it has no token {names[role]!r}, which serves as {role}; {ADVICE}")
        if id_ is not None:
            fields.must_be(id_, vocabulary[names[role]], vocabulary[names[role]])
    begin = fields.number("decoder_start_token_id", NonNegativeInt, vocabulary[names["pad"]])
    if begin >= len(vocabulary):
        raise InputError(f"{fields.path}: decoder_start_token_id is {begin:,}, but {files[0].name} has no such token")
    special = SpecialTokens(bos=next(piece for piece, number in vocabulary.items() if number == begin), **names)
    source, target = (with_vocabulary(file, read_sentencepiece(file), vocabulary, special) for file in files[1:])
    sides = [SideConfig(kind="file", file=f"{side}.json", special=special) for side in ("source", "target")]
    return Tokenizers(source, target), TokenizerConfig(shared=False, source=sides[0], target=sides[1])


def read_search(folder: Path) -> dict[str, Any]:
    """Reads the default search of transformers from both files that may say it; shown by `info`."""
    known = ("num_beams", "max_length", "length_penalty", "early_stopping", "no_repeat_ngram_size")
    settings = read_optional(folder / "config.json") | read_optional(folder / GENERATION)
    return {name: settings[name] for name in known if settings.get(name) is not None}


def same(config: BundleConfig) -> list[Same]:
    """Lists the tensors that are the same."""
    bias = Same(("decoder.output.bias",), ("final_logits_bias",), shape=(1, -1))
    return [bias, *same_layers(config.model_as(TransformerConfig))]


def same_layers(model: TransformerConfig) -> list[Same]:
    """Lists embeddings and layers, as the models that come from fairseq and Marian name them."""
    found = [Same(("encoder.embedding.table.weight",), ("model.shared.weight",))]
    for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for number in range(layers):
            here, there = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            mine, self_attention = f"{here}.attention.attention", f"{there}.self_attn"
            found += linear(
                (f"{mine}.query", f"{mine}.key_value"), tuple(f"{self_attention}.{name}_proj" for name in "qkv")
            )
            found += linear(f"{mine}.output", f"{self_attention}.out_proj")
            found += linear(f"{here}.around_attention.norm", f"{there}.self_attn_layer_norm")
            if side == "decoder":
                cross = f"{there}.encoder_attn"
                found += linear(f"{here}.cross_attention.query", f"{cross}.q_proj")
                found += linear((f"{here}.cross_attention.key_value",), (f"{cross}.k_proj", f"{cross}.v_proj"))
                found += linear(f"{here}.cross_attention.output", f"{cross}.out_proj")
                found += linear(f"{here}.around_cross_attention.norm", f"{there}.encoder_attn_layer_norm")
            found += linear(f"{here}.feed_forward.inner", f"{there}.fc1")
            found += linear(f"{here}.feed_forward.output", f"{there}.fc2")
            found += linear(f"{here}.around_feed_forward.norm", f"{there}.final_layer_norm")
    return found


@torch.inference_mode()
def outputs(bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
    """Returns the logits after each token of a row that is both source and target, [tokens, vocabulary]."""
    model, tokens = bundle.writer, torch.tensor([ids])
    memory = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
    return model.decoder(tokens, model.start(memory))[0][0]


MARIAN = Family(
    model_type="marian",
    title="MarianMT",
    architecture=lambda config: "MarianMTModel",
    architectures=("MarianMTModel",),
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
    their_outputs=lambda found: cast(Tensor, found.logits),
    longest=lambda bundle: bundle.config.longest_source,
    copies=lambda config: dict.fromkeys(COPIES, "model.shared.weight"),
    their_inputs=lambda tokens: {"input_ids": tokens, "decoder_input_ids": tokens},
)
