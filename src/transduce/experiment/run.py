"""Running an experiment: from a recipe to a trained model in a folder."""

import shutil
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

import torch

from docsegments.extras import TRAINING, check_installed
from transduce.base.config import Changes, differences, flatten, to_toml, to_tree
from transduce.base.errors import CheckpointError, ConfigError
from transduce.base.files import write_text
from transduce.base.reprs import in_notebook, shown_by
from transduce.base.stages import alone_in, has_files
from transduce.base.task_table import find_task
from transduce.bundle.model_bundle import ModelBundle, best_bundle
from transduce.bundle.model_card import LICENSE, PARTS
from transduce.corpora.catalogue.download import announce
from transduce.corpora.corpus import Pair
from transduce.experiment.adapting import Apart
from transduce.experiment.automatic import Files, meant_by, recipe_for
from transduce.experiment.building import build_trainer, describe_model, prepare
from transduce.experiment.code import FILE as CODE_FILE
from transduce.experiment.code import find_code, record_code, tell_of_other_code
from transduce.experiment.inputs import FILE as INPUTS_FILE
from transduce.experiment.inputs import check_inputs, find_inputs, record_inputs
from transduce.experiment.machine import describe_machine, measure_machine
from transduce.experiment.recipe import (
    LENGTHS,
    SETTINGS_FILE,
    Recipe,
    may_change,
    read_settings,
    record,
)
from transduce.models.families import PhrasesConfig
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.tasks.task import Experiment, Task
from transduce.tasks.translation.learn_phrases import (
    are_better,
    keep_phrases,
    kept_phrases,
    learn_phrases,
    score_on_test,
)
from transduce.tasks.translation.learn_quality import save_quality
from transduce.tasks.translation.translation_task import TranslationExperiment
from transduce.training.checkpoint import before_decay, forget_decay, newest_checkpoint, read_progress
from transduce.training.display import console_observer
from transduce.training.distributed import Processes, join_processes, local_device
from transduce.training.observers import FINAL_TEST, JsonLog, Observer, StartLines, last_samples
from transduce.training.schedules import why_never_high
from transduce.training.trackers import OBSERVERS, ObserverFactory, WatchedRun, tensorboard
from transduce.training.trainer import Trainer

Start = Literal["new", "resume", "overwrite"]
"""The way to treat an earlier run in the same folder."""


def _run_facts(result: "RunResult") -> dict[str, object]:
    spent = str(timedelta(seconds=round(result.seconds)))
    scores = ", ".join(f"{name} {score:.4g}" for name, score in result.validation.items())
    test = find_task(result.task).describe_test(result.test) if result.test else None
    return {"run": result.run, "updates": f"{result.updates:,} in {spent}", "validation": scores, "test": test}


def _curves_html(result: "RunResult") -> str:
    curves = result.run / "curves.png"
    if not curves.is_file():
        return ""
    return f'<img alt="curves" src="data:image/png;base64,{b64encode(curves.read_bytes()).decode()}" width="720">'


@shown_by(_run_facts, _curves_html)
@dataclass(frozen=True, repr=False)
class RunResult:
    """The result of a finished run."""

    run: Path
    model: Path
    task: str
    """The task of the model."""
    updates: int
    seconds: float
    """Seconds over all resumes, with validation."""
    validation: dict[str, float]
    """Validation scores of the kept model: loss in nats per real target token, perplexity, and the requested
    metrics."""
    test: dict[str, Any] | None
    """Scores on the test set; None without one. For translation: BLEU, its signature and the search."""
    before: dict[str, float] = field(default_factory=dict)
    """Scores of the initial model before the first update; empty unless it is adapted."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce train --json`."""
        facts = {
            "run": str(self.run),
            "model": str(self.model),
            "updates": self.updates,
            "seconds": self.seconds,
            "validation": self.validation,
        }
        return facts | ({"before": self.before} if self.before else {}) | ({"test": self.test} if self.test else {})


