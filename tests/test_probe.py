"""A model whose probe was tampered with, or does not hold, is refused in one line."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from safetensors.torch import load_file, save_file

from transduce.base.errors import CheckpointError
from transduce.base.files import sha256
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import _on_cpu, _score
from transduce.models.families import build_model

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def model(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a bundle, to be damaged."""
    return Path(shutil.copytree(tiny_run / "model", tmp_path / "model"))


def complaint(model: Path) -> str:
    with pytest.raises(CheckpointError) as caught:
        ModelBundle.load(model)
    assert "\n" not in str(caught.value)
    assert str(model) in str(caught.value)
    return str(caught.value)


def change_probe(model: Path, change: Change) -> None:
    probe = msgspec.json.decode((model / "probe.json").read_bytes())
    change(probe)
    (model / "probe.json").write_bytes(msgspec.json.encode(probe))


def rewrite(model: Path, name: str, content: bytes) -> None:
    """Change a file, and its checksum with it."""
    (model / name).write_bytes(content)
    change_probe(model, lambda probe: probe["sha256"].update({name: sha256(model / name)}))


HOSTILE: dict[str, tuple[Change, str]] = {
    "a token beyond the vocabulary": (lambda p: p["target"][0].append(10**6), "beyond its vocabulary"),
    "a huge token": (lambda p: p["target"][1].append(2**70), "beyond its vocabulary"),
    "a negative token": (lambda p: p["target"][0].append(-1), "beyond its vocabulary"),
    "a source token beyond the vocabulary": (lambda p: p["source"][0].append(10**6), "beyond its vocabulary"),
    "no probes": (lambda p: p.update(source=[], target=[], text=[], scores=[]), "damaged"),
    "a source too few": (lambda p: p["source"].pop(), "not as many"),
    "a target too few": (lambda p: p["target"].pop(), "not as many"),
    "a text too many": (lambda p: p["text"].append("x"), "not as many"),
    "no scores": (lambda p: p["scores"].clear(), "not as many"),
    "an endless target": (lambda p: p["target"][0].extend([5] * 100_000), "tokens, where 4,000 are the most"),
    "an endless file": (lambda p: p["text"].append("x" * 2_000_000), "more than 1,048,576 bytes"),
    "text for a number": (lambda p: p["target"][0].append("5"), "damaged"),
    "a score that is none": (lambda p: p["scores"].insert(0, None), "damaged"),
    "no table of checksums": (lambda p: p.pop("sha256"), "damaged"),
    "no checksum of the weights": (lambda p: p["sha256"].pop("weights.safetensors"), "no SHA-256 of weights"),
    "a checksum of what never ends": (lambda p: p["sha256"].update({"/dev/zero": "0"}), "outside its folder"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_probe_is_one_line(model: Path, name: str) -> None:
    change, words = HOSTILE[name]
    change_probe(model, change)
    assert words in complaint(model)


ODD = {
    "nothing": b"",
    "a list": b"[]",
    "a number": b"3",
    "too deep": b"[" * 100_000,
    "not UTF-8": b'{"text": "\xff"}',
    "beyond float": b'{"scores": [1e999]}',
    "zeros": b"\0" * 100,
}


@pytest.mark.parametrize("content", ODD.values(), ids=ODD)
@pytest.mark.parametrize("name", ["probe.json", "history.json", "config.toml"])
def test_a_file_of_other_contents_is_named(model: Path, name: str, content: bytes) -> None:
    if name == "probe.json":
        (model / name).write_bytes(content)
    else:
        rewrite(model, name, content)
    assert name in complaint(model)


def test_a_probe_longer_than_the_table_of_positions_is_one_line(model: Path, tmp_path: Path) -> None:
    trained = ModelBundle.load(model)
    config = msgspec.structs.replace(trained.config.model, positions="learned", max_positions=20)
    vocabularies = len(trained.tokenizers.source), len(trained.tokenizers.target)
    fresh = replace(
        trained,
        config=msgspec.structs.replace(trained.config, model=config),
        model=build_model(config, *vocabularies),
    )
    fresh.save(tmp_path / "learned", [("The dog sleeps.", "Der Hund schläft.")])
    change_probe(tmp_path / "learned", lambda probe: probe["target"][0].extend([5] * 20))
    assert "19 are the most" in complaint(tmp_path / "learned")


def test_weights_that_are_not_numbers_are_refused(model: Path) -> None:
    weights = load_file(model / "weights.safetensors")
    weights["decoder.norm.weight"][3] = torch.nan
    save_file(weights, model / "weights.safetensors")
    change_probe(model, lambda p: p["sha256"].update({"weights.safetensors": sha256(model / "weights.safetensors")}))
    assert "scores its probe nan" in complaint(model)


def test_a_model_whose_scores_are_not_numbers_is_not_saved(model: Path, tmp_path: Path) -> None:
    bundle = ModelBundle.load(model)
    bundle.model.decoder.norm.weight.data[3] = torch.nan
    with pytest.raises(FloatingPointError, match="is not saved"):
        bundle.save(tmp_path / "again", [("The dog sleeps.", "Der Hund schläft.")])
    assert not (tmp_path / "again").exists()


def test_a_probe_is_scored_on_the_cpu_wherever_the_model_is_going(model: Path) -> None:
    assert ModelBundle.load(model, "meta").device.type == "meta"  # where nothing can be computed


def test_a_copy_on_the_cpu_scores_as_the_model_and_shares_what_it_shares(model: Path) -> None:
    bundle = ModelBundle.load(model)
    copied = _on_cpu(bundle.model)
    assert copied.decoder.output.weight is copied.decoder.embedding.table.weight
    texts = ([[7, 5, 6], [9]], [[5], [6, 7]])
    assert _score("pairs", copied, *texts, bundle.special) == _score("pairs", bundle.model, *texts, bundle.special)
