"""XLNet (Yang et al. 2019) as Hugging Face transformers has it: the language model, which reads in any order."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.bundle_config import FORMAT, BundleConfig
from transduce.errors import InputError
from transduce.exchange.huggingface.family import Family, unlike
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import TOKENIZER
from transduce.exchange.huggingface.weights import Same, linear
from transduce.models.xlnet import XLNetConfig, XLNetLanguageModel
from transduce.nn.layers import Activation
from transduce.nn.permutation import CONTEXT, FactorizationOrder
from transduce.ranges import MOST, Layers, PositiveShare, ShareBelowOne, Width
from transduce.shapes import Tokens
from transduce.text.tokenizer import TokenizerConfig

ROLES = {"pad": "pad_token", "unknown": "unk_token", "bos": "bos_token", "eos": "eos_token", "mask": "mask_token"}
ACTIVATIONS: dict[str, Activation] = {"gelu": "gelu", "gelu_new": "gelu_tanh", "relu": "relu"}
MEMORY = 512
"""The tokens remembered if mem_len is null, which there means all: as many as transformers takes by default."""
SENTENCE_PIECE = "spiece.model"
PREFIX = "transformer."


def read(fields: Fields, tokenizer: TokenizerConfig) -> BundleConfig:
    """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
    fields.must_be("attn_type", "bi", "bi")
    fields.must_be("bi_data", False, False)
    fields.must_be("same_length", False, False)
    fields.must_be("untie_r", True, True)
    fields.must_be("tie_word_embeddings", True, True)
    fields.must_lack("reuse_len", "only a memory of whole segments can be carried over; it must be null")
    fields.must_lack("quantization_config", "quantized weights cannot be carried over")
    if fields.values.get("clamp_len") not in (None, 0):
        fields.must_be("clamp_len", -1, -1)
    dim = fields.number("d_model", Width, 1024)
    heads = fields.number("n_head", Width, 16)
    if dim % 2:
        raise InputError(f"{fields.path}: d_model must be even, but is {dim}")
    memory = fields.number("mem_len", Width, MEMORY)
    try:
        model = XLNetConfig(
            layers=fields.number("n_layer", Layers, 24),
            dim=dim,
            heads=heads,
            feed_forward_dim=fields.number("d_inner", Width, 4096),
            activation=fields.one_of("ff_activation", ACTIVATIONS, "gelu"),
            memory=memory,
            norm_epsilon=fields.number("layer_norm_eps", PositiveShare, 1e-12),
            dropout=fields.number("dropout", ShareBelowOne, 0.1),
        )
    except ValueError as error:
        raise InputError(f"{fields.path}: {error} (d_model and n_head)") from None
    fields.must_be("d_head", dim // heads, dim // heads)
    return BundleConfig(
        format=FORMAT,
        task="language",
        source="text",
        target="text",
        model=model,
        tokenizer=tokenizer,
        longest_source=memory,
        begin="eos",
    )


def is_of(config: BundleConfig) -> bool:
    """Returns True if a bundle has an XLNet that predicts tokens."""
    return isinstance(config.model, XLNetConfig) and config.head is None


def problems(config: BundleConfig) -> list[str]:
    """Lists the settings that Hugging Face's XLNet does not have, in words."""
    model = config.model_as(XLNetConfig)
    found = unlike("XLNet", model, {"norm": "post", "scale_embeddings": False}, ACTIVATIONS.values())
    if model.dim % 2:
        found.append(f"model.dim is {model.dim}, where XLNet has an even number")
    return found


def write(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the config.json of a bundle without problems."""
    model, tokenizer = bundle.config.model_as(XLNetConfig), bundle.tokenizers.target
    return {
        "attn_type": "bi",
        "bi_data": False,
        "bos_token_id": tokenizer.bos,
        "clamp_len": -1,
        "d_head": model.size_of_key,
        "d_inner": model.feed_forward_dim,
        "d_model": model.dim,
        "dropout": model.dropout,
        "eos_token_id": tokenizer.eos,
        "ff_activation": next(theirs for theirs, ours in ACTIVATIONS.items() if ours == model.activation),
        "initializer_range": 0.02,
        "layer_norm_eps": model.norm_epsilon,
        "mem_len": model.memory,
        "n_head": model.heads,
        "n_layer": model.layers,
        "pad_token_id": tokenizer.pad,
        "reuse_len": None,
        "same_length": False,
        "tie_word_embeddings": True,
        "untie_r": True,
        "vocab_size": len(tokenizer),
    }


def same(config: BundleConfig) -> list[Same]:
    """Lists the tensors that are the same; their projections are [dim, heads, head_dim], where ours are matrices."""
    model = config.model_as(XLNetConfig)
    projection, of_heads = (model.dim, model.heads, model.size_of_key), (model.heads, model.size_of_key)
    found = [
        Same(("decoder.stack.table.weight",), (f"{PREFIX}word_embedding.weight",)),
        Same(("decoder.stack.query",), (f"{PREFIX}mask_emb",), shape=(1, 1, model.dim)),
        Same(("decoder.output.bias",), ("lm_loss.bias",)),
    ]
    for number in range(model.layers):
        here, there = f"decoder.stack.layers.{number}", f"{PREFIX}layer.{number}"
        ours, theirs = f"{here}.attention", f"{there}.rel_attn"
        found += [
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
    return found


def no_slow_tokenizer(folder: Path, settings: Mapping[str, Any]) -> Backend:
    """Raises InputError: a file of SentencePiece is not read here."""
    if not (folder / SENTENCE_PIECE).exists():
        raise InputError(f"{folder} has no {TOKENIZER}: a model is imported with its tokenizer")
    raise InputError(
        f"{folder} has its tokenizer in {SENTENCE_PIECE} alone; with transformers, sentencepiece and protobuf "
        f"installed, AutoTokenizer.from_pretrained({str(folder)!r}).save_pretrained({str(folder)!r}) writes "
        f"{TOKENIZER} from it"
    )


class RowOrder(NamedTuple):
    """A way to read a row in which all weights take part, and tokens after another as well as before it."""

    order: FactorizationOrder
    """The order: tokens at even positions are context; those between are predicted from the last to the first. Those of
    the context are targets too, each of which sees itself, so that every target sees something."""
    segments: Tokens
    """The segments; the second half is another text."""


def reading(time: int) -> RowOrder:
    """Returns the order in which a row of this many tokens is read."""
    places = torch.arange(time)[None]
    rank = torch.where(places % 2 == 0, CONTEXT, time - places)
    return RowOrder(FactorizationOrder(rank, places), (places >= time / 2).long())


@torch.inference_mode()
def outputs(bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
    """Returns the logits of each token of a row, [tokens, vocabulary], read as `reading` says."""
    model = bundle.writer
    assert isinstance(model, XLNetLanguageModel)
    tokens, (order, segments) = torch.tensor([ids]), reading(len(ids))
    nothing = tokens[:, :0]
    state = model.start(model.encode(nothing, nothing.bool()))
    hidden, _ = model.predict(tokens, order, state, segments)
    logits: Tensor = model.decoder.output(hidden)
    return logits[0]


def their_inputs(tokens: Tensor) -> dict[str, Tensor]:
    """Returns the same reading for a model of transformers."""
    order, segments = reading(tokens.shape[1])
    return {
        "input_ids": tokens,
        "perm_mask": (~order.query_may_attend[:, 0]).float(),
        "target_mapping": torch.eye(tokens.shape[1])[None],
        "token_type_ids": segments,
    }


XLNET = Family(
    model_type="xlnet",
    title="XLNet",
    architecture=lambda config: "XLNetLMHeadModel",
    architectures=("XLNetLMHeadModel",),
    inputs=("input_ids", "attention_mask"),  # with token types, generate of transformers fails
    roles=ROLES,
    special={"pad": "<pad>", "unknown": "<unk>", "bos": "<s>", "eos": "</s>"},
    is_byte_level=False,
    read=read,
    is_of=is_of,
    problems=problems,
    write=write,
    same=same,
    rename=lambda config, name: name,
    slow_tokenizer=no_slow_tokenizer,
    outputs=outputs,
    their_outputs=lambda found: cast(Tensor, found.logits),
    longest=lambda bundle: MOST,  # distances have no end
    copies=lambda config: {"lm_loss.weight": f"{PREFIX}word_embedding.weight"},
    their_inputs=their_inputs,
)
