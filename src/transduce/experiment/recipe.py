"""All settings of a run in one table: from a built-in recipe or a file of the user's own."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from importlib import resources
from itertools import takewhile
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

from transduce.base.config import Changes, convert, override, read_changes, read_toml, suggestion, to_tree
from transduce.base.errors import ConfigError, InputError
from transduce.base.task_table import find_task
from transduce.experiment.completion import complete
from transduce.tasks.experiment_settings import ExperimentConfig

SETTINGS_FILE = "experiment.toml"  # of a run's folder
PATH_KEYS = {
    "train",
    "validation",
    "test",
    "general_validation",
    "general_test",
    "monolingual",
    "files",
    "file",
    "start_from",
}
LENGTHS = ("training.updates", "training.epochs", "training.minutes")
EXCLUSIVE = (
    LENGTHS,
    ("batching.target_tokens", "batching.sentences"),
    ("batching.examples", "batching.tokens"),
    ("validation.every_updates", "validation.every_epochs"),
)
"""Settings of which a recipe has one: changing it removes the others."""
RIVALS = {key: group for group in EXCLUSIVE for key in group} | {"data.train": ("data.dataset",)}
MAY_CHANGE = (
    *LENGTHS,
    "training.clip_norm",
    "training.accumulate",
    "training.sharding",
    "training.report_every",
    "training.observers",
    "optimizer.learning_rate",
    "optimizer.schedule",
    "validation.every_updates",
    "validation.every_epochs",
    "validation.patience",
    "checkpoint",
    "license",
)
"""Settings, and tables of settings, that a resumed run may change and remain the same run."""


Config = TypeVar("Config", bound=ExperimentConfig)


@dataclass(frozen=True)
class Recipe(Generic[Config]):
    """The settings of an experiment of any task, and where they come from."""

    name: str
    config: Config
    folder: Path
    """The folder that relative paths in the settings start from."""
    run: Path | None = None
    """The folder of the run whose settings these are."""

    @property
    def default_run(self) -> Path:
        """The default folder to train in."""
        return self.run or Path("runs") / self.name


def recipes() -> list[str]:
    """Returns the names of the built-in recipes."""
    folder = resources.files("transduce.recipes")
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def describe_recipe(name: str) -> str:
    """Returns the first comment of a built-in recipe, on one line."""
    text = (resources.files("transduce.recipes") / f"{name}.toml").read_text(encoding="utf-8")
    return " ".join(line.strip("# ") for line in takewhile(lambda line: line.startswith("#"), text.splitlines()))


def load_recipe(name: str | Path, overrides: Changes = ()) -> Recipe[Any]:
    """Loads a built-in recipe, a TOML file, or the settings of a run's folder, with changes.

    A change replaces a setting that excludes it. In changes of a built-in recipe, file paths start from the working
    folder. Raises ConfigError if `name` is none of these.
    """
    path = Path(name)
    if path.suffix == ".toml":
        return Recipe(path.stem, change(read_toml(path), str(path), overrides, path.parent), path.parent)
    if str(name) in recipes():
        path = Path(str(resources.files("transduce.recipes") / f"{name}.toml"))
        return Recipe(path.stem, change(read_toml(path), str(name), overrides, path.parent, _from_here), path.parent)
    if (path / SETTINGS_FILE).is_file():
        tree = read_toml(path / SETTINGS_FILE)
        return Recipe(path.resolve().name, change(tree, str(path), overrides, path), path, path)
    raise ConfigError(
        f"no recipe '{name}'{suggestion(str(name), recipes())}; there are {', '.join(recipes())}; a file of your own "
        f"must end in .toml, a run's folder must hold {SETTINGS_FILE}, and files of sentence pairs are two, line by "
        "line, or one .tsv, .csv or .jsonl"
    )


def with_files(name: str, value: Any, moved: Callable[[str | Path], str]) -> Any:
    """Returns a setting's value with its file names replaced by `moved`."""
    if isinstance(value, Mapping):
        return {key: with_files(key, inner, moved) for key, inner in value.items()}
    if isinstance(value, list):
        return [with_files(name, item, moved) for item in value]
    is_path = name.rpartition(".")[2] in PATH_KEYS and isinstance(value, str | Path)
    return moved(value) if is_path else value


