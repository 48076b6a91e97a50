"""GPT-2 (Radford et al. 2019) as Hugging Face transformers has it: a causal Transformer with learned positions."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import Tensor

from transduce.bundle import ModelBundle
from transduce.bundle_config import FORMAT, BundleConfig
from transduce.errors import InputError
from transduce.exchange.huggingface.family import Family, unlike
from transduce.exchange.huggingface.fields import Fields
from transduce.exchange.huggingface.folder import from_merges
from transduce.exchange.huggingface.weights import Same, linear
from transduce.models.causal import CausalTransformerConfig
from transduce.nn.layers import Activation
from transduce.ranges import Layers, ShareBelowOne, Width
from transduce.text.tokenizer import TokenizerConfig

ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
NORM_EPSILON = 1e-5
PREFIX = "transformer."
BUFFERS = (".attn.bias", ".attn.masked_bias")
"""Masks, not weights, that older versions saved."""
END = "<|endoftext|>"


def read(fields: Fields, tokenizer: TokenizerConfig) -> BundleConfig:
    """Reads the model that config.json describes; raises InputError for a setting that cannot be carried over."""
    fields.must_be("layer_norm_epsilon", NORM_EPSILON, NORM_EPSILON)
    fields.must_be("scale_attn_weights", True, True)
    fields.must_be("scale_attn_by_inverse_layer_idx", False, False)
    fields.must_be("reorder_and_upcast_attn", False, False)
    fields.must_be("add_cross_attention", False, False)
    fields.must_lack("quantization_config", "quantized weights cannot be carried over")
    dim = fields.number("n_embd", Width, 768)
    positions = fields.number("n_positions", Width, 1024)
    try:
        model = CausalTransformerConfig(
            layers=fields.number("n_layer", Layers, 12),
            dim=dim,
            heads=fields.number("n_head", Width, 12),
            feed_forward_dim=fields.number("n_inner", Width, 4 * dim),
            activation=fields.one_of("activation_function", ACTIVATIONS, "gelu_new"),
            norm="pre",
            positions="learned",
            max_positions=positions,
            dropout=fields.number("resid_pdrop", ShareBelowOne, 0.1),
            embedding_dropout=fields.number("embd_pdrop", ShareBelowOne, 0.1),
            attention_dropout=fields.number("attn_pdrop", ShareBelowOne, 0.1),
            activation_dropout=0.0,
            tie=fields.flag("tie_word_embeddings", True),
        )
    except ValueError as error:
        raise InputError(f"{fields.path}: {error} (n_embd and n_head)") from None
    return BundleConfig(
        format=FORMAT,
        task="language",
        source="text",
        target="text",
        model=model,
        tokenizer=tokenizer,
        longest_source=positions,
        begin="eos",
    )


def is_of(config: BundleConfig) -> bool:
    """Returns True if a bundle has a causal Transformer."""
    return isinstance(config.model, CausalTransformerConfig)


def problems(config: BundleConfig) -> list[str]:
    """Lists the settings that GPT-2 does not have, in words."""
    expected = {"positions": "learned", "norm": "pre", "scale_embeddings": False}
    return unlike("GPT-2", config.model, expected, ACTIVATIONS.values())


def write(bundle: ModelBundle) -> dict[str, Any]:
    """Returns the config.json of a bundle without problems."""
    model, tokenizer = bundle.config.model_as(CausalTransformerConfig), bundle.tokenizers.target
    activation = next(theirs for theirs, ours in ACTIVATIONS.items() if ours == model.activation)

    def rate(special: float | None) -> float:
        return model.dropout if special is None else special

    return {
        "activation_function": activation,
        "attn_pdrop": rate(model.attention_dropout),
        "bos_token_id": bundle.special.target_bos,
        "embd_pdrop": rate(model.embedding_dropout),
        "eos_token_id": tokenizer.eos,
        "layer_norm_epsilon": NORM_EPSILON,
        "n_embd": model.dim,
        "n_head": model.heads,
        "n_inner": None if model.feed_forward_dim == 4 * model.dim else model.feed_forward_dim,
        "n_layer": model.layers,
        "n_positions": model.max_positions,
        "resid_pdrop": rate(model.residual_dropout),
        "tie_word_embeddings": model.tie,
        "vocab_size": len(tokenizer),
    }


def same(config: BundleConfig) -> list[Same]:
    """Lists the tensors that are the same; their linear layers are [in, out], where ours are [out, in]."""
    model = config.model_as(CausalTransformerConfig)
    found = [
        Same(("decoder.embedding.table.weight",), (f"{PREFIX}wte.weight",)),
        Same(("decoder.embedding.positions.weight",), (f"{PREFIX}wpe.weight",)),
    ]
    for number in range(model.layers):
        here, there = f"decoder.layers.{number}", f"{PREFIX}h.{number}"
        attention = f"{here}.attention.attention"
        found += linear(f"{here}.around_attention.norm", f"{there}.ln_1")
        found += linear((f"{attention}.query", f"{attention}.key_value"), f"{there}.attn.c_attn", True)
        found += linear(f"{attention}.output", f"{there}.attn.c_proj", True)
        found += linear(f"{here}.around_feed_forward.norm", f"{there}.ln_2")
        found += linear(f"{here}.feed_forward.inner", f"{there}.mlp.c_fc", True)
        found += linear(f"{here}.feed_forward.output", f"{there}.mlp.c_proj", True)
    found += linear("decoder.norm", f"{PREFIX}ln_f")
    return found if model.tie else [*found, Same(("decoder.output.weight",), ("lm_head.weight",))]


def rename(config: BundleConfig, name: str) -> str | None:
    """Returns a tensor's name with the prefix that older versions left out; None for a mask."""
    if name.endswith(BUFFERS):
        return None
    return name if name.startswith((PREFIX, "lm_head.")) else PREFIX + name


def copies(config: BundleConfig) -> dict[str, str]:
    """Maps the output layer to the table of embeddings, if they are tied."""
    return {"lm_head.weight": f"{PREFIX}wte.weight"} if config.model_as(CausalTransformerConfig).tie else {}


@torch.inference_mode()
def outputs(bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
    """Returns the logits after each token of a row, [tokens, vocabulary]."""
    model = bundle.writer
    tokens = torch.tensor([ids])
    nothing = tokens[:, :0]
    return model.decoder(tokens, model.start(model.encode(nothing, nothing.bool())))[0][0]


def longest(bundle: ModelBundle) -> int:
    """Returns the most tokens that a model reads at once."""
    return bundle.writer.target_limit or bundle.config.longest_source


GPT2 = Family(
    model_type="gpt2",
    title="GPT-2",
    architecture=lambda config: "GPT2LMHeadModel",
    architectures=("GPT2LMHeadModel", "GPT2Model"),
    inputs=("input_ids", "attention_mask"),
    roles={"pad": "pad_token", "unknown": "unk_token", "bos": "bos_token", "eos": "eos_token"},
    special={"unknown": END, "bos": END, "eos": END},
    is_byte_level=True,
    read=read,
    is_of=is_of,
    problems=problems,
    write=write,
    same=same,
    rename=rename,
    slow_tokenizer=from_merges,
    outputs=outputs,
    their_outputs=lambda found: cast(Tensor, found.logits),
    longest=longest,
    copies=copies,
)
