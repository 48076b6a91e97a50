"""Every head learns on every encoder: an XLNet's, a Transformer's of our own, and those of models trained before."""

import json
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

import transduce
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.bundle.model_bundle import ModelBundle
from transduce.models.transformer_encoder import TransformerTextEncoder
from transduce.models.xlnet import XLNetEncoder
from transduce.tasks.encoder_origin import CLASS, SEPARATOR
from xlnet_folder import write_xlnet

SIZES: dict[str, Any] = {"dim": 16, "heads": 2, "feed_forward_dim": 24, "dropout": 0.0}
MODELS: dict[str, dict[str, Any]] = {
    "xlnet": {"kind": "xlnet", "layers": 2, "memory": 9, **SIZES},
    "transformer-encoder": {"kind": "transformer-encoder", "layers": 2, **SIZES},
}
TEXTS = [(f"the {animal} is {word}", word) for animal in ("dog", "cat", "hen") for word in ("fine", "dull")]
TRAINING: dict[str, Any] = {
    "tokenizer": {"kind": "words", "min_frequency": 1},
    "training": {"updates": 40, "precision": "float32", "label_smoothing": 0.0},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 5}},
    "checkpoint": {"every_updates": 20},
    "validation": {"every_updates": 20},
}
READING = TRAINING | {"batching": {"examples": 6, "max_tokens": 16}}
TASKS: dict[str, dict[str, Any]] = {
    "class": {"task": "classification", "data": {"train": "pairs.tsv", "validation": "pairs.tsv", "second": 2}},
    "score": {"task": "classification", "predict": "score", "data": {"train": "n.tsv", "validation": "n.tsv"}},
    "tag": {"task": "tagging", "data": {"train": "tags.conll", "validation": "tags.conll"}},
    "span": {"task": "answering", "head": {"overlap": 3}, "data": {"train": "asked.json", "validation": "asked.json"}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With data for each task, and models to start from: an XLNet that goes on with text, and one that translates."""
    folder = tmp_path_factory.mktemp("readers")
    lines = [text for text, _ in TEXTS]
    rows = [f"{text}\tit is {word}\t{word}\n" for text, word in TEXTS]
    (folder / "pairs.tsv").write_text("".join(rows), encoding="utf-8")
    (folder / "n.tsv").write_text("".join(f"{text}\t{len(word) % 2 + i % 2}\n" for i, (text, word) in enumerate(TEXTS)))
    tags = ["\n".join(f"{word}\t{'B-x' if place == 1 else 'O'}" for place, word in enumerate(t.split())) for t in lines]
    (folder / "tags.conll").write_text("\n\n".join(tags) + "\n")
    asked = [
        {"context": one, "qas": [{"question": "who?", "answers": [{"text": one.split()[1], "answer_start": 4}]}]}
        for one in lines
    ]
    (folder / "asked.json").write_text(json.dumps({"data": [{"paragraphs": asked}]}))
    (folder / "text").write_text("\n".join(lines * 5) + "\n")
    text = {"task": "language", "data": {"train": "text"}, "batching": {"window": 6, "target_tokens": 24}}
    run(folder, "language", TRAINING | text | {"model": MODELS["xlnet"]}, updates=2)
    for side in ("de", "en"):
        (folder / f"train.{side}").write_text("\n".join(lines) + "\n")
    pairs = {"data": {"train": ["train.de", "train.en"], "validation": ["train.de", "train.en"]}}
    pairs["data"] |= {"source": "de", "target": "en"}  # type: ignore[dict-item]
    model = {"kind": "transformer", "encoder_layers": 2, "decoder_layers": 1, **SIZES}
    run(folder, "translation", TRAINING | pairs | {"model": model}, updates=2)
    write_xlnet(folder / "theirs")
    import_huggingface(folder / "theirs", folder / "imported")
    return folder


def run(folder: Path, name: str, settings: dict[str, Any], updates: int = 40) -> Path:
    settings = settings | {"training": settings["training"] | {"updates": updates}}
    (folder / f"{name}.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    transduce.train(folder / f"{name}.toml", folder / name)
    return folder / name


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("task", TASKS)
def test_every_head_learns_on_a_fresh_encoder(kind: str, task: str, folder: Path) -> None:
    reader = transduce.load(run(folder, f"{task}-{kind}", READING | TASKS[task] | {"model": MODELS[kind]}))
    text, word = TEXTS[1]
    if task == "class":
        assert [str(one) for one in reader.classify([(text, f"it is {word}"), TEXTS[0]])] == ["dull", "fine"]
    if task == "score":
        assert reader.classify(text).score == pytest.approx(1, abs=0.3)
    if task == "tag":
        assert [one.text for one in reader.tag(text).entities] == ["dog"]
    if task == "span":
        assert reader.answer("who?", text).text == "dog"


@pytest.mark.parametrize("start", ["language", "imported", "translation"])
@pytest.mark.parametrize("task", ["class", "tag"])
def test_a_head_learns_on_the_encoder_of_another_model(start: str, task: str, folder: Path) -> None:
    settings = {name: table for name, table in (READING | TASKS[task]).items() if name != "tokenizer"}
    settings["training"] = settings["training"] | {"start_from": start}
    settings["optimizer"] = {"learning_rate": 1e-9, "schedule": {"kind": "linear", "warmup": 1}}
    made = ModelBundle.load(run(folder, f"{task}-from-{start}", settings, updates=1))
    before = ModelBundle.load(folder / start)
    encoder: Any = made.model.encoder
    if start == "translation":
        assert isinstance(encoder, TransformerTextEncoder)
        pairs = zip(encoder.encoder.parameters(), before.model.encoder.parameters(), strict=True)  # type: ignore[union-attr]
    else:
        assert isinstance(encoder, XLNetEncoder)
        pairs = zip(encoder.stack.parameters(), before.model.decoder.stack.parameters(), strict=True)  # type: ignore[union-attr]
    assert all(torch.allclose(one, other, atol=1e-6) for one, other in pairs)
    if start == "imported":
        special = made.special
        assert made.tokenizers.target.pieces([special.target_bos, special.target_eos]) == [CLASS, SEPARATOR]


def test_a_fresh_translation_encoder_reads_a_text_as_it_did(folder: Path) -> None:
    made = ModelBundle.load(folder / "class-from-translation").model
    before = ModelBundle.load(folder / "translation").model
    tokens, is_real = torch.tensor([[2, 6, 7, 8, 3]]), torch.ones(1, 5, dtype=torch.bool)
    found = made.encoder(tokens, torch.zeros_like(tokens), is_real).hidden  # type: ignore[union-attr, operator]
    assert torch.allclose(found, before.encode(tokens, is_real).hidden, atol=1e-5)  # type: ignore[operator]
