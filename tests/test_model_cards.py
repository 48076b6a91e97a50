"""A model's card says what a reader asks for, from what is known, and nothing of the machine's folders."""

import re
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
import torch

import transduce
from transduce.apps.exchange.huggingface.export_huggingface import export_huggingface
from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle, card_of
from transduce.experiment import load_recipe
from transduce.experiment.machine import describe_machine
from transduce.training.observers import last_samples


def rows(card: str) -> dict[str, str]:
    """The table of facts."""
    return dict(re.findall(r"^\| ([\w ]+) \| (.+) \|$", card, re.MULTILINE))


@pytest.fixture(scope="module")
def trained(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    changes = ["license=cc-by-4.0", "training.updates=3", "validation.every_updates=3", "validation.samples=3"]
    return transduce.train(load_recipe(recipe_file, changes), tmp_path_factory.mktemp("cards") / "run").run


def test_a_trained_models_card_says_what_readers_ask_for(trained: Path) -> None:
    card = (trained / "model" / "README.md").read_text(encoding="utf-8")
    bundle = ModelBundle.load(trained)
    found = rows(card)
    assert card.startswith("# English to German\n")
    assert found["learned from"] == "train.en, train.de: 120 sentence pairs"
    assert found["machine"] == describe_machine(bundle.device, 1, torch.float32)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", found["date"]) and found["licence"] == "cc-by-4.0"
    assert re.fullmatch(r"3 updates, (1 whole pass over the data, )?[\d.]+ minutes", found["training"])
    sample = last_samples(trained / "log.jsonl")[0]
    assert f"| {sample['source']} | {sample['reference']} |" in card
    assert "BLEU by the length of the source" in card and "seen them in training: " in card


def test_numbers_of_the_parts_are_those_of_the_test_set(trained: Path) -> None:
    parts = ModelBundle.load(trained).history["parts"]
    recipe = load_recipe(trained)
    test = [recipe.folder / name for name in recipe.config.data.test]
    sources, references = (path.read_text(encoding="utf-8").splitlines() for path in test)
    assert sum(part["sentences"] for part in parts["lengths"]) == len(sources)
    words = sum(len(re.findall(r"[\w'-]+", reference)) for reference in references)
    assert sum(part["words"] for part in parts["words"]) == pytest.approx(words, rel=0.05)
    assert all(0 <= part["recall"] <= 1 for part in parts["words"])


def test_no_folder_no_empty_count_and_no_address_is_written(trained: Path) -> None:
    bundle = ModelBundle.load(trained)
    told = {"data": "../../private/mine.de, /home/ada/x/mine.en", "epochs": 0, "updates": 7, "seconds": 7200.0}
    card = card_of(replace(bundle, history=told))
    assert rows(card) == {
        "learned from": "mine.de, mine.en",
        "training": "7 updates, 2.0 hours",
        "licence": "not stated",
    }
    for word in ("..", "/home", "ada", "epochs", "http", "seed"):
        assert word not in card
    assert "Not measured." in card and "## Samples" not in card


def test_a_card_of_what_is_not_known_has_no_hole(trained: Path) -> None:
    bundle = ModelBundle.load(trained)
    config = msgspec.structs.replace(bundle.config, source="source", target="target")
    card = card_of(replace(bundle, config=config, history={}))
    assert card.startswith("# source to target\n") and rows(card) == {"licence": "not stated"}


def test_text_of_samples_cannot_break_the_table(trained: Path) -> None:
    bundle = ModelBundle.load(trained)
    samples = [{"source": "a | b\n\nc", "reference": "x" * 500, "output": ""}]
    card = card_of(replace(bundle, history={"samples": samples}))
    (line,) = [line for line in card.splitlines() if line.startswith("| a")]
    assert line == rf"| a \| b c | {'x' * 157}... |"


def test_a_licence_is_an_identifier_and_goes_along_with_an_export(tmp_path: Path, recipe_file: Path) -> None:
    with pytest.raises(ConfigError, match=r"license: expected an identifier such as cc-by-4.0"):
        load_recipe(recipe_file, ["license=The MIT License"])
    from gpt2_folder import write_gpt2
    from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface

    write_gpt2(tmp_path / "gpt2")
    import_huggingface(tmp_path / "gpt2", tmp_path / "model")
    licensed = ModelBundle.load(tmp_path / "model").with_history(license="mit")
    licensed.save(tmp_path / "licensed", [("a b", "a b")])
    for license, expected in ((None, "mit"), ("apache-2.0", "apache-2.0")):
        export_huggingface(tmp_path / "licensed", tmp_path / expected, license)
        card = (tmp_path / expected / "README.md").read_text(encoding="utf-8")
        assert f"license: {expected}" in card and rows(card)["licence"] == expected
