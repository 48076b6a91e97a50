"""A small BERT as Hugging Face transformers writes one, made without that library."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXT = ["The dog sees a boring, but moving film.", "Ada Lovelace lives in London: who?", "a group of kids [x]"]
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
CONFIG: dict[str, Any] = {
    "architectures": ["BertModel"],
    "hidden_act": "gelu",
    "hidden_size": 12,
    "intermediate_size": 20,
    "max_position_embeddings": 512,
    "model_type": "bert",
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "type_vocab_size": 2,
}


def wordpiece_tokenizer(size: int = 90) -> Tokenizer:
    """BERT's kind of tokenizer, trained on a few lines."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, special_tokens=list(SPECIAL.values()), min_frequency=1, show_progress=False
    )
    tokenizer.train_from_iterator(TEXT * 2, trainer)
    ids = {name: tokenizer.token_to_id(token) for name, token in SPECIAL.items()}
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["sep"]), ("[CLS]", ids["cls"]))
    return tokenizer


def random_tensors(vocabulary: int) -> dict[str, torch.Tensor]:
    """Weights under the names that transformers saves."""
    random, dim, inner = torch.Generator().manual_seed(1), CONFIG["hidden_size"], CONFIG["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (vocabulary, dim),
        "embeddings.position_embeddings.weight": (CONFIG["max_position_embeddings"], dim),
        "embeddings.token_type_embeddings.weight": (2, dim),
    }
    layers = {"pooler.dense": (dim, dim)}
    norms = ["embeddings.LayerNorm"]
    for number in range(CONFIG["num_hidden_layers"]):
        there = f"encoder.layer.{number}"
        layers |= {f"{there}.attention.self.{name}": (dim, dim) for name in ("query", "key", "value")}
        layers |= {
            f"{there}.attention.output.dense": (dim, dim),
            f"{there}.intermediate.dense": (inner, dim),
            f"{there}.output.dense": (dim, inner),
        }
        norms += [f"{there}.attention.output.LayerNorm", f"{there}.output.LayerNorm"]
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    for name in norms:
        shapes |= {f"{name}.{kind}": (dim,) for kind in ("weight", "bias")}
    return {name: torch.randn(shape, generator=random) * 0.3 for name, shape in shapes.items()}


def write_bert(folder: Path, **settings: Any) -> Path:
    """Write the folder; settings replace those of config.json."""
    folder.mkdir(parents=True)
    tokenizer = wordpiece_tokenizer()
    vocabulary = tokenizer.get_vocab_size()
    tokenizer.save(str(folder / "tokenizer.json"))
    named = {f"{name}_token": token for name, token in SPECIAL.items()}
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"} | named))
    (folder / "config.json").write_text(json.dumps(CONFIG | {"vocab_size": vocabulary} | settings))
    save_file(random_tensors(vocabulary), folder / "model.safetensors", {"format": "pt"})
    return folder
