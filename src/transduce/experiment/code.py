"""The code behind the names in a run's settings: checked when the run begins, and recorded in its folder."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.config import Settings
from transduce.base.errors import ConfigError, InputError
from transduce.base.files import write_text
from transduce.base.plugins import Registry, code_of, name_of
from transduce.base.verification import read_json
from transduce.evaluation.metrics import METRICS, REGISTRIES
from transduce.nn.scores import SCORES
from transduce.objectives.objective import OBJECTIVES
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.training.schedules import SCHEDULES
from transduce.training.trackers import OBSERVERS

FILE = "code.json"


class NamedCode(Settings, frozen=True):
    """The code that a setting of a run names."""

    setting: str
    """The name of the setting."""
    name: str
    """The name that the setting holds."""
    object: str
    """The module and name of the function or class; for another object, its class's, with () after it."""
    version: str | None = None
    """The version of its package, if it is in one."""
    source: str | None = None
    """A hash of its source and its module's, if there is any."""


def find_code(config: ExperimentConfig, observers: Sequence[Any] = ()) -> list[NamedCode]:
    """Returns the code behind all names in a run's settings and behind its observers, except Transduce's own.

    Raises ConfigError for a name without code, or code that does not fit.
    """
    named = []
    for setting, registry, name in [*_names(config), *(("observers", OBSERVERS, name_of(each)) for each in observers)]:
        try:
            registry.find(name)
            code = code_of(registry.object_of(name))
        except InputError as error:
            raise ConfigError(f"{setting}: {error}") from None
        if not code.is_ours:
            named.append(
                NamedCode(setting=setting, name=name, object=code.object, version=code.version, source=code.source)
            )
    return named


def record_code(run: Path, named: Sequence[NamedCode]) -> None:
    """Writes the code into the run's folder; no file if there is none."""
    if named:
        write_text(run / FILE, msgspec.json.format(msgspec.json.encode(named)).decode())
    else:
        (run / FILE).unlink(missing_ok=True)


def tell_of_other_code(run: Path, named: Sequence[NamedCode], tell: Callable[[str], None]) -> None:
    """Reports names whose code has changed since the run began."""
    path = run / FILE
    known = read_json(path, list[NamedCode], "remove it to resume without this check") if path.exists() else []
    recorded = {(each.setting, each.name): each for each in known}
    for each in named:
        old = recorded.get((each.setting, each.name), each)
        changes = [
            f"{subject} was {before or 'none'}, now it is {now or 'none'}"
            for subject, before, now in (("it", old.object, each.object), ("its version", old.version, each.version))
            if before != now
        ]
        if old.source != each.source:
            changes.append("its source has changed")
        if changes:
            tell(f"{each.setting}: the code behind '{each.name}' is another: {', '.join(changes)}")


def _names(config: ExperimentConfig) -> Iterator[tuple[str, Registry[Any], str]]:
    """Yields each setting that names code, with the registry and the name."""
    if isinstance(config.optimizer.schedule, str):
        yield "optimizer.schedule", SCHEDULES, config.optimizer.schedule
    if config.training.objective is not None:
        yield "training.objective", OBJECTIVES, config.training.objective
    for name in config.training.observers:
        yield "training.observers", OBSERVERS, name
    built_in = {name for table in METRICS.values() for name in table}
    if config.validation.best_by not in ("loss", *built_in):
        yield "validation.best_by", REGISTRIES["translations"], config.validation.best_by
    for name in config.validation.metrics:
        if name not in built_in:
            yield "validation.metrics", REGISTRIES["translations"], name
    score = getattr(getattr(getattr(config, "model", None), "attention", None), "score", None)
    if score is not None and score not in SCORES.others:
        yield "model.attention.score", SCORES, score
