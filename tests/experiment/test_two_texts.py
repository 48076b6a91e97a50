"""A run that adapts a model watches what it gains on the new text and loses on the old, and chooses by both."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from torch import nn

import transduce
from transduce.base.config import read_toml
from transduce.base.errors import ConfigError, DataError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import RunResult, average, load_recipe
from transduce.tasks.two_texts import validate_both
from transduce.training.distributed import ALONE, Processes
from transduce.training.validation import Validation, ValidationConfig


class Fixed:
    """Always the same scores."""

    def __init__(self, **scores: float) -> None:
        self.scores = scores

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        return Validation(self.scores, -self.scores["bleu"])

    def trials(self, model: nn.Module) -> list[Any]:
        return [self]


@pytest.mark.parametrize(("weight", "w"), [(None, 0.5), (0.0, 0.0), (0.2, 0.2), (1.0, 1.0)])
def test_the_cost_is_the_weighted_mean_of_both(weight: float | None, w: float) -> None:
    config = ValidationConfig(best_by="bleu", general_weight=weight)
    both = validate_both(Fixed(loss=3.0, bleu=30.0), Fixed(loss=5.0, bleu=40.0), config)
    found = both(nn.Module())
    assert found.cost == pytest.approx(-((1 - w) * 30 + w * 40))
    assert found.scores == {
        "loss": 3.0,
        "bleu": 30.0,
        "general_loss": 5.0,
        "general_bleu": 40.0,
        "weighted_bleu": pytest.approx(-found.cost),
    }
    assert len(both.trials(nn.Module())) == 2
    alone = Fixed(loss=3.0, bleu=30.0)
    assert validate_both(alone, None, config) is alone


@pytest.fixture
def adapted(recipe_file: Path, tiny_run: Path, tmp_path: Path) -> Any:
    """A function that trains from the tiny model, its own test set being the general text."""

    def train(*changes: str, name: str = "run") -> RunResult:
        folder = recipe_file.parent
        files = f"['{folder}/test.en', '{folder}/test.de']"
        both = [f"data.general_validation={files}", f"data.general_test={files}", f"training.start_from={tiny_run}"]
        both += ["search.size=1", "search.max_extra=5"]
        return transduce.train(load_recipe(recipe_file, [*both, *changes]), tmp_path / name)

    return train


@pytest.mark.slow
def test_both_texts_are_scored_from_the_start_on(adapted: Any, tiny_run: Path) -> None:
    result = adapted("validation.metrics=['bleu']", "validation.general_weight=0.3")
    log = [msgspec.json.decode(line) for line in (result.run / "log.jsonl").read_bytes().splitlines()]
    scores = {line["update"]: line["validation"] for line in log if "validation" in line}
    assert list(scores) == [0, 10, 20, 30]
    assert result.before == scores[0]
    known = ModelBundle.load(tiny_run).history["validation"]["loss"]
    assert result.before["loss"] == pytest.approx(known, abs=1e-4)
    for found in scores.values():
        assert found["weighted_loss"] == pytest.approx(0.7 * found["loss"] + 0.3 * found["general_loss"])
        assert {"bleu", "general_bleu", "perplexity", "general_perplexity"} <= found.keys()
    best = min(scores, key=lambda update: scores[update]["weighted_loss"])
    assert ModelBundle.load(result.run).history["updates"] == best
    assert ModelBundle.load(result.run).history["before"] == result.before
    assert result.test is not None
    assert result.test["bleu"] == result.test["general_bleu"]  # of the same text here
    assert result.to_dict()["before"] == scores[0]
    averaged = average(result.run, last=2).validation
    assert {"general_loss", "weighted_loss"} <= averaged.keys()


def test_a_model_that_only_gets_worse_is_kept_as_it_was(adapted: Any, tiny_run: Path) -> None:
    worse = ["optimizer.learning_rate=5", "optimizer.schedule={kind='constant'}", "validation.patience=2"]
    result = adapted(*worse, "validation.every_updates=2")
    assert result.updates == 4
    assert result.validation == result.before
    kept, start = (ModelBundle.load(run).model.state_dict() for run in (result.run, tiny_run))
    assert all((kept[name] == start[name]).all() for name in start)


@pytest.mark.slow
def test_a_run_that_is_resumed_does_not_score_its_start_again(adapted: Any, recipe_file: Path) -> None:
    first = adapted("training.updates=10")
    again = transduce.train(load_recipe(first.run, ["training.updates=20"]), first.run, resume=True)
    assert again.before == first.before
    log = [msgspec.json.decode(line) for line in (first.run / "log.jsonl").read_bytes().splitlines()]
    assert [line["update"] for line in log if "validation" in line] == [0, 10, 20]


def test_a_general_text_is_recorded_as_an_input_and_a_recipe_of_the_run(adapted: Any) -> None:
    result = adapted("training.updates=1")
    inputs = msgspec.json.decode((result.run / "inputs.json").read_bytes())
    assert {"data.general_validation", "data.general_test"} <= {each["setting"] for each in inputs}
    recorded = read_toml(result.run / "experiment.toml")["data"]
    assert (result.run / recorded["general_test"][0]).is_file()


def test_what_does_not_fit_is_refused(recipe_file: Path, adapted: Any, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"general_weight: there is no data\.general_validation"):
        transduce.train(load_recipe(recipe_file, ["validation.general_weight=0.5"]), tmp_path / "one")
    (tmp_path / "empty").touch()
    with pytest.raises(DataError, match="empty"):
        adapted(f"data.general_validation=['{tmp_path}/empty', '{tmp_path}/empty']", name="two")


@pytest.mark.slow
def test_language_models_watch_two_texts_too(tmp_path: Path) -> None:
    for name, line in (("new", "the cow sees the moon\n"), ("old", "a fish swims in the sea\n")):
        (tmp_path / f"{name}.txt").write_text(line * 60, encoding="utf-8")
        (tmp_path / f"{name}.dev.txt").write_text(line * 20, encoding="utf-8")
    settings = {
        "task": "language",
        "data": {"train": str(tmp_path / "old.txt"), "validation": str(tmp_path / "old.dev.txt")},
        "model": {"kind": "causal-transformer", "layers": 1, "dim": 12, "heads": 2, "feed_forward_dim": 17},
        "tokenizer": {"kind": "characters", "min_frequency": 1},
        "batching": {"window": 16, "target_tokens": 160},
        "training": {"updates": 60, "precision": "float32"},
        "optimizer": {"learning_rate": 0.02, "schedule": {"kind": "constant"}},
    }
    recipe = tmp_path / "old.toml"
    import tomli_w

    recipe.write_text(tomli_w.dumps(settings), encoding="utf-8")
    transduce.train(recipe, tmp_path / "general")
    new, old = tmp_path / "new.dev.txt", tmp_path / "old.dev.txt"
    data = {"train": str(tmp_path / "new.txt"), "validation": str(new), "test": str(new)}
    changes = {
        "data": {**data, "general_validation": str(old), "general_test": str(old)},
        "training": {"start_from": str(tmp_path / "general"), "updates": 30},
        "validation": {"every_updates": 10, "general_weight": 0.0},
    }
    result = transduce.train(load_recipe(recipe, changes), tmp_path / "adapted")
    assert result.validation["loss"] < result.before["loss"]
    assert result.validation["general_loss"] > result.before["general_loss"]
    assert result.test is not None
    assert result.test["general_perplexity"] > result.test["perplexity"]
