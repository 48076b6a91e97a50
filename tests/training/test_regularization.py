"""Runs that learn in two passes, skip layers and segment text anew resume exactly, on one process or several."""

from pathlib import Path

import msgspec
import pytest
import torch
from safetensors.torch import load_file
from stop_at_update import Stop

import transduce
from forked_run import train_in_processes
from transduce.base.errors import ConfigError, Interrupted
from transduce.experiment import load_recipe

pytestmark = pytest.mark.slow

CHANGES = [
    "tokenizer={kind='bpe', size=400}",
    "training.r_drop=5",
    "training.accumulate=2",
    "model.decoder_layers=3",
    "training.updates=24",
    "checkpoint.every_updates=8",
    "training.report_every=4",
]


def result_of(run: Path) -> tuple[dict[str, torch.Tensor], list[float]]:
    log = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    return load_file(run / "model" / "weights.safetensors"), [line["loss"] for line in log if "loss" in line]


def test_a_stopped_run_ends_as_the_one_left_alone(recipe_file: Path, tmp_path: Path) -> None:
    recipe = load_recipe(str(recipe_file), CHANGES)
    transduce.train(recipe, tmp_path / "alone")
    with pytest.raises(Interrupted):
        transduce.train(recipe, tmp_path / "stopped", observers=[Stop(12)])
    transduce.train(recipe, tmp_path / "stopped", resume=True)
    (weights, losses), (of_alone, losses_of_alone) = (result_of(tmp_path / name) for name in ("stopped", "alone"))
    assert losses == losses_of_alone
    assert losses[-1] < losses[0]
    assert weights.keys() == of_alone.keys()
    assert all(torch.equal(value, of_alone[name]) for name, value in weights.items())


def test_two_processes_learn_the_same_of_the_same_segmentations(recipe_file: Path, tmp_path: Path) -> None:
    still = ["model.dropout=0.0", "training.precision=float32", "training.updates=6", "training.report_every=1"]
    changes = ["tokenizer={kind='bpe', size=400}", "training.r_drop=5", *still]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "one")
    train_in_processes(2, load_recipe(str(recipe_file), changes), tmp_path / "two")
    assert result_of(tmp_path / "two")[1] == pytest.approx(result_of(tmp_path / "one")[1], rel=1e-4)


def test_encoders_and_models_that_remember_do_not_learn_in_two_passes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"training.r_drop is for translation and language models; leave it out"):
        transduce.train(load_recipe("sst2", ["training.r_drop=5", "training.start_from=bert"]), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"training.r_drop: a model that remembers reads each text once"):
        transduce.train(load_recipe("shakespeare-xl", ["training.r_drop=5"]), tmp_path / "run")
