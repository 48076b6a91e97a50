"""A MarianMT of random weights, with SentencePiece models trained on a few lines, written as transformers writes it."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

SHAPE = {
    "d_model": 12,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 64,
    "activation_function": "swish",
    "scale_embedding": True,
}


def write_marian(
    transformers: Any,
    sentencepiece: Any,
    folder: Path,
    sides: Sequence[Sequence[str]],
    size: int = 120,
    drop: int = 3,
    std: float = 0.3,
    end: float = 0.0,
    **settings: Any,
) -> Any:
    """Write the folder and return the model; the joint vocabulary lacks a few of the source's pieces.

    `end` is added to the logits of the token that ends outputs.
    """
    folder.mkdir()
    pieces: dict[str, None] = {"</s>": None, "<unk>": None}
    for name, lines in zip(("source", "target"), sides, strict=True):
        prefix = folder / name
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_prefix=str(prefix),
            vocab_size=size,
            hard_vocab_limit=False,
            minloglevel=2,
            num_threads=1,
        )
        prefix.with_suffix(".model").rename(folder / f"{name}.spm")
        prefix.with_suffix(".vocab").unlink()
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / f"{name}.spm"))
        pieces |= dict.fromkeys(
            [model.id_to_piece(i) for i in range(len(model)) if not (model.is_control(i) or model.is_unknown(i))][
                : len(model) - drop
            ]
        )
    vocabulary = {piece: number for number, piece in enumerate([*pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    names = {"source_lang": "de", "target_lang": "en", "tokenizer_class": "MarianTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(names))
    torch.manual_seed(5)
    padding = len(vocabulary) - 1
    ids = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0, "forced_eos_token_id": 0}
    config = transformers.MarianConfig(vocab_size=len(vocabulary), **{**SHAPE, **ids, **settings})
    model = transformers.MarianMTModel(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "embed_positions" not in name:
                parameter.normal_(1.0 if "norm.weight" in name else 0.0, std)
        model.final_logits_bias.normal_(0, 0.3)[:, 0] += end
        model.generation_config.update(num_beams=4, max_length=40, bad_words_ids=[[padding]])
    model.save_pretrained(folder)
    return model
