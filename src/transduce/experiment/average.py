"""Averaging several checkpoints of a run into one model."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.base.errors import InputError
from transduce.base.files import check_absent
from transduce.base.task_table import find_task
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import ModelBundle, load_weights, read_weights
from transduce.experiment.inputs import check_inputs
from transduce.experiment.recipe import SETTINGS_FILE, read_settings
from transduce.tasks.task import Tell
from transduce.tasks.translation.learn_quality import save_quality
from transduce.training.averaging import average_weights
from transduce.training.checkpoint import BUNDLE, best_checkpoints, check_bundle, whole_checkpoints

VALIDATED = ("data.validation", "data.general_validation")
"""Settings of the texts that a validation reads."""


@dataclass(frozen=True)
class Average:
    """The average of several checkpoints."""

    model: Path
    checkpoints: list[str]
    """Names of the averaged checkpoints."""
    validation: dict[str, float]
    """Validation scores: loss in nats per real target token, perplexity, and the metrics of the run."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce average --json`."""
        return {"model": str(self.model), "checkpoints": self.checkpoints, "validation": self.validation}


def average(
    run: Path, last: int | None = None, best: int | None = None, out: Path | None = None, tell: Tell = lambda line: None
) -> Average:
    """Averages the weights of a run's checkpoints into a model of its own, validates it, and learns its quality.

    Args:
        run: a run's folder.
        last: how many of the newest checkpoints (default: all that the run has kept, unless `best` is given).
        best: how many of those with the best validation.
        out: the new model's folder (default: `RUN/average`).
        tell: receives a line on its quality.

    Raises InputError if the run keeps fewer checkpoints or `out` exists, CheckpointError for a damaged one,
    DataError if the validation data have changed since the run began.
    """
    out = out or run / "average"
    check_absent(out, "choose another folder (out)")
    chosen = _choose_checkpoints(run, last, best)
    config = read_settings(run / SETTINGS_FILE)
    for path in chosen:
        check_bundle(path)
    bundle = ModelBundle.load(chosen[-1] / BUNDLE)
    folders = [path / BUNDLE for path in chosen]
    load_weights(bundle.model, average_weights(read_weights(folder, read_config(folder)) for folder in folders))
    experiment = find_task(config.task).open(config, run)
    check_inputs(run, [each for each in experiment.inputs if each.setting in VALIDATED])
    scores = dict(experiment.validator(bundle)(bundle.model).scores)
    names = [path.name for path in chosen]
    bundle.with_history(average_of=names, validation=scores).save(out, experiment.examples)
    save_quality(experiment, bundle, out, tell)
    return Average(out, names, scores)


def _choose_checkpoints(run: Path, last: int | None, best: int | None) -> list[Path]:
    if last is not None and best is not None:
        raise InputError("give either the last or the best checkpoints to average")
    whole = whole_checkpoints(run)
    if not whole:
        raise InputError(f"{run} has no checkpoints to average; expected the folder of a run")
    chosen = whole[-last:] if last else best_checkpoints(run, best) if best else whole
    if len(chosen) < (last or best or 1):
        kind = "last" if last else "best"
        raise InputError(
            f"{run} has only {len(chosen)} of the {last or best} {kind} checkpoints; how many a run keeps is set by "
            f"checkpoint.keep_{kind}"
        )
    return sorted(chosen)
