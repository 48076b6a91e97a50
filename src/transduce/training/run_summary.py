"""Summaries of runs, read from their folders."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from transduce.base.config import flatten, read_toml
from transduce.base.errors import CheckpointError, ConfigError, InputError
from transduce.base.verification import COPY_AGAIN
from transduce.bundle.model_bundle import read_history
from transduce.training.checkpoint import Position, complete_checkpoints, read_progress

T = TypeVar("T")

PATHS = {
    "data.train",
    "data.validation",
    "data.test",
    "data.general_validation",
    "data.general_test",
    "tokenizer.file",
    "tokenizer.source.file",
    "tokenizer.target.file",
    "training.start_from",
    "training.new_words.file",
}
"""Settings that name files."""

SCORES = ("bleu", "perplexity", "accuracy", "pearson", "entity_f1", "f1")
"""Names of scores; every test has one of them."""


@dataclass(frozen=True)
class RunSummary:
    """The state of a run so far."""

    run: str
    """The run's folder."""
    state: str
    """The run's state: finished (its model exists), stopped (still going, interrupted, or killed), or damaged."""
    data: str
    """The data set's name, or those of the training files."""
    model: str
    """The name of the model's family."""
    updates: int
    """Number of updates made and saved."""
    seconds: float
    """Seconds spent on the updates, over all resumes."""
    validation: dict[str, float]
    """Scores of its best model."""
    test: dict[str, Any] | None
    """Scores on the test set, once finished: BLEU and its signature, or a language model's perplexities."""
    settings: dict[str, Any]
    """The settings in experiment.toml, under dotted keys; file paths start from the working folder."""
    problem: str | None = None
    """A description of the damage; None if there is none."""

    @property
    def task(self) -> str:
        """The data and the direction of translation, if any: only scores of the same task are comparable."""
        source, target = self.settings.get("data.source"), self.settings.get("data.target")
        return f"{self.data}, {source} to {target}" if source is not None else self.data

    @property
    def bleu(self) -> float | None:
        """BLEU on the test set, else on the validation data; None if not measured."""
        return (self.test or {}).get("bleu", self.validation.get("bleu"))


def find_runs(folder: Path) -> list[RunSummary]:
    """Returns the runs in a folder and below, by name; raises InputError if there is no such folder."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; runs are kept in 'runs' by default")
    return [summarize_run(path.parent) for path in sorted(folder.rglob("experiment.toml"))]


def differing_settings(runs: Sequence[RunSummary]) -> list[str]:
    """Returns the settings that differ between runs, except the seed."""
    keys = dict.fromkeys(key for run in runs for key in run.settings if key != "seed")
    return [key for key in keys if any(run.settings.get(key) != runs[0].settings.get(key) for run in runs)]


def summarize_run(run: Path) -> RunSummary:
    """Summarises a run's folder; damaged files are named in `problem`, and all else is read."""
    problems: list[str] = []

    def read(load: Callable[[], T]) -> T | None:
        try:
            return load()
        except (CheckpointError, ConfigError) as error:
            problems.append(str(error))
            return None

    settings = read(lambda: _settings(run / "experiment.toml")) or {}
    settings |= {key: _from_here(settings[key], run) for key in PATHS & settings.keys()}
    newest_first = (read(partial(read_progress, path)) for path in reversed(complete_checkpoints(run)))
    position = next((progress.position for progress in newest_first if progress), Position())
    is_finished = (run / "model").exists()
    test = read(lambda: _test_scores(run / "model")) if is_finished else None
    return RunSummary(
        run=os.fsencode(run).decode(errors="backslashreplace"),
        state="damaged" if problems else "finished" if is_finished else "stopped",
        data=str(settings.get("data.dataset") or " ".join(_names(settings.get("data.train")))),
        model=str(settings.get("model.kind", "")),
        updates=position.update,
        seconds=position.seconds,
        validation=position.scores,
        test=test,
        settings=settings,
        problem="; ".join(problems) or None,
    )


def _settings(path: Path) -> dict[str, Any]:
    settings = flatten(read_toml(path))
    if not {"data.dataset", "data.train"} & settings.keys():
        raise ConfigError(f"{path} is damaged (it names no data)")
    return settings


def _from_here(files: Any, run: Path) -> Any:
    """Returns file paths from a run's folder as paths from the working folder."""
    if isinstance(files, str):
        return os.path.relpath(run / files)
    if isinstance(files, dict):
        return files | {"files": _from_here(files.get("files"), run)}
    return [_from_here(file, run) for file in files] if isinstance(files, list) else files


def _names(files: Any) -> Iterator[str]:
    """Yields the names of training files without their folders."""
    if isinstance(files, str):
        yield Path(files).name
    elif isinstance(files, dict):
        yield from _names(files.get("files"))
    elif isinstance(files, list):
        yield from (name for file in files for name in _names(file))


def _test_scores(model: Path) -> dict[str, Any] | None:
    test = read_history(model).get("test")
    if test is None or (isinstance(test, dict) and any(isinstance(test.get(score), int | float) for score in SCORES)):
        return test
    raise CheckpointError(f"{model}/history.json is damaged (test data without scores); {COPY_AGAIN}")
