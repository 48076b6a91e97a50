"""What a training would be: its settings with their reasons, its size and its time; nothing is trained or written."""

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch

from transduce.base.config import Changes
from transduce.corpora.corpus import Pair
from transduce.experiment.automatic import Files, meant_by, recipe_for
from transduce.experiment.building import build_trainer, describe_model, open_experiment, prepare
from transduce.experiment.machine import measure_machine
from transduce.experiment.recipe import Recipe
from transduce.models.families import PhrasesConfig
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.training.distributed import Processes, local_device


def preview(
    recipe: Recipe[Any] | Files | ExperimentConfig | str | Path | Sequence[str | Path] | Iterable[Pair],
    *,
    overrides: Changes = (),
    tell: Callable[[str], None],
    device: str = "auto",
    minutes: float | None = None,
) -> Recipe[Any]:
    """Returns the settings that `train` would train with, and tells what it would before its first update.

    Args:
        recipe: a recipe, files or settings, as for `train`.
        overrides: settings to change, as for `train`.
        tell: receives the reasons of settings that are chosen, the size of the model and the time of training.
        device: the device that would train.
        minutes: the time that training may take, in place of a number of updates.

    Raises ConfigError, DataError or CheckpointError for invalid input.
    """
    began, where = time.monotonic(), local_device(device)
    meant = meant_by(recipe, overrides)
    if minutes is not None:
        meant = meant_by(meant, {"training.minutes": minutes})
    if isinstance(meant, Files):
        meant = recipe_for(meant, None, tell, lambda: measure_machine(where))
    assert isinstance(meant, Recipe)
    config = meant.config
    torch.manual_seed(config.seed)
    experiment = open_experiment(meant, tell)
    if isinstance(getattr(config, "model", None), PhrasesConfig):
        return meant
    prepared = prepare(config, experiment, tell)
    ends = None if config.training.minutes is None else began + 60 * config.training.minutes
    trainer = build_trainer(Path(), config, experiment, prepared, Processes(), where, ends=ends)
    try:
        tell(describe_model(trainer, prepared))
        tell(trainer.estimate().describe())
    finally:
        trainer.gradients.close()
    return meant
