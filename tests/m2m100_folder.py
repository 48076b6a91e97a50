"""An M2M100 or NLLB of random weights, with a SentencePiece model trained on a few lines, as transformers writes it."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from transduce.apps.exchange.huggingface.m2m100_tokenizers import LANGUAGES

SHAPE = {
    "d_model": 12,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 3,
    "decoder_attention_heads": 3,
    "encoder_ffn_dim": 20,
    "decoder_ffn_dim": 20,
    "max_position_embeddings": 64,
}
SPECIALS = ("<s>", "<pad>", "</s>", "<unk>")
NLLB_LANGUAGES = ["deu_Latn", "eng_Latn", "fra_Latn", "jpn_Jpan"]


def train_pieces(sentencepiece: Any, folder: Path, lines: Iterable[str], size: int) -> list[str]:
    """Train a BPE model and give its pieces, without its special ones, in the order of their numbers."""
    prefix = folder / "sentencepiece"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_prefix=str(prefix),
        model_type="bpe",
        vocab_size=size,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    prefix.with_suffix(".vocab").unlink()
    prefix.with_suffix(".model").rename(folder / "sentencepiece.bpe.model")
    model = sentencepiece.SentencePieceProcessor(model_file=str(folder / "sentencepiece.bpe.model"))
    numbers = range(len(model))
    return [model.id_to_piece(i) for i in numbers if not (model.is_control(i) or model.is_unknown(i))]


def write_m2m100(
    transformers: Any,
    sentencepiece: Any,
    folder: Path,
    lines: Iterable[str],
    size: int = 150,
    drop: int = 3,
    std: float = 0.3,
    **settings: Any,
) -> Any:
    """Write an M2M100 and return the model; its vocabulary lacks a few pieces and has one that no text is divided
    into."""
    folder.mkdir()
    pieces = train_pieces(sentencepiece, folder, lines, size)
    pieces = [*pieces[: len(pieces) - drop], "\u2620\u2620"]
    vocabulary = {piece: number for number, piece in enumerate([*SPECIALS, *pieces])}
    (folder / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    languages = [f"__{language}__" for language in LANGUAGES["m2m100"]]
    named = {"tokenizer_class": "M2M100Tokenizer", "additional_special_tokens": languages}
    (folder / "tokenizer_config.json").write_text(json.dumps(named))
    return _write(transformers, folder, len(vocabulary) + 100 + 8, std, settings)


def write_nllb(
    transformers: Any,
    sentencepiece: Any,
    folder: Path,
    lines: Iterable[str],
    size: int = 150,
    std: float = 0.3,
    **settings: Any,
) -> Any:
    """Write an NLLB of four languages and return the model, whose matrix has two rows too many."""
    folder.mkdir()
    train_pieces(sentencepiece, folder, lines, size)
    tokenizer = transformers.NllbTokenizer.from_pretrained(folder, extra_special_tokens=NLLB_LANGUAGES)
    tokenizer.save_pretrained(folder)
    return _write(transformers, folder, len(tokenizer) + 2, std, settings)


def _write(transformers: Any, folder: Path, rows: int, std: float, settings: dict[str, Any]) -> Any:
    torch.manual_seed(5)
    config = transformers.M2M100Config(vocab_size=rows, **{**SHAPE, **settings})
    model = transformers.M2M100ForConditionalGeneration(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm.weight" in name else 0.0, std)
        bias = model.model.decoder.layer_norm.bias  # makes ends likely, so that outputs do not all reach the limit
        model.model.shared.weight[2] += 3 * bias / bias.square().sum()
    model.generation_config.update(num_beams=5, max_length=40)
    model.save_pretrained(folder)
    return model
