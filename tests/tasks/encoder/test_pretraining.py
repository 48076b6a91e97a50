"""From raw text to an encoder that guesses hidden words, and from it to a classifier."""

from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch

import transduce
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.text_documents import documents_of
from transduce.inference.text_encoder import Encoder
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizer

PAIRS = {"dog": "barks", "cat": "meows", "cow": "moos", "hen": "clucks"}
DOCUMENTS = [[f"the {animal} {sound} ." for animal, sound in [*PAIRS.items()][i % 4 :] * 3] for i in range(16)]
SETTINGS: dict[str, Any] = {
    "task": "encoder",
    "data": {"train": "text", "validation_share": 0.2},
    "tokenizer": {"kind": "bert", "size": 60, "min_frequency": 1},
    "model": {"kind": "bert", "layers": 1, "dim": 32, "heads": 4, "max_positions": 32, "dropout": 0.0},
    "batching": {"examples": 8, "max_tokens": 24},
    "training": {"updates": 500, "precision": "float32", "report_every": 20},
    "optimizer": {"learning_rate": 0.01, "schedule": {"kind": "linear", "warmup": 10}},
    "checkpoint": {"every_updates": 100},
    "validation": {"every_updates": 250},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("encoder")
    (folder / "text").write_text("\n\n".join("\n".join(one) for one in DOCUMENTS) + "\n", encoding="utf-8")
    (folder / "tiny.toml").write_text(tomli_w.dumps(SETTINGS), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> Path:
    transduce.train(folder / "tiny.toml", folder / "run")
    return folder / "run"


def test_an_encoder_learns_which_words_are_hidden(run: Path) -> None:
    scores = ModelBundle.load(run).history["validation"]
    assert scores["masked_accuracy"] > 0.6
    assert scores["loss"] == pytest.approx(scores["masked_loss"] + scores["next_loss"])
    encoder = transduce.load(run)
    assert isinstance(encoder, Encoder)
    filled = encoder.fill("the [MASK] moos .", guesses=2)
    assert {guess.token for guess in filled.places[0].guesses} < PAIRS.keys()
    assert filled.places[0].guesses[0].text.endswith(" moos .")


@pytest.mark.slow
def test_an_encoder_learns_whether_a_text_follows_another(folder: Path, tmp_path: Path) -> None:
    letters = "abcdefgh"
    documents = [[" ".join([letters[i % 8]] * (2 + k % 3)) for k in range(12)] for i in range(40)]
    (folder / "own").write_text("\n\n".join("\n".join(one) for one in documents), encoding="utf-8")
    overrides = {"data.train": "own", "training.updates": 500, "tokenizer.size": None, "optimizer.learning_rate": 0.003}
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=overrides)
    assert ModelBundle.load(tmp_path / "run").history["validation"]["next_accuracy"] > 0.8


def test_a_classifier_starts_from_it(run: Path, folder: Path, tmp_path: Path) -> None:
    rows = [f"the {animal} {sound} .\t{'bird' if animal == 'hen' else 'beast'}\n" for animal, sound in PAIRS.items()]
    (tmp_path / "train.tsv").write_text("".join(rows * 8), encoding="utf-8")
    settings = {
        "task": "classification",
        "data": {"train": "train.tsv", "validation": "train.tsv"},
        "training": {"updates": 60, "start_from": str(run), "label_smoothing": 0.0},
        "batching": {"max_tokens": 24},
        "optimizer": {"learning_rate": 0.003},
    }
    (tmp_path / "fine.toml").write_text(tomli_w.dumps(settings), encoding="utf-8")
    result = transduce.train(tmp_path / "fine.toml", tmp_path / "fine")
    assert result.validation["accuracy"] == 1.0


@pytest.mark.slow
def test_a_resumed_run_is_the_uninterrupted_one(run: Path, folder: Path, tmp_path: Path) -> None:
    settings = {"optimizer.schedule.updates": 500}
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=settings | {"training.updates": 150})
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides=settings, resume=True)
    one, other = (ModelBundle.load(path).model.state_dict() for path in (run, tmp_path / "run"))
    assert all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize(
    "changes",
    [
        {"next_sentence": False},
        {"masking": {"dynamic": False}},
        {"batching": {"tokens": 100, "examples": None}},
        {"tokenizer": {"lowercase": True}},
    ],
    ids=str,
)
def test_each_option_trains(changes: dict[str, Any], folder: Path, tmp_path: Path) -> None:
    transduce.train(folder / "tiny.toml", tmp_path / "run", overrides={"training.updates": 2} | changes)
    scores = ModelBundle.load(tmp_path / "run").history["validation"]
    assert ("next_accuracy" in scores) == changes.get("next_sentence", True)


def test_documents_end_at_blank_lines_or_after_a_number_of_lines() -> None:
    lines = ["a", "b", "", "  ", "c", *"defgh", ""]
    text = TextCorpus("text", lambda: iter(lines), lambda: "")
    found = [document.sentences for document in documents_of(text, 4)]
    assert found == [("a", "b"), ("c", "d", "e", "f"), ("g", "h")]


def test_a_bert_tokenizer_is_the_same_each_time_and_has_its_special_tokens() -> None:
    texts = ["The dogs, the CATS and the Füchse see.", "An unseen fox: sees! 12 cats."] * 5
    config = TokenizerConfig(kind="bert", size=68, min_frequency=1, lowercase=True)
    one, other = (train_tokenizer(config, texts) for _ in range(2))
    assert one.content == other.content
    assert one.pieces([one.pad, one.unknown, one.bos, one.eos, one.mask or 0]) == [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
    ]
    assert one.encode("The CATS") == one.encode("the cats")
    assert one.decode(one.encode("the dogs see .")) == "the dogs see."
    assert one.encode("北") == [one.unknown]
