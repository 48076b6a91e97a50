"""GPT-2 (Radford et al. 2019) as Hugging Face transformers has it: a causal Transformer with learned positions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
from tokenizers import Tokenizer as Backend
from torch import Tensor

from transduce.apps.exchange.huggingface.config_json import Fields, Setting
from transduce.apps.exchange.huggingface.family import Family
from transduce.apps.exchange.huggingface.folder import from_merges
from transduce.apps.exchange.huggingface.tensor_names import Same, linear
from transduce.base.ranges import Layers, ShareBelowOne, Width
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.causal import CausalTransformerConfig
from transduce.nn.layers import Activation

ACTIVATIONS: dict[str, Activation] = {
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "gelu": "gelu",
    "relu": "relu",
}
PREFIX = "transformer."
END = "<|endoftext|>"


class GPT2(Family):
    """GPT-2; saved masks of older versions are not weights."""

    model_type = "gpt2"
    title = "GPT-2"
    architectures = ("GPT2LMHeadModel", "GPT2Model")
    roles: ClassVar = {"pad": "pad_token", "unknown": "unk_token", "bos": "bos_token", "eos": "eos_token"}
    special: ClassVar = {"unknown": END, "bos": END, "eos": END}
    is_byte_level = True
    config = CausalTransformerConfig
    settings = (
        Setting("n_embd", "dim", Width, 768),
        Setting("n_positions", "max_positions", Width, 1024),
        Setting("n_layer", "layers", Layers, 12),
        Setting("n_head", "heads", Width, 12),
        Setting("activation_function", "activation", ACTIVATIONS, "gelu_new"),
        Setting("resid_pdrop", "dropout", ShareBelowOne, 0.1),
        Setting("embd_pdrop", "embedding_dropout", ShareBelowOne, 0.1),
        Setting("attn_pdrop", "attention_dropout", ShareBelowOne, 0.1),
        Setting("tie_word_embeddings", "tie", bool, True),
    )
    sizes = "n_embd and n_head"
    fixed: ClassVar = {"layer_norm_epsilon": 1e-5}
    unwritten: ClassVar = {
        "scale_attn_weights": True,
        "scale_attn_by_inverse_layer_idx": False,
        "reorder_and_upcast_attn": False,
        "add_cross_attention": False,
    }
    choices: ClassVar = {"positions": "learned", "norm": "pre", "scale_embeddings": False}
    buffers = (".attn.bias", ".attn.masked_bias")

    def read_settings(self, fields: Fields) -> dict[str, Any]:
        """See Family."""
        settings = super().read_settings(fields)
        inner = fields.number("n_inner", Width, 4 * settings["dim"])
        return settings | {"feed_forward_dim": inner, "activation_dropout": 0.0}

    def read_bundle(self, fields: Fields, model: CausalTransformerConfig) -> dict[str, Any]:
        """See Family."""
        positions = model.max_positions
        return {"task": "language", "source": "text", "target": "text", "longest_source": positions, "begin": "eos"}

    def write_own(self, bundle: ModelBundle) -> dict[str, Any]:
        """See Family."""
        model = bundle.config.model_as(CausalTransformerConfig)
        return {
            "bos_token_id": bundle.special.target_bos,
            "eos_token_id": bundle.tokenizers.target.eos,
            "n_inner": None if model.feed_forward_dim == 4 * model.dim else model.feed_forward_dim,
            "resid_pdrop": model.dropout if model.residual_dropout is None else model.residual_dropout,
        }

    def same(self, config: BundleConfig) -> list[Same]:
        """Lists the tensors that are the same; their linear layers are [in, out], where ours are [out, in]."""
        model = config.model_as(CausalTransformerConfig)
        entries = [
            Same(("decoder.embedding.table.weight",), (f"{PREFIX}wte.weight",)),
            Same(("decoder.embedding.positions.weight",), (f"{PREFIX}wpe.weight",)),
        ]
        for number in range(model.layers):
            here, there = f"decoder.layers.{number}", f"{PREFIX}h.{number}"
            attention = f"{here}.attention.attention"
            entries += linear(f"{here}.around_attention.norm", f"{there}.ln_1")
            entries += linear((f"{attention}.query", f"{attention}.key_value"), f"{there}.attn.c_attn", True)
            entries += linear(f"{attention}.output", f"{there}.attn.c_proj", True)
            entries += linear(f"{here}.around_feed_forward.norm", f"{there}.ln_2")
            entries += linear(f"{here}.feed_forward.inner", f"{there}.mlp.c_fc", True)
            entries += linear(f"{here}.feed_forward.output", f"{there}.mlp.c_proj", True)
        entries += linear("decoder.norm", f"{PREFIX}ln_f")
        return entries if model.tie else [*entries, Same(("decoder.output.weight",), ("lm_head.weight",))]

    def rename(self, config: BundleConfig, name: str) -> str | None:
        """Returns a tensor's name with the prefix that older versions left out; None for a mask."""
        if name.endswith(self.buffers):
            return None
        return name if name.startswith((PREFIX, "lm_head.")) else PREFIX + name

    def copies(self, config: BundleConfig) -> dict[str, str]:
        """Maps the output layer to the table of embeddings, if they are tied."""
        return {"lm_head.weight": f"{PREFIX}wte.weight"} if config.model_as(CausalTransformerConfig).tie else {}

    def slow_tokenizer(self, folder: Path, settings: Mapping[str, Any]) -> Backend:
        """See Family."""
        return from_merges(folder, settings)

    @torch.inference_mode()
    def outputs(self, bundle: ModelBundle, ids: Sequence[int]) -> Tensor:
        """Returns the logits after each token of a row, [tokens, vocabulary]."""
        model = bundle.writer
        tokens = torch.tensor([ids])
        nothing = tokens[:, :0]
        return model.decoder(tokens, model.start(model.encode(nothing, nothing.bool())))[0][0]

    def longest(self, bundle: ModelBundle) -> int:
        """Returns the most tokens that a model reads at once."""
        return bundle.writer.target_limit or bundle.config.longest_source