def train(
    recipe: Recipe[Any] | Files | ExperimentConfig | str | Path | Sequence[str | Path] | Iterable[Pair],
    out: str | Path | None = None,
    *,
    resume: bool = False,
    overwrite: bool = False,
    overrides: Changes = (),
    progress: bool = False,
    observers: Sequence[Observer | ObserverFactory | str] = (),
    tell: Callable[[str], None] | None = None,
    device: str = "auto",
    minutes: float | None = None,
) -> RunResult:
    """Trains a model as a recipe says, and keeps the best in `out/model`.

    Args:
        recipe: a recipe, its name, its file or a run's folder, or settings (whose paths start from the working folder);
            or two line-aligned files, one of pairs, or an iterable of pairs, for which the settings are chosen.
        out: the run's folder, `runs/NAME` by default; it must be new unless the run is resumed or overwritten.
        resume: continue from the newest checkpoint, if there is one.
        overwrite: remove an earlier run in `out` when this one begins.
        overrides: settings to change, as `{"training.updates": 300}`, nested dicts, or `["training.updates=300"]`;
            where a setting takes a name, a dict may hold the object itself.
        progress: show progress on standard error, with a bar on a terminal; in a notebook, below the cell.
        observers: receive all reports and validations: objects, names, or functions that make one for a run.
        tell: receives lines on the progress before training (default: with `progress`, standard error).
        device: the device to train on: auto (a GPU if there is one), cpu, cuda, cuda:1 ..., or mps.
        minutes: the time that this call may take, in place of a number of updates; a resumed run goes on as if it had
            been planned with them.

    Raises ConfigError, DataError or CheckpointError for invalid input, InputError if another process works in `out`,
    FloatingPointError for a loss that is not finite, and Interrupted after Ctrl-C or SIGTERM, with everything saved.
    """
    if resume and overwrite:
        raise ConfigError("resume and overwrite exclude each other; leave one of them out")
    began = time.monotonic()
    check_installed("train", *TRAINING)
    meant = meant_by(recipe, overrides)
    run = Path(out or meant.default_run)
    start: Start = "resume" if resume else "overwrite" if overwrite else "new"
    tell = tell or (_print_line if progress else _say_nothing)
    training_device = local_device(device)
    with (
        join_processes(training_device) as processes,
        alone_in(run) if processes.is_first else nullcontext(),
        closing(console_observer()) if progress and processes.is_first else nullcontext() as bar,
    ):
        tell = tell if processes.is_first else _say_nothing
        if minutes is not None:
            if resume and processes.is_first:
                forget_decay(run)
            spent = before_decay(run).seconds if resume else 0.0
            meant = meant_by(meant, {"training.minutes": minutes + round(spent / 60, 2)})
        if isinstance(meant, Files):
            files = meant
            meant = processes.broadcast(lambda: _choose(files, run, start, training_device, processes, tell))
        return _train(meant, run, start, began, processes, observers, bar, tell, training_device)


def _choose(
    files: Files, run: Path, start: Start, device: torch.device, processes: Processes, tell: Callable[[str], None]
) -> Recipe[Any]:
    """Returns the settings for files: those of a run that is resumed, else newly chosen ones."""
    if start == "new":
        _check_is_new(run)
    recipe = recipe_for(
        files,
        run / SETTINGS_FILE if start == "resume" else None,
        tell,
        lambda: measure_machine(device, processes.count),
    )
    tell(f"all settings go into {run / SETTINGS_FILE}, a recipe that you can edit and train again")
    return recipe


