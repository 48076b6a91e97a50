"""Observers by name: experiment trackers, through their own packages, and observers of installed packages.

Each tracker writes where its package's settings and environment variables say. When a run is resumed, so is the
tracker's, whose id is kept in the run's folder.
"""

import uuid
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from docsegments.extras import require
from transduce.base.errors import InputError, TransduceError
from transduce.base.files import write_text
from transduce.base.plugins import Registry, check_takes
from transduce.training.observers import GivenObserver, Observer, Report

PROJECT = "transduce"
"""The project that groups runs; the tracker's own environment variable, if set, takes precedence."""


@dataclass(frozen=True)
class WatchedRun:
    """The facts about a run that its observers are made from."""

    folder: Path
    settings: dict[str, Any]
    """The settings by their dotted names."""
    resumed_after: int
    """The update after which the run resumes; 0 for a new run."""

    def kept_id(self, name: str) -> str | None:
        """Returns the tracker's id of this run if the run is resumed and the tracker has seen it before, else None."""
        with suppress(FileNotFoundError):
            if self.resumed_after:
                return self._id_file(name).read_text(encoding="utf-8").strip()
        return None

    def keep_id(self, name: str, made: str) -> str:
        """Keeps the tracker's id of this run for when it is resumed."""
        write_text(self._id_file(name), made)
        return made

    def _id_file(self, name: str) -> Path:
        return self.folder / f".id-in-{name}"


ObserverFactory = Callable[[WatchedRun], Observer]


class Tracker(Observer):
    """Passes curves to a tracker's package, as the functions below set up."""

    def __init__(self, log: Callable[[dict[str, float], int], Any], close: Callable[[], Any]) -> None:
        self._log = log
        self._close = close

    def report(self, report: Report) -> None:
        """Logs a point of each training curve."""
        names = ("loss", "learning_rate", "gradient_norm", "target_tokens_per_second")
        self._log({f"training/{name}": getattr(report, name) for name in names}, report.update)

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Logs a point of each validation score's curve."""
        self._log({f"validation/{name}": score for name, score in scores.items()}, update)

    def close(self) -> None:
        """Finishes the tracker's run."""
        self._close()


def tensorboard(folder: Path, resumed_after: int) -> Tracker:
    """Makes an observer that writes curves for `tensorboard --logdir`; a resumed run removes points that it will write
    again."""
    require("tensorboard", "train")
    from torch.utils.tensorboard import SummaryWriter

    writer = SummaryWriter(folder, purge_step=resumed_after + 1 if resumed_after else None)

    def log(values: dict[str, float], update: int) -> None:
        for name, value in values.items():
            writer.add_scalar(name, value, update)
        writer.flush()

    return Tracker(log, writer.close)


def mlflow(run: WatchedRun) -> Tracker:
    """Makes an observer for MLflow at MLFLOW_TRACKING_URI; its experiment is MLFLOW_EXPERIMENT_NAME, else
    "transduce"."""
    package, entities = _package("mlflow"), _package("mlflow", ".entities")
    client = package.MlflowClient()
    name = package.environment_variables.MLFLOW_EXPERIMENT_NAME.get() or PROJECT

    run_id = run.kept_id("mlflow")
    if run_id is None:
        known = client.get_experiment_by_name(name)
        experiment = client.create_experiment(name) if known is None else known.experiment_id
        run_id = run.keep_id("mlflow", client.create_run(experiment, run_name=run.folder.name).info.run_id)
        for key, value in run.settings.items():
            client.log_param(run_id, key, str(value)[:500])
    client.update_run(run_id, status="RUNNING")

    def log(values: dict[str, float], update: int) -> None:
        time = package.utils.time.get_current_time_millis()
        metrics = [entities.Metric(key.replace("@", "-"), value, time, update) for key, value in values.items()]
        client.log_batch(run_id, metrics=metrics)

    return Tracker(log, lambda: client.set_terminated(run_id))


def wandb(run: WatchedRun) -> Tracker:
    """Makes an observer for Weights & Biases, in the run's folder and on its server; WANDB_MODE=offline: locally."""
    package = _package("wandb")
    made = package.init(
        project=None if package.Settings().project else PROJECT,
        dir=str(run.folder),
        id=run.kept_id("wandb") or run.keep_id("wandb", uuid.uuid4().hex),
        name=run.folder.name,
        config=run.settings,
        resume="allow",
    )
    return Tracker(lambda values, update: made.log({**values, "update": update}), made.finish)


def trackio(run: WatchedRun) -> Tracker:
    """Makes an observer for Trackio, on this machine; `trackio show` displays it."""
    package = _package("trackio")
    name = run.kept_id("trackio") or run.keep_id("trackio", f"{run.folder.name}-{uuid.uuid4().hex[:6]}")
    made = package.init(project=PROJECT, name=name, config=run.settings, resume="allow", embed=False)
    return Tracker(lambda values, update: made.log(values, step=update), made.finish)


def aim(run: WatchedRun) -> Tracker:
    """Makes an observer for Aim, in the repository `.aim` of the working folder, or in AIM_REPO; `aim up` displays
    it."""
    package = _package("aim")
    made = package.Run(
        experiment=PROJECT,
        run_hash=run.kept_id("aim"),
        system_tracking_interval=None,
        capture_terminal_logs=False,
    )
    run.keep_id("aim", made.hash)
    made.name = run.folder.name
    made["settings"] = run.settings

    def log(values: dict[str, float], update: int) -> None:
        for key, value in values.items():
            made.track(value, name=key, step=update)

    return Tracker(log, made.close)


def _package(name: str, module: str = "") -> Any:
    try:
        return require(name + module, "tracking")
    except InputError as error:
        raise InputError(f"observer '{name}': {error}") from None


def _factory(name: str, given: Any) -> ObserverFactory:
    """Returns the function that makes an observer for a run, from a function, a class, or an observer made already."""
    if not isinstance(given, type) and _is_observer(given):
        return lambda run: _observer(given)
    expected = "an observer (report, validated, close), or what makes one of a WatchedRun"
    check_takes("observer", name, given, ("run",), expected)

    def make(run: WatchedRun) -> Observer:
        try:
            made = given(run)
        except TransduceError:
            raise
        except Exception as error:
            reason = str(error).partition("\n")[0]
            raise InputError(f"observer '{name}' cannot begin: {type(error).__name__}: {reason}") from error
        if not _is_observer(made):
            raise InputError(f"observer '{name}': made a {type(made).__name__}; expected {expected}")
        return _observer(made)

    return make


def _observer(given: Any) -> Observer:
    return given if isinstance(given, Observer) else GivenObserver(given)


def _is_observer(value: object) -> bool:
    return all(callable(getattr(value, method, None)) for method in ("report", "validated", "close"))


_BUILT_IN = {name: f"{__name__}:{name}" for name in ("mlflow", "wandb", "trackio", "aim")}
OBSERVERS: Registry[ObserverFactory] = Registry("observer", "transduce.observers", _factory, _BUILT_IN)
"""Observers by name."""