def _from_here(name: str, value: Any) -> Any:
    return with_files(name, value, lambda path: str(Path(path).absolute()))


def find_recipe(recipe: Recipe[Any] | ExperimentConfig | str | Path, overrides: Changes = ()) -> Recipe[Any]:
    """Returns a recipe with changes; in settings alone, relative paths start from the working folder."""
    if isinstance(recipe, str | Path):
        return load_recipe(recipe, overrides)
    if isinstance(recipe, ExperimentConfig):
        recipe = Recipe("experiment", recipe, Path())
    if not overrides:
        return recipe
    return replace(recipe, config=change(to_tree(recipe.config), recipe.name, overrides, recipe.folder))


def recipe_of(model: Path) -> Recipe[Any] | None:
    """Returns the settings of the run that a model or folder belongs to; None if there is no run."""
    run = next((folder for folder in (model, model.resolve().parent) if (folder / SETTINGS_FILE).is_file()), None)
    return None if run is None else load_recipe(run.absolute() if str(run) in recipes() else run)


def recipe_known_of(model: Path, unknown: str, advice: str) -> Recipe[Any]:
    """Returns the settings of the run that a model belongs to; InputError, with what is unknown and what to do instead,
    if there is no run."""
    if (recipe := recipe_of(model)) is None:
        raise InputError(f"{model} is not in a run's folder, so its {unknown} are unknown; {advice}")
    return recipe


def change(
    tree: dict[str, Any],
    origin: str,
    overrides: Changes,
    folder: Path = Path(),
    locate: Callable[[str, Any], Any] = lambda name, value: value,
) -> Any:
    """Makes settings from a tree of them with changes; `origin` begins every error.

    Relative paths start from the folder, after `locate` has completed those in changes, given the setting and its
    value. A model to start from completes the settings.
    """
    named = overrides if isinstance(overrides, Mapping) else read_changes(overrides)
    type_ = config_type({**tree, **{key: value for key, value in named.items() if key == "task"}})
    values = {name: locate(name, value) for name, value in read_changes(overrides, type_).items()}
    changed = override(_without_rivals(tree, values), values, type_)
    return convert(complete(changed, type_, folder), type_, origin)


def config_type(tree: Mapping[str, Any]) -> type[ExperimentConfig]:
    """Returns the class of the settings of the task that a tree names."""
    return cast(type[ExperimentConfig], find_task(tree.get("task", "translation")).config)


def read_settings(path: Path) -> ExperimentConfig:
    """Returns the settings in a file, unchanged."""
    tree = read_toml(path)
    return convert(tree, config_type(tree), str(path))


def _without_rivals(tree: dict[str, Any], changed: Iterable[str]) -> dict[str, Any]:
    """Returns a recipe's settings without those that the changes exclude."""
    rivals = {rival for key in changed for rival in RIVALS.get(key, ()) if rival != key}
    return {
        table: {key: value for key, value in inner.items() if f"{table}.{key}" not in rivals}
        if isinstance(inner, dict)
        else inner
        for table, inner in tree.items()
    }


def record(recipe: Recipe[Config], run: Path) -> Config:
    """Returns the settings with file names relative to the run's folder, as a recipe there that repeats the run."""

    def moved(path: str | Path) -> str:
        return str(path) if Path(path).is_absolute() else os.path.relpath(recipe.folder / path, run)

    tree = to_tree(recipe.config)
    located = {
        table: with_files(table, tree[table], moved) for table in ("data", "training", "tokenizer") if table in tree
    }
    return convert(tree | located, type(recipe.config), recipe.name)


def may_change(key: str) -> bool:
    """Returns True if a resumed run may change this setting."""
    return any(key == free or key.startswith(f"{free}.") for free in MAY_CHANGE)