def _train(
    recipe: Recipe[Any],
    run: Path,
    start: Start,
    began: float,
    processes: Processes,
    observers: Sequence[Observer | ObserverFactory | str],
    bar: Observer | None,
    tell: Callable[[str], None],
    device: torch.device,
) -> RunResult:
    config = recipe.config
    task: Task[ExperimentConfig] = find_task(config.task)
    task.check(config)  # before the folder of a run is looked at
    code = find_code(config, observers)
    recorded = record(recipe, run)
    if processes.is_first:
        _check_folder(run, recorded, start, tell)
    checkpoint = processes.broadcast(lambda: newest_checkpoint(run, tell) if start == "resume" else None)
    torch.manual_seed(config.seed)
    experiment = task.open(config, recipe.folder, announce(tell))
    inputs = find_inputs(recipe, experiment) if processes.is_first else []
    if checkpoint is not None and processes.is_first:
        check_inputs(run, inputs, tell)
        tell_of_other_code(run, code, tell)

    def begin() -> None:
        if start == "overwrite":
            _remove(run)
        write_text(run / SETTINGS_FILE, to_toml(recorded))
        record_code(run, code)
        if checkpoint is None:
            record_inputs(run, inputs)

    if isinstance(experiment, TranslationExperiment) and isinstance(experiment.config.model, PhrasesConfig):
        return processes.broadcast(lambda: _learn_phrases(run, experiment, begin, tell))

    def teacher_forcing() -> float:
        return config.training.teacher_forcing.rate(trainer.position.update + 1, trainer.updates)

    prepared = prepare(config, experiment, tell, checkpoint, processes, teacher_forcing)
    apart = None
    if (adapters := config.training.adapters) is not None and adapters.save == "apart":
        apart = Apart.of(adapters, recipe.folder / str(config.training.start_from), prepared.bundle.model)
    if processes.is_first:
        begin()
    else:
        torch.manual_seed(config.seed + processes.rank)  # the same weights so far; other chances of dropout from here
    ends = None
    if config.training.minutes is not None:
        spent = 0.0 if checkpoint is None else read_progress(checkpoint).position.seconds
        ends = began + 60 * config.training.minutes - spent
    trainer = build_trainer(run, config, experiment, prepared, processes, device, code, ends)
    if checkpoint is not None:
        is_same = trainer.resume(checkpoint)
        tell(f"resuming after update {trainer.position.update:,}")
        if not is_same:
            tell(
                "the number of processes differs: the run will not be bit for bit the same as without the interruption"
            )
    if trainer.stop_reason:
        tell(f"nothing is left to train: {trainer.stop_reason}")
    tell(describe_model(trainer, prepared))
    if warning := why_never_high(config.optimizer.schedule, config.training.updates):
        tell(f"careful: {warning}")
    if processes.is_first:
        JsonLog.cut_after(run / "log.jsonl", trainer.position.update)
        board = tensorboard(run / "tensorboard", trainer.position.update)
        watched = WatchedRun(run, flatten(to_tree(recorded)), trainer.position.update)
        named = [OBSERVERS.find(observer)(watched) for observer in (*config.training.observers, *observers)]
        trainer.observers = [JsonLog(run / "log.jsonl"), board, StartLines(tell), *([bar] if bar else []), *named]
    with_phrases = experiment if isinstance(experiment, TranslationExperiment) and experiment.config.phrases else None
    if with_phrases is not None and processes.is_first and not kept_phrases(run):
        learn_phrases(with_phrases, run / "phrases", _facts(with_phrases), tell, ends)
    try:
        trainer.run()
        trainer.announce(FINAL_TEST)
        return processes.broadcast(lambda: _finish(run, trainer, experiment, apart, with_phrases, tell))
    finally:
        trainer.gradients.close()
        for observer in trainer.observers:
            observer.close()


def _learn_phrases(
    run: Path, experiment: TranslationExperiment, begin: Callable[[], None], tell: Callable[[str], None]
) -> RunResult:
    """Learns the phrase-based model of a run, which takes no updates."""
    began = time.monotonic()
    begin()
    validation = learn_phrases(experiment, run / "model", _facts(experiment), tell)
    test = score_on_test(experiment, run / "model")
    return RunResult(run, run / "model", experiment.config.task, 0, time.monotonic() - began, validation, test)


def _facts(experiment: Experiment) -> dict[str, Any]:
    return {"data": experiment.name, "finished": date.today().isoformat()}


