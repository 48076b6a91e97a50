"""XLNet (Yang et al. 2019) as Hugging Face transformers has it: the language model, which reads in any order."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import torch
from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields, Setting
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import TOKENIZER
from transduce.apps.exchange.huggingface.tensor_names import Same, linear
from transduce.base.errors import InputError
from transduce.base.ranges import MOST, Layers, PositiveShare, ShareBelowOne, Width
from transduce.base.shapes import Tokens
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.xlnet import XLNetConfig, XLNetLanguageModel
from transduce.nn.layers import Activation
from transduce.nn.permutation import CONTEXT, FactorizationOrder

ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu"}
MEMORY = 512
"""Tokens remembered if mem_len is null (there: all), as many as transformers has by default."""
SENTENCE_PIECE = "spiece.model"
PREFIX = "transformer."


class XLNet(Family):
    """XLNet as a model that predicts tokens."""

    model_type = "xlnet"
    title = "XLNet"
    architectures = ("XLNetLMHeadModel",)  # without token types as inputs: its `generate` fails with them
    roles: ClassVar = {
        "pad": "pad_token",
        "unknown": "unk_token",
        "bos": "bos_token",
        "eos": "eos_token",
        "mask": "mask_token",
    }
    special: ClassVar = {"pad": "<pad>", "unknown": "<unk>", "bos": "<s>", "eos": "</s>"}
    config = XLNetConfig
    settings = (
        Setting("d_model", "dim", Width, 1024),
        Setting("n_head", "heads", Width, 16),
        Setting("mem_len", "memory", Width, MEMORY),
        Setting("n_layer", "layers", Layers, 24),
        Setting("d_inner", "feed_forward_dim", Width, 4096),
        Setting("ff_activation", "activation", ACTIVATIONS, "gelu"),
        Setting("layer_norm_eps", "norm_epsilon", PositiveShare, 1e-12),
        Setting("dropout", "dropout", ShareBelowOne, 0.1),
    )
    sizes = "d_model and n_head"
    fixed: ClassVar = {
        "attn_type": "bi",
        "bi_data": False,
        "same_length": False,
        "untie_r": True,
        "tie_word_embeddings": True,
    }
    choices: ClassVar = {"norm": "post", "scale_embeddings": False}
    has_even_dim = True

    def is_of(self, config: BundleConfig) -> bool:
        """Returns True if a bundle has an XLNet that predicts tokens."""
        return isinstance(config.model, XLNetConfig) and config.head is None

    def read_settings(self, fields: Fields) -> dict[str, Any]:
        """See Family."""
        fields.must_lack("reuse_len", "only a memory of whole segments can be carried over; it must be null")
        if fields.values.get("clamp_len") not in (None, 0):
            fields.must_be("clamp_len", -1, -1)
        settings = super().read_settings(fields)
        if settings["dim"] % 2:
            raise InputError(f"{fields.path}: d_model must be even, but is {settings['dim']}")
        return settings

    def read_bundle(self, fields: Fields, model: XLNetConfig) -> dict[str, Any]:
        """See Family."""
        fields.must_be("d_head", model.size_of_key, model.size_of_key)
        return {"task": "language", "source": "text", "target": "text", "longest_source": model.memory, "begin": "eos"}

    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        tokenizer = bundle.tokenizers.target
        return {
            "bos_token_id": tokenizer.bos,
            "clamp_len": -1,
            "d_head": bundle.config.model_as(XLNetConfig).size_of_key,
            "eos_token_id": tokenizer.eos,
            "initializer_range": 0.02,
            "pad_token_id": tokenizer.pad,
            "reuse_len": None,
        }

    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same; their projections are [dim, heads, head_dim], ours are matrices."""
        model = config.model_as(XLNetConfig)
        projection, of_heads = (model.dim, model.heads, model.size_of_key), (model.heads, model.size_of_key)
        entries = [
            Same(("decoder.stack.table.weight",), (f"{PREFIX}word_embedding.weight",)),
            Same(("decoder.stack.query",), (f"{PREFIX}mask_emb",), shape=(1, 1, model.dim)),
            Same(("decoder.output.bias",), ("lm_loss.bias",)),
        ]
        for number in range(model.layers):
            here, there = f"decoder.stack.layers.{number}", f"{PREFIX}layer.{number}"
            ours, theirs = f"{here}.attention", f"{there}.rel_attn"
            entries += [
                Same((f"{ours}.query.weight",), (f"{theirs}.q",), True, projection),
                Same((f"{ours}.key_value.weight",), (f"{theirs}.k", f"{theirs}.v"), True, projection),
                Same((f"{ours}.distance.weight",), (f"{theirs}.r",), True, projection),
                Same((f"{ours}.output.weight",), (f"{theirs}.o",), shape=projection),
                Same((f"{ours}.content_bias",), (f"{theirs}.r_w_bias",), shape=of_heads),
                Same((f"{ours}.distance_bias",), (f"{theirs}.r_r_bias",), shape=of_heads),
                Same((f"{here}.segments.bias",), (f"{theirs}.r_s_bias",), shape=of_heads),
                Same((f"{here}.segments.vectors",), (f"{theirs}.seg_embed",)),
                *linear(f"{here}.around_attention.norm", f"{theirs}.layer_norm"),
                *linear(f"{here}.feed_forward.inner", f"{there}.ff.layer_1"),
                *linear(f"{here}.feed_forward.output", f"{there}.ff.layer_2"),
                *linear(f"{here}.around_feed_forward.norm", f"{there}.ff.layer_norm"),
            ]
        return entries

    def slow_tokenizer(self, folder: Path, settings: Mapping[str, Any]) -> Backend:
        """Raises InputError: a file of SentencePiece is not read here."""
        if not (folder / SENTENCE_PIECE).exists():
            raise InputError(f"{folder} has no {TOKENIZER}: a model is imported with its tokenizer")
        raise InputError(
            f"{folder} has its tokenizer in {SENTENCE_PIECE} alone; with transformers, sentencepiece and protobuf "
            f"installed, AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r}) writes "
            f"{TOKENIZER} from it"
        )

    @torch.inference_mode()
    def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
        """Returns the logits of each token of a row, [tokens, vocabulary], read as `reading` says."""
        model = bundle.writer
        assert isinstance(model, XLNetLanguageModel)
        tokens, (order, segments) = torch.tensor([ids]), reading(len(ids))
        nothing = tokens[:, :0]
        state = model.start(model.encode(nothing, nothing.bool()))
        hidden, _ = model.predict(tokens, order, state, segments)
        logits: Tensor = model.decoder.output(hidden)
        return logits[0]

    def their_inputs(self, tokens: Tensor) -> dict[str, Tensor]:
        """Returns the same reading for a model of transformers."""
        order, segments = reading(tokens.shape[1])
        return {
            "input_ids": tokens,
            "perm_mask": (~order.query_may_attend[:, 0]).float(),
            "target_mapping": torch.eye(tokens.shape[1])[None],
            "token_type_ids": segments,
        }

    def copies(self, config: BundleConfig) -> Mapping[str, str]:
        """See Family."""
        return {"lm_loss.weight": f"{PREFIX}word_embedding.weight"}

    def longest(self, bundle: ModelBundle) -> int:
        """See Family; distances have no end."""
        return MOST


class RowOrder(NamedTuple):
    """An order in which all weights are used, and tokens attend to later as well as earlier ones."""

    order: FactorizationOrder
    """The order: tokens at even positions are context; those between are predicted from the last to the first. Context
    tokens are targets too and attend to themselves, so that every target attends to something."""
    segments: Tokens
    """The segments: the second half is another text."""


def reading(time: int) -> RowOrder:
    """Returns the order in which a row of this many tokens is read."""
    positions = torch.arange(time)[None]
    rank = torch.where(positions % 2 == 0, CONTEXT, time - positions)
    return RowOrder(FactorizationOrder(rank, positions), (positions >= time / 2).long())
