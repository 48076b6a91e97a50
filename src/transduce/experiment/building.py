"""Prepares a run's model and data, builds what trains them, and describes it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from transduce.base.task_table import find_task
from transduce.corpora.catalogue.download import announce
from transduce.experiment.adapting import with_adapters
from transduce.experiment.code import NamedCode
from transduce.experiment.recipe import Recipe
from transduce.objectives.objective import OBJECTIVES
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.task import Experiment, Prepared, Rate, Task, Tell
from transduce.training.checkpoint import Checkpoints
from transduce.training.distributed import ALONE, Processes
from transduce.training.optimizer import check_parts, learned_parameters
from transduce.training.trainer import Trainer


def open_experiment(recipe: Recipe[Any], tell: Tell) -> Experiment:
    """Opens the texts of a recipe; raises ConfigError or DataError for settings or texts that do not fit."""
    task: Task[ExperimentConfig] = find_task(recipe.config.task)
    task.check(recipe.config)
    return task.open(recipe.config, recipe.folder, announce(tell))


def prepare(
    config: ExperimentConfig,
    experiment: Experiment,
    tell: Tell,
    checkpoint: Path | None = None,
    processes: Processes = ALONE,
    teacher_forcing: Rate = lambda: 1.0,
) -> Prepared:
    """Returns an experiment's model before its first update, or from a checkpoint, with data, objective and adapters.

    Raises ConfigError or DataError for what does not fit together.
    """
    prepared = experiment.prepare(checkpoint, processes, teacher_forcing, tell)
    if config.training.objective is not None:
        prepared = replace(prepared, objective=OBJECTIVES.find(config.training.objective))
    if config.training.adapters is not None:
        prepared = with_adapters(prepared, config.training.adapters)
    check_parts(config.optimizer, prepared.bundle.model)
    return prepared


def describe_model(trainer: Trainer, prepared: Prepared) -> str:
    """Describes what is trained, in which precision and where, on one line."""
    parameters = sum(parameter.numel() for parameter in trainer.model.parameters())
    fixed = sum(
        rows * trainer.model.get_parameter(name).shape[1:].numel() for name, rows in prepared.fixed_rows.items()
    )
    learned = sum(parameter.numel() for parameter in learned_parameters(trainer.model)) - fixed
    learning = f", of which {learned:,} learn" if learned < parameters else ""
    shared = f", {trainer.processes.count} processes" if trainer.processes.count > 1 else ""
    return f"model: {parameters:,} parameters{learning}, {trainer.precision}, on {trainer.device}{shared}"


def build_trainer(
    run: Path,
    config: ExperimentConfig,
    experiment: Experiment,
    prepared: Prepared,
    processes: Processes,
    device: torch.device,
    code: Sequence[NamedCode] = (),
    ends: float | None = None,
) -> Trainer:
    """Builds what trains a prepared model in a run's folder; `ends`: by `time.monotonic`, if it has minutes."""
    bundle = prepared.bundle
    model = bundle.model.to(device)
    parameters = sum(parameter.numel() for parameter in model.parameters())
    facts: dict[str, Any] = {
        "data": experiment.name,
        "trained_on": prepared.size,
        "parameters": parameters,
        "seed": config.seed,
    }
    if code:
        facts["code"] = msgspec.to_builtins(code)

    def write_bundle(folder: Path, model: nn.Module) -> None:
        position = trainer.position
        history = {"updates": position.update, "epochs": position.epoch, "seconds": round(position.seconds, 1)}
        scores = {"validation": position.scores} | ({"before": position.start} if position.start else {})
        kept = replace(bundle, model=model)
        kept.with_history(**facts, **history, **scores).save(folder, experiment.examples)

    trainer = Trainer(
        model,
        prepared.objective,
        prepared.data,
        prepared.validator,
        Checkpoints(run, config.checkpoint, write_bundle),
        [],
        config.training,
        config.optimizer,
        config.validation,
        processes,
        prepared.validator.trials,
        prepared.unit,
        prepared.is_adapted,
        prepared.fixed_rows,
        ends,
    )
    return trainer
