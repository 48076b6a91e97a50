"""A small XLNet as Hugging Face transformers writes one, made without that library."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXT = [
    "To be, or not to be, that is the question:",
    "Whether 'tis nobler in the mind to suffer, or Äquator, and 12 foxes",
    "the slings and arrows of the question, or to take arms",
]
SPECIAL = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
LAYERS, DIM, HEADS, INNER, MEMORY = 2, 12, 3, 20, 23
CONFIG: dict[str, Any] = {
    "architectures": ["XLNetLMHeadModel"],
    "attn_type": "bi",
    "bi_data": False,
    "clamp_len": -1,
    "d_head": DIM // HEADS,
    "d_inner": INNER,
    "d_model": DIM,
    "ff_activation": "gelu",
    "mem_len": MEMORY,
    "model_type": "xlnet",
    "n_head": HEADS,
    "n_layer": LAYERS,
    "reuse_len": None,
    "same_length": False,
    "untie_r": True,
}
NAMES = ("unk", "bos", "eos", "cls", "sep", "pad", "mask")


def unigram_tokenizer() -> Tokenizer:
    """XLNet's kind of tokenizer, trained on a few lines."""
    tokenizer = Tokenizer(models.Unigram())
    quotes = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    tokenizer.normalizer = normalizers.Sequence([*quotes, normalizers.NFKD(), normalizers.StripAccents()])
    spaces = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), spaces])
    tokenizer.decoder = decoders.Metaspace(replacement="▁", prepend_scheme="always")
    trainer = trainers.UnigramTrainer(
        vocab_size=90, special_tokens=list(SPECIAL), unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator(TEXT * 3, trainer)
    marked = [AddedToken(name, lstrip=name == "<mask>", normalized=False) for name in SPECIAL]
    tokenizer.add_special_tokens(marked)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2",
        pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2",
        special_tokens=[(name, tokenizer.token_to_id(name)) for name in ("<sep>", "<cls>")],
    )
    return tokenizer


def random_tensors(vocabulary: int) -> dict[str, torch.Tensor]:
    """Weights under the names that transformers saves."""
    shapes: dict[str, tuple[int, ...]] = {
        "lm_loss.bias": (vocabulary,),
        "transformer.word_embedding.weight": (vocabulary, DIM),
        "transformer.mask_emb": (1, 1, DIM),
    }
    for layer in range(LAYERS):
        here, head = f"transformer.layer.{layer}", (HEADS, DIM // HEADS)
        shapes |= {f"{here}.rel_attn.{name}": (DIM, *head) for name in "qkvor"}
        shapes |= {f"{here}.rel_attn.r_{name}_bias": head for name in "rsw"}
        shapes |= {f"{here}.rel_attn.seg_embed": (2, *head)}
        for norm in ("rel_attn", "ff"):
            shapes |= {f"{here}.{norm}.layer_norm.{kind}": (DIM,) for kind in ("weight", "bias")}
        shapes |= {f"{here}.ff.layer_1.weight": (INNER, DIM), f"{here}.ff.layer_1.bias": (INNER,)}
        shapes |= {f"{here}.ff.layer_2.weight": (DIM, INNER), f"{here}.ff.layer_2.bias": (DIM,)}
    random = torch.Generator().manual_seed(1)
    return {
        name: torch.randn(shape, generator=random) * 0.5 + name.endswith("norm.weight")  # norms about 1
        for name, shape in shapes.items()
    }


def write_xlnet(folder: Path, tokenizer_class: str = "XLNetTokenizerFast", **changes: Any) -> None:
    """Write the folder; changes are to config.json."""
    folder.mkdir(parents=True)
    tokenizer = unigram_tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": vocabulary} | changes), encoding="utf-8")
    save_file(random_tensors(vocabulary), folder / "model.safetensors", {"format": "pt"})
    tokenizer.save(str(folder / "tokenizer.json"))
    names = {f"{name}_token": token for name, token in zip(NAMES, SPECIAL[: len(NAMES)], strict=True)}
    names["mask_token"] = {"content": "<mask>", "lstrip": True, "__type": "AddedToken"}  # type: ignore[assignment]
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": tokenizer_class} | names))
