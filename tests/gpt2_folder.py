"""A small GPT-2 as Hugging Face transformers writes one, made without that library."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = [
    "To be, or not to be, that is the question:\n",
    "  Whether 'tis nobler in the mind\n\n\tto suffer 🙂 Ärger\n",
] * 3
END = "<|endoftext|>"
LAYERS, DIM, HEADS, POSITIONS = 2, 12, 3, 97
CONFIG: dict[str, Any] = {
    "activation_function": "gelu_new",
    "architectures": ["GPT2LMHeadModel"],
    "model_type": "gpt2",
    "n_embd": DIM,
    "n_head": HEADS,
    "n_layer": LAYERS,
    "n_positions": POSITIONS,
}


def byte_level_tokenizer(size: int = 300, add_prefix_space: bool = False) -> Tokenizer:
    """GPT-2's kind of tokenizer, trained on a few lines."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[END],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(["".join(TEXT)] * 3, trainer)
    return tokenizer


def random_tensors(vocabulary: int) -> dict[str, torch.Tensor]:
    """Weights under the names that transformers saves."""
    random = torch.Generator().manual_seed(1)
    shapes = {"wte.weight": (vocabulary, DIM), "wpe.weight": (POSITIONS, DIM)}
    for layer in range(LAYERS):
        for name, rows, columns in (
            ("attn.c_attn", DIM, 3 * DIM),
            ("attn.c_proj", DIM, DIM),
            ("mlp.c_fc", DIM, 4 * DIM),
            ("mlp.c_proj", 4 * DIM, DIM),
        ):
            shapes |= {f"h.{layer}.{name}.weight": (rows, columns), f"h.{layer}.{name}.bias": (columns,)}
        for norm in ("ln_1", "ln_2"):
            shapes |= {f"h.{layer}.{norm}.{kind}": (DIM,) for kind in ("weight", "bias")}
    shapes |= {f"ln_f.{kind}": (DIM,) for kind in ("weight", "bias")}
    return {f"transformer.{name}": torch.randn(shape, generator=random) * 0.3 for name, shape in shapes.items()}


def write_gpt2(folder: Path, **changes: Any) -> None:
    """Write the folder; changes are to config.json."""
    folder.mkdir(parents=True)
    tokenizer = byte_level_tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": vocabulary} | changes), encoding="utf-8")
    save_file(random_tensors(vocabulary), folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    names = dict.fromkeys(("bos_token", "eos_token", "unk_token"), END)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast"} | names))
