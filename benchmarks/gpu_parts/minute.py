"""BLEU of a recipe after a minute of training."""

import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import torch

import transduce
from gpu_parts.measuring import Figures, Measurement, Scale
from transduce.experiment import load_recipe
from transduce.training.observers import Observer, Report

SHORT = [
    "training.updates=24",
    "training.report_every=12",  # the second report knows how long updates take
    "search={size=1, max_ratio=0.0, max_extra=1}",
]
"""Changes to a recipe, to learn how many updates a minute has."""


class Pace(Observer):
    """Observes how long updates take."""

    seconds_per_update = 0.0

    def report(self, report: Report) -> None:
        self.seconds_per_update = report.seconds_per_update


def train_for_a_minute(scale: Scale, device: torch.device) -> Iterator[Measurement]:
    """As many updates as a minute has, at most those of the recipe, and the test of the model."""
    yield f"Transduce, {scale.recipe}", partial(train_and_test, scale, device)


def train_and_test(scale: Scale, device: torch.device) -> Figures:
    most = load_recipe(scale.recipe, scale.changes).config.training.updates
    assert most is not None
    pace = Pace()
    with tempfile.TemporaryDirectory() as folder:
        train = partial(transduce.train, scale.recipe, device=str(device), observers=[pace])
        train(Path(folder) / "pace", overrides=[*scale.changes, *SHORT])
        updates = max(min(most, int(scale.seconds / pace.seconds_per_update)), 3)
        warmup = min(350, updates // 3)
        changes = [f"training.updates={updates}", f"optimizer.schedule.warmup={warmup}"]
        result = train(Path(folder) / "run", overrides=[*scale.changes, *changes])
    assert result.test is not None
    return {"updates": updates, "seconds": result.seconds, "BLEU": result.test["bleu"]}
