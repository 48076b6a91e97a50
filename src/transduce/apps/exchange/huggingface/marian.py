"""MarianMT (Junczys-Dowmunt et al. 2018), as OPUS-MT's models are: a Transformer that translates."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields, Setting
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import (
    ADVICE,
    GENERATION,
    TOKENIZER_CONFIG,
    read_optional,
    token_name,
    write_json,
)
from transduce.apps.exchange.huggingface.tensor_names import Same, linear
from transduce.base.errors import CheckpointError, InputError
from transduce.base.ranges import Layers, NonNegativeInt, PositiveInt, ShareBelowOne, Width
from transduce.base.verification import read_json
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.transformer import TransformerConfig
from transduce.nn.layers import Activation
from transduce.text.sentencepiece import read_sentencepiece, with_vocabulary
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import SpecialTokens, TokenizerConfig

ACTIVATIONS: dict[str, Activation] = {"swish": "silu", "silu": "silu", "gelu": "gelu", "relu": "relu"}
VOCABULARY = "vocab.json"
MOST_BYTES = 1 << 26  # of the vocabulary; OPUS-MT's have one and a half million
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight")


def settings_of(activation: str, scales: bool, attention_dropout: float) -> tuple[Setting, ...]:
    """Returns the settings of a family that came from Marian or fairseq, with its own defaults."""
    return (
        Setting("encoder_layers", "encoder_layers", Layers, 12),
        Setting("decoder_layers", "decoder_layers", Layers, 12),
        Setting("d_model", "dim", Width, 1024),
        Setting("encoder_attention_heads", "heads", Width, 16),
        Setting("encoder_ffn_dim", "feed_forward_dim", Width, 4096),
        Setting("activation_function", "activation", ACTIVATIONS, activation),
        Setting("scale_embedding", "scale_embeddings", bool, scales),
        Setting("dropout", "dropout", ShareBelowOne, 0.1),
        Setting("attention_dropout", "attention_dropout", ShareBelowOne, attention_dropout),
        Setting("activation_dropout", "activation_dropout", ShareBelowOne, 0.0),
    )


class Marian(Family):
    """MarianMT; saved sinusoids of older versions are not weights."""

    model_type = "marian"
    title = "MarianMT"
    architectures: Sequence[str] = ("MarianMTModel",)
    has_own_tokenizers = True
    needs = ("sentencepiece",)
    config = TransformerConfig
    settings = settings_of("gelu", scales=False, attention_dropout=0.0)
    sizes = "d_model and encoder_attention_heads"
    fixed: ClassVar = {
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "static_position_embeddings": True,
    }
    unwritten: ClassVar = {
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "add_bias_logits": False,
    }
    choices: ClassVar = {
        "positions": "concatenated",
        "norm": "post",
        "tie": "all",
        "output_bias": True,
        "first_token": None,
        "decoder_start": "token",
        "decoder_recurrence": "none",
    }
    has_even_dim = True
    buffers = ("embed_positions.weight", "embed_positions.weights")
    added = 1
    """The number of special tokens of a source."""

    def is_of(self, config: BundleConfig) -> bool:
        """Returns True if a bundle has a Transformer that translates in one direction."""
        return isinstance(config.model, TransformerConfig) and config.languages is None

    def read_settings(self, fields: Fields) -> dict[str, Any]:
        """See Family."""
        settings = super().read_settings(fields)
        fields.must_be("decoder_attention_heads", settings["heads"], 16)
        fields.must_be("decoder_ffn_dim", settings["feed_forward_dim"], 4096)
        dim = settings["dim"]
        if self.has_even_dim and dim % 2:
            raise InputError(f"{fields.path}: d_model is {dim}, which is odd; its sinusoids cannot be carried over")
        return settings

    def read_bundle(self, fields: Fields, model: TransformerConfig) -> dict[str, Any]:
        """See Family."""
        padding = fields.number("pad_token_id", NonNegativeInt)
        banned = fields.values.get("bad_words_ids") or [[padding]]
        if banned != [[padding]]:
            raise InputError(f"{fields.path}: bad_words_ids bans more than padding, which cannot be carried over")
        path = fields.path.parent / TOKENIZER_CONFIG
        named = Fields(path, read_optional(path))
        return {
            "source": named.language("source_lang", "source"),
            "target": named.language("target_lang", "target"),
            "longest_source": self.read_longest(fields),
        }

    def read_longest(self, fields: Fields) -> int:
        """Reads the most tokens of a source's text."""
        positions: int = fields.number("max_position_embeddings", PositiveInt, 1024)
        return max(positions - self.added, 1)

    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        special = bundle.special
        return {
            **self.write_common(bundle),
            "decoder_start_token_id": special.target_bos,
            "eos_token_id": special.target_eos,
            "forced_eos_token_id": special.target_eos,
            "pad_token_id": special.target_pad,
        }

    def write_common(self, bundle: ModelBundle) -> dict[str, Any]:
        """Returns the settings that all families from Marian and fairseq share."""
        model = bundle.config.model_as(TransformerConfig)
        return {
            "decoder_attention_heads": model.heads,
            "decoder_ffn_dim": model.feed_forward_dim,
            "dropout": model.dropout if model.residual_dropout is None else model.residual_dropout,
            "is_encoder_decoder": True,
            "max_position_embeddings": bundle.config.longest_source + self.added,
        }

    def read_search(self, folder: Path) -> dict[str, Any]:
        """Reads the default search of transformers from both files that may say it; shown by `info`."""
        known = ("num_beams", "max_length", "length_penalty", "early_stopping", "no_repeat_ngram_size")
        settings = read_optional(folder / "config.json") | read_optional(folder / GENERATION)
        return {name: settings[name] for name in known if settings.get(name) is not None}

    def write_search(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family; padding is never written."""
        return {"bad_words_ids": [[bundle.special.target_pad]], **self.write_length(bundle)}

    def write_length(self, bundle: ModelBundle) -> dict[str, Any]:
        """Returns the imported model's own search settings, else as many tokens as there are positions."""
        imported: dict[str, Any] = bundle.history.get("imported", {}).get("search", {})
        return {"max_length": bundle.config.longest_source + self.added} | imported

    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same."""
        bias = Same(("decoder.output.bias",), ("final_logits_bias",), shape=(1, -1))
        return [bias, *same_layers(config.model_as(TransformerConfig))]

    def copies(self, config: BundleConfig) -> Mapping[str, str]:
        """See Family."""
        return dict.fromkeys(COPIES, "model.shared.weight")

    def read_tokenizers(self, folder: Path, fields: Fields) -> tuple[Tokenizers, TokenizerConfig]:
        """Reads two SentencePiece models over one vocabulary, as transformers' MarianTokenizer uses them.

        Raises InputError for a missing file or one with unsupported settings, CheckpointError for a damaged one.
        """
        files = [folder / name for name in (VOCABULARY, "source.spm", "target.spm")]
        vocabulary = read_vocabulary(*files)
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
            raise InputError(
                f"{fields.path}: decoder_start_token_id is {begin:,}, but {files[0].name} has no such token"
            )
        special = SpecialTokens(bos=next(piece for piece, number in vocabulary.items() if number == begin), **names)
        source, target = (with_vocabulary(file, read_sentencepiece(file), vocabulary, special) for file in files[1:])
        return Tokenizers(source, target), TokenizerConfig.of_files(False, special)

    def write_tokenizers(self, folder: Path, bundle: ModelBundle) -> None:
        """Writes the SentencePiece models that the tokenizers were made from, and the vocabulary that numbers pieces.

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

    @torch.inference_mode()
    def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
        """Returns the logits after each token of a row that is both source and target, [tokens, vocabulary]."""
        model, tokens = bundle.writer, torch.tensor([ids])
        memory = model.encode(tokens, torch.ones_like(tokens, dtype=torch.bool))
        return model.decoder(tokens, model.start(memory))[0][0]

    def their_inputs(self, tokens: Tensor) -> Mapping[str, Tensor]:
        """See Family."""
        return {"input_ids": tokens, "decoder_input_ids": tokens}


def read_vocabulary(file: Path, *models: Path) -> dict[str, int]:
    """Reads the file that numbers the pieces of SentencePiece models.

    Raises InputError if it or a model is missing, CheckpointError for a damaged file.
    """
    if missing := [path.name for path in (file, *models) if not path.exists()]:
        raise InputError(f"{file.parent} has no {missing[0]}: a model is imported with its tokenizer; {ADVICE}")
    vocabulary = read_json(file, dict[str, int], ADVICE, MOST_BYTES)
    if sorted(vocabulary.values()) != list(range(len(vocabulary))):
        raise CheckpointError(f"{file}: its ids are not 0 to {len(vocabulary) - 1:,}, each once; {ADVICE}")
    return vocabulary


def same_layers(model: TransformerConfig) -> list[Same]:
    """Lists the tensors of embeddings and layers, by their names in models that come from fairseq and Marian."""
    entries = [Same(("encoder.embedding.table.weight",), ("model.shared.weight",))]
    for side, layers in (("encoder", model.encoder_layers), ("decoder", model.decoder_layers)):
        for number in range(layers):
            here, there = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            mine, self_attention = f"{here}.attention.attention", f"{there}.self_attn"
            entries += linear(
                (f"{mine}.query", f"{mine}.key_value"), tuple(f"{self_attention}.{name}_proj" for name in "qkv")
            )
            entries += linear(f"{mine}.output", f"{self_attention}.out_proj")
            entries += linear(f"{here}.around_attention.norm", f"{there}.self_attn_layer_norm")
            if side == "decoder":
                cross = f"{there}.encoder_attn"
                entries += linear(f"{here}.cross_attention.query", f"{cross}.q_proj")
                entries += linear((f"{here}.cross_attention.key_value",), (f"{cross}.k_proj", f"{cross}.v_proj"))
                entries += linear(f"{here}.cross_attention.output", f"{cross}.out_proj")
                entries += linear(f"{here}.around_cross_attention.norm", f"{there}.encoder_attn_layer_norm")
            entries += linear(f"{here}.feed_forward.inner", f"{there}.fc1")
            entries += linear(f"{here}.feed_forward.output", f"{there}.fc2")
            entries += linear(f"{here}.around_feed_forward.norm", f"{there}.final_layer_norm")
    return entries
