"""What the loop does about memory: all is tried before the first update, and what runs out later is one line."""

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import transduce
from transduce.base.errors import ConfigError
from transduce.experiment import load_recipe
from transduce.objectives.next_token import NextToken
from transduce.tasks.translation import translation_validation
from transduce.training.checkpoint import whole_checkpoints
from transduce.training.observers import Observer
from transduce.training.trainer import Trainer


class Reports(Observer):
    """An observer that counts."""

    def __init__(self) -> None:
        self.updates: list[int] = []

    def report(self, report: Any) -> None:
        self.updates.append(report.update)


def lacks_memory(*_: object, **__: object) -> Any:
    raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 99 bytes")


def test_validation_beyond_the_memory_is_said_before_the_first_update(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_validation, "measure_loss", lacks_memory)
    reports, recipe = Reports(), load_recipe(str(recipe_file), ["training.report_every=1"])
    with pytest.raises(
        ConfigError, match=r"a validation batch, \d+ pairs of .* does not fit into the memory of cpu; raise training"
    ):
        transduce.train(recipe, tmp_path / "run", observers=[reports])
    assert reports.updates == []


def test_translating_validation_data_is_tried_before_the_first_update_where_it_is_asked_for(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translation_validation.Translator, "translate", lacks_memory)
    reports = Reports()
    recipe = load_recipe(str(recipe_file), ["validation.metrics=['bleu']", "training.report_every=1"])
    with pytest.raises(
        ConfigError, match=r"translating the validation data does not fit into .* do without validation\.metrics"
    ):
        transduce.train(recipe, tmp_path / "run", observers=[reports])
    assert reports.updates == []


def test_memory_that_runs_out_later_is_one_line_and_what_was_saved_stays(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def objective_that_fails(self: NextToken, model: nn.Module, *rest: Any) -> Any:
        if whole_checkpoints(tmp_path / "run"):
            lacks_memory()
        return compute(self, model, *rest)

    compute = NextToken.__call__
    monkeypatch.setattr(NextToken, "__call__", objective_that_fails)
    with pytest.raises(ConfigError, match=r"memory ran out at update 11; .* resume when more is free"):
        transduce.train(load_recipe(str(recipe_file)), tmp_path / "run")
    assert whole_checkpoints(tmp_path / "run")


def test_memory_is_tried_as_at_the_update_that_reads_most_tokens_of_the_models_own(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rates, compute = [], NextToken.__call__

    def remember(self: NextToken, *arguments: Any) -> Any:
        rates.append(self.teacher_forcing())
        return compute(self, *arguments)

    monkeypatch.setattr(NextToken, "__call__", remember)
    falls = ["training.teacher_forcing={first=1.0, last=0.25}", "training.updates=4"]
    transduce.train(load_recipe(str(recipe_file), falls), tmp_path / "run")
    tried, made = rates[:-4], rates[-4:]
    assert tried[0] == 0.25
    assert set(tried) <= {0.25, 0.8125}  # the latter to tell how long the run will take
    assert made == pytest.approx([0.8125, 0.625, 0.4375, 0.25])


def test_nothing_of_the_trial_stays_in_weights_and_random_generators(recipe_file: Path, tmp_path: Path) -> None:
    states = []
    train = Trainer._train

    def remember(self: Trainer) -> None:
        states.append(torch.get_rng_state())
        train(self)

    recipe = load_recipe(str(recipe_file), ["training.updates=3", "validation.metrics=['bleu']", "optimizer.kind=muon"])
    for is_tried in (True, False):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "_train", remember)
            if not is_tried:
                patch.setattr(Trainer, "_check_memory", lambda self: None)
            transduce.train(recipe, tmp_path / f"{is_tried}")
    assert torch.equal(*states)
    tried, plain = ((tmp_path / f"{one}/model/weights.safetensors").read_bytes() for one in (True, False))
    assert tried == plain
