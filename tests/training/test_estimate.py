"""How long a run will take is told before its first update, and nothing moves for it."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import transduce
from transduce.data.batch import Batch
from transduce.data.planned import Epoch, Plan, Rows
from transduce.experiment import load_recipe
from transduce.objectives.objective import Loss
from transduce.training.distributed import Part, Processes
from transduce.training.estimate import Estimate, describe_duration, seconds_per_update
from transduce.training.gradients import OneProcess
from transduce.training.observers import Observer, Report


def epoch_of(batches: Plan) -> Epoch[Batch]:
    def make(rows: Rows) -> Batch:
        ids, real = torch.from_numpy(rows)[None], torch.ones(1, len(rows), dtype=torch.bool)
        return Batch(ids, real, ids, ids, real)

    return Epoch(batches, tokens=lambda rows: int(rows.sum()), make=make, too_large=lambda rows: ("", ""))


@pytest.mark.parametrize("precision", [torch.float32, torch.bfloat16])
def test_no_weight_gradient_or_random_state_is_left_changed(precision: torch.dtype) -> None:
    model = nn.Linear(2, 3)

    def objective(model: nn.Module, batch: Batch, carried: object) -> Loss:
        total = torch.dropout(model(torch.ones(2, dtype=precision)), 0.5, True).sum()
        return Loss(total, total, torch.tensor(1))

    weight, random = model.weight.detach().clone(), torch.get_rng_state()
    epoch = epoch_of([np.array([n, n + 1]) for n in range(30)])
    gradients = OneProcess(model, objective, precision)
    seconds = seconds_per_update(gradients, epoch, lambda rows: [Part(rows)], Processes())
    assert seconds > 0
    assert torch.equal(model.weight, weight)
    assert model.weight.grad is None
    assert torch.equal(torch.get_rng_state(), random)


class Listener(Observer):
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.estimate: Estimate | None = None

    def started(self, estimate: Estimate) -> None:
        self.estimate = estimate
        self.heard.append("started")

    def report(self, report: Report) -> None:
        self.heard.append("report")

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        self.heard.append("validated")


def test_an_estimate_comes_before_the_first_update_of_a_run_and_of_its_going_on(
    recipe_file: Path, tmp_path: Path
) -> None:
    for made, updates in ((0, 5), (5, 10)):
        listener, told = Listener(), list[str]()
        recipe = load_recipe(str(recipe_file), [f"training.updates={updates}"])
        transduce.train(recipe, tmp_path / "run", resume=True, observers=[listener], tell=told.append)
        assert listener.heard[:2] == ["started", "report"]
        assert listener.estimate is not None
        assert (listener.estimate.update, listener.estimate.updates) == (made, updates)
        assert listener.estimate.seconds_per_update > 0
        assert listener.estimate.describe() in told


@pytest.mark.parametrize(
    ("seconds", "described"),
    [
        (3.2, "3 seconds"),
        (85, "85 seconds"),
        (100, "2 minutes"),
        (740, "12 minutes"),
        (5.5e3, "1.5 hours"),
        (9e4, "25 hours"),
        (2e5, "2.3 days"),
    ],
)
def test_a_duration_has_the_unit_that_suits_it(seconds: float, described: str) -> None:
    assert describe_duration(seconds) == described


def test_an_estimate_is_one_line_and_one_of_many_hours_says_what_to_do() -> None:
    estimate = Estimate(100, 1200, 0.62)
    assert estimate.describe() == "about 11 minutes: 1,100 updates of about 0.62 s, validation not counted"
    assert estimate.advice is None
    assert "training.updates" in (Estimate(0, 20_000, 40.0).advice or "")
    assert Estimate(0, 20_000, 40.0, "cuda").advice is None