def _finish(
    run: Path,
    trainer: Trainer,
    experiment: Experiment,
    apart: Apart | None,
    with_phrases: TranslationExperiment | None,
    tell: Callable[[str], None],
) -> RunResult:
    """Saves the best checkpoint's bundle as the run's model, with its scores on the test set, if there is one, and
    what is known of its quality; or the phrase-based model that was learned besides, where it is better."""
    position = trainer.position
    model = run / "model"
    best = ModelBundle.load(best_bundle(run), trainer.device)
    has_lost = with_phrases is not None and are_better(with_phrases, run / "phrases", best, tell)
    test = None if has_lost else _recorded_test(model, best) or experiment.test(best, trainer.processes)
    parts = None if test is None else test.pop(PARTS, None)
    plot_training_curves(run / "log.jsonl", run / "curves.png")
    license = read_settings(run / SETTINGS_FILE).license
    facts = {
        "test": test,
        PARTS: parts,
        "samples": last_samples(run / "log.jsonl"),
        "machine": describe_machine(trainer.device, trainer.processes.count, trainer.precision),
        "finished": date.today().isoformat(),
        LICENSE: license,
    }
    best = best.with_history(**{name: value for name, value in facts.items() if value})
    if apart is None:
        best.save(model, experiment.examples)
    else:
        apart.save(best, model, experiment.examples)
    spent = (position.update, position.seconds)
    if with_phrases is not None and has_lost:
        return RunResult(run, model, best.config.task, *spent, *keep_phrases(with_phrases, run))
    save_quality(experiment, best, model, tell)
    return RunResult(run, model, best.config.task, *spent, position.scores, test, position.start)


def plot_training_curves(log: Path, picture: Path) -> None:
    """Draws the curves of a run's log."""
    from transduce.analysis import plots  # by matplotlib, which takes a second to import

    plots.plot_training_curves(log, picture)


def _recorded_test(model: Path, best: ModelBundle) -> dict[str, Any] | None:
    """Returns the test scores of the model saved before if it is still the best one, else None."""
    try:
        before = ModelBundle.load(model).history
    except CheckpointError:
        return None
    if "test" not in before or before.get("updates") != best.history.get("updates"):
        return None
    return {**before["test"], PARTS: before.get(PARTS)}


def _is_taken(run: Path) -> bool:
    """Returns True if a folder holds a run that has learned something, or anything that is not a run."""
    # after settings or data that did not fit, both may differ now
    return has_files(run) and (not (run / SETTINGS_FILE).exists() or _has_learned(run))


def _check_is_new(run: Path) -> None:
    if _is_taken(run):
        raise ConfigError(f"{run} exists; resume it (resume), replace it (overwrite), or choose another folder (out)")


def _check_folder(run: Path, config: ExperimentConfig, start: Start, tell: Callable[[str], None]) -> None:
    """Raises unless a run may be written here: over another only if asked to; a resumed one keeps most settings."""
    if start == "new":
        _check_is_new(run)
    if not _is_taken(run):
        return
    kept = run / SETTINGS_FILE
    if not kept.exists():
        raise CheckpointError(f"{run} is not the folder of a run: it has no {SETTINGS_FILE}")
    if start == "overwrite":
        return
    before = read_settings(kept)
    changes = differences(before, config)
    for key, change in changes.items():
        if not may_change(key):
            raise ConfigError(f"{run} was started with different settings: {change}")
    for change in changes.values():
        tell(change)
    if changes.keys() & set(LENGTHS):
        forget_decay(run)


def _has_learned(run: Path) -> bool:
    """Returns True if a run's folder holds anything from an update."""
    log = run / "log.jsonl"
    return (log.exists() and log.stat().st_size > 0) or any(run.glob("checkpoints/*")) or (run / "model").exists()


def _remove(run: Path) -> None:
    """Removes the files of a run and of its averages, the settings last; other files stay."""
    for name in ("model", "neural", "phrases", "average", "checkpoints", "tensorboard"):
        shutil.rmtree(run / name, ignore_errors=True)
    for name in ("best.json", "log.jsonl", "curves.png", INPUTS_FILE, CODE_FILE, SETTINGS_FILE):
        (run / name).unlink(missing_ok=True)


def _say_nothing(line: str) -> None:
    pass


def _print_line(line: str) -> None:
    print(line, file=sys.stdout if in_notebook() else sys.stderr, flush=True)  # a notebook shows the other in red
