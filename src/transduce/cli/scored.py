"""`evaluate` and `compare` for models that do not translate: of languages, classes, tags or answers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import msgspec
import typer

from transduce.bundle import find_bundle, is_model
from transduce.bundle_config import read_config
from transduce.cli.model import open_bundle
from transduce.cli.options import given_options
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import TextCorpus
from transduce.errors import InputError
from transduce.evaluation.labels import ToldClasses
from transduce.evaluation.scores import ModelComparison, Scores, compare_scores
from transduce.evaluation.significance import RESAMPLES, SEED
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.models.heads import ClassHeadConfig
from transduce.task_table import TASKS, find_task
from transduce.tasks.language.validation import PLAIN as AS_TRAINED
from transduce.tasks.language.validation import Reading, score_text
from transduce.tasks.task import Task, TestData, Wanted

SHARED = {"reference", "dataset", "split", "metric", "device", "threads", "precision", "json", "quiet"}
APPLICABLE = {"language": SHARED - {"metric"} | {"memory", "dynamic", "dynamic_rate"}}
"""The options of `evaluate` and `compare` by task."""


def task_of(systems: Sequence[str], context: typer.Context) -> str | None:
    """Returns the task of models that do not translate; None for only translators, or finished outputs.

    Raises InputError for models of several tasks, and for options that do not apply to this one.
    """
    tasks = {path: read_config(find_bundle(Path(path))).task for path in systems if is_model(path)}
    others = [task for task in tasks.values() if task != "translation"]
    if not others:
        return None
    if misfits := [path for path in systems if tasks.get(path) != others[0]]:
        raise InputError(f"{misfits[0]} is not {TASKS[others[0]].title}; only models of one task can be compared")
    if refused := given_options(context, APPLICABLE.get(others[0], SHARED | {"confusion"})):
        verb, them = ("does", "it") if len(refused) == 1 else ("do", "them")
        raise InputError(f"{', '.join(refused)} {verb} not apply to {TASKS[others[0]].title}; leave {them} out")
    return others[0]


@dataclass(frozen=True)
class DataOptions:
    """Options that name test data; raises InputError for options that do not go together."""

    reference: str | None
    dataset: str | None
    split: str | None

    def __post_init__(self) -> None:
        if self.reference is not None and self.dataset is not None:
            raise InputError("--dataset and --reference exclude each other; leave one of them out")
        if self.dataset is None and self.split is not None:
            raise InputError("--split is for a --dataset; give one, or leave it out")

    def open(self, model: str) -> TestData:
        """Opens the test data, by default those of the model's run."""
        recipe = recipe_of(Path(model))
        split = self.split or (find_dataset(self.dataset).test if self.dataset is not None else None) or "test"
        if recipe is None and self.reference is None and self.dataset is None:
            raise InputError(
                f"{model} is not in a run's folder, so it has no test data of its own; give --dataset or --reference"
            )
        config, folder = (recipe.config, recipe.folder) if recipe else (None, Path())
        of_model = read_config(find_bundle(Path(model)))
        wanted = Wanted(of_model, config, folder, self.reference, self.dataset, split)
        return _task(of_model.task).test_data(wanted)


def compare_models(
    models: Sequence[str],
    options: DataOptions,
    metrics: Sequence[str],
    device: str,
    precision: InferencePrecision,
    tell: Callable[[str], None],
) -> ModelComparison:
    """Compares models on the same test data: a file, a split of a data set, or those of the runs, if the same."""
    data = [options.open(model) for model in models]
    if len({of_model.texts.content() for of_model in data}) > 1:
        raise InputError("the runs have different test sets; give --dataset or --reference")
    found: dict[str, Scores] = {}
    for model, of_model in zip(models, data, strict=True):
        tell(f"{model}: reading {of_model.texts.name} ...")
        bundle = open_bundle(model, device, precision)
        found[model] = _task(bundle.config.task).score(bundle, of_model, metrics)
    return compare_scores(found, data[0].texts.name, list(data[0].texts))


def score_model(
    model: str, options: DataOptions, metrics: Sequence[str], device: str, precision: InferencePrecision
) -> tuple[str, Scores]:
    """Returns the name of the test data, and a model's scores on them."""
    data = options.open(model)
    bundle = open_bundle(model, device, precision)
    return data.texts.name, _task(bundle.config.task).score(bundle, data, metrics)


def evaluate_text(
    model: str, options: DataOptions, device: str, precision: InferencePrecision, reading: Reading = AS_TRAINED
) -> tuple[str, dict[str, float]]:
    """Returns the name of a text, and a language model's loss and other scores on it; InputError if impossible."""
    text = cast(TextCorpus, options.open(model).texts)
    return text.name, score_text(open_bundle(model, device, precision), text, reading=reading)


def describe(scores: Scores, data: str) -> str:
    """Returns a line for each metric, for people."""
    width = max(len(metric.title) for metric in scores.metrics.values()) + 2
    lines = [data]
    for name, score in scores.summary().items():
        metric = scores.metrics[name]
        low, high = (f"{end:.{metric.digits}f}" for end in score.interval)
        lines.append(f"{metric.title:<{width}}{score.score:.{metric.digits}f}  [{low}, {high}]")
    lines.append(f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the {scores.unit}, seed {SEED}")
    return "\n".join([*lines, f"{scores.size:,} {scores.unit}"])


def to_json(scores: Scores, data: str) -> str:
    """Returns the scores as JSON, for programs."""
    facts: dict[str, Any] = {"data": data, scores.unit: scores.size, "scores": msgspec.to_builtins(scores.summary())}
    if isinstance(scores.outcome, ToldClasses):
        labels, counts = list(scores.outcome.labels), scores.outcome.confusion.tolist()
        facts["confusion"] = {"labels": labels, "counts": counts}
    return msgspec.json.encode(facts).decode()


def check_confusion(model: str, path: str) -> None:
    """Raises InputError for a model without classes, or a file that no picture can be drawn into."""
    from transduce.analysis.plots import check_picture

    if not isinstance(read_config(find_bundle(Path(model))).head, ClassHeadConfig):
        raise InputError("--confusion: the model tells no classes; leave it out")
    check_picture(Path(path))


def draw_confusion(told: ToldClasses, path: str) -> None:
    """Draws how often each class was predicted for each into a .png, .svg or .pdf file."""
    from transduce.analysis.plots import plot_confusion

    plot_confusion(told.labels, told.confusion, Path(path))


def _task(name: str) -> Task[Any]:
    found: Task[Any] = find_task(name)
    return found
