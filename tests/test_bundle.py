"""A model's folder gives back the same model, or says what is wrong with it."""

import shutil
from pathlib import Path

import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file

from transduce.base.errors import CheckpointError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.translator import Translator


@pytest.fixture
def model(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a bundle, to be damaged."""
    return Path(shutil.copytree(tiny_run / "model", tmp_path / "model"))


def complaint(model: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        ModelBundle.load(model)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_out_and_in_again_gives_the_same_weights_and_translations(model: Path, tmp_path: Path) -> None:
    first = ModelBundle.load(model)
    first.save(tmp_path / "again", [("The dog sleeps.", "Der Hund schläft.")])
    second = ModelBundle.load(tmp_path / "again")
    for (name, before), (same_name, after) in zip(
        first.model.state_dict().items(), second.model.state_dict().items(), strict=True
    ):
        assert name == same_name
        assert torch.equal(before, after)
    texts = ["The old man buys a red car.", "I see the dog."]
    assert Translator(first).translate(texts) == Translator(second).translate(texts)


def test_a_tied_matrix_is_stored_once_and_shared_again(model: Path) -> None:
    stored = load_file(model / "weights.safetensors")
    assert "decoder.output.weight" not in stored
    loaded = ModelBundle.load(model).model
    assert loaded.decoder.output.weight is loaded.decoder.embedding.table.weight


def test_nothing_in_it_is_pickled(model: Path) -> None:
    assert {file.suffix for file in model.iterdir()} <= {".toml", ".json", ".safetensors", ".md"}


def test_a_changed_weight_is_noticed(model: Path) -> None:
    path = model / "weights.safetensors"
    weights = load_file(path)
    weights["decoder.norm.weight"][3] += 0.5
    save_file(weights, path)
    assert "weights.safetensors has changed since it was saved" in complaint(model)


def test_arithmetic_that_changed_is_noticed_by_the_probe(model: Path) -> None:
    probe = msgspec.json.decode((model / "probe.json").read_bytes())
    probe["scores"][0] += 0.5
    (model / "probe.json").write_bytes(msgspec.json.encode(probe))
    assert "scores its probe" in complaint(model)


@pytest.mark.parametrize("name", ["config.toml", "weights.safetensors", "source.json", "target.json", "probe.json"])
def test_a_missing_file_is_named(model: Path, name: str) -> None:
    (model / name).unlink()
    assert name in complaint(model)


def test_a_newer_format_asks_for_a_newer_program(model: Path) -> None:
    config = model / "config.toml"
    config.write_text(config.read_text().replace("format = 2", "format = 3"))
    assert "install a newer Transduce" in complaint(model)


def test_a_folder_that_is_no_model_is_refused(tmp_path: Path) -> None:
    assert "is not a model" in complaint(tmp_path)
    assert "no such model" in complaint(tmp_path / "nowhere")


def test_a_run_in_progress_stands_for_its_best_checkpoint(tiny_run: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    shutil.rmtree(run / "model")
    best = msgspec.json.decode((run / "best.json").read_bytes())["checkpoint"]
    expected = load_file(run / "checkpoints" / best / "bundle" / "weights.safetensors")
    assert torch.equal(ModelBundle.load(run).model.state_dict()["decoder.norm.weight"], expected["decoder.norm.weight"])


def test_the_card_may_be_edited(model: Path) -> None:
    (model / "README.md").write_text("# Ours\n")
    ModelBundle.load(model)
