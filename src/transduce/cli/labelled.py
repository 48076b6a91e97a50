"""What `evaluate` and `compare` do with models that tell something of texts: classes, scores, tags or answers."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from transduce.bundle import find_bundle, is_model
from transduce.bundle_config import read_config
from transduce.cli.model import open_bundle
from transduce.cli.options import given_options
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.examples import ExampleCorpus
from transduce.errors import InputError
from transduce.evaluation.measured import Measured, MeasuredComparison, compare_measured
from transduce.evaluation.significance import RESAMPLES, SEED
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.models.heads import ClassHeadConfig
from transduce.task_table import TASKS, find_task
from transduce.tasks.measuring import MeasuringTask

if TYPE_CHECKING:
    from transduce.evaluation.measured import Confusion

APPLICABLE = {"reference", "dataset", "split", "device", "threads", "precision", "json", "quiet", "confusion"}
"""Options of `evaluate` and `compare` that these models have."""


def reads_texts(path: str) -> bool:
    """Whether a folder, or a ZIP file, holds a model with a text encoder."""
    return is_model(path) and TASKS[read_config(find_bundle(Path(path))).task].probe == "texts"


def check_readers(paths: Sequence[str], context: typer.Context) -> MeasuringTask:
    """The task of models; InputError unless all are of one that can be measured, and no other option is given."""
    tasks = {path: read_config(find_bundle(Path(path))).task for path in paths if reads_texts(path)}
    if others := [path for path in paths if tasks.get(path) != tasks[next(iter(tasks))]]:
        raise InputError(
            f"{others[0]} is not for the task of {next(iter(tasks))}; only models of one task can be compared"
        )
    name = next(iter(tasks.values()))
    if refused := given_options(context, APPLICABLE):
        verb, them = ("does", "it") if len(refused) == 1 else ("do", "them")
        raise InputError(f"{', '.join(refused)} {verb} not apply to {TASKS[name].title}; leave {them} out")
    task = find_task(name)
    if not hasattr(task, "measured"):
        raise InputError(f"{paths[0]} is {TASKS[name].title}, which has nothing to evaluate; fine-tune it first")
    found: MeasuringTask = task
    return found


def open_data(
    task: MeasuringTask, model: str, reference: str | None, dataset: str | None, split: str | None
) -> ExampleCorpus[Any]:
    """The test data that the command line names, by default those of the model's run."""
    if reference is not None and dataset is not None:
        raise InputError("--dataset and --reference exclude each other; leave one of them out")
    if dataset is None and split is not None:
        raise InputError("--split is for a --dataset; give one, or leave it out")
    recipe = recipe_of(Path(model))
    part = split or (str(find_dataset(dataset).test) if dataset is not None else "test")
    config, folder = (recipe.config, recipe.folder) if recipe else (None, Path())
    return task.test_data(read_config(find_bundle(Path(model))), config, folder, reference, dataset, part)


def describe(measured: Measured, data: str) -> str:
    """A line a metric, for people."""
    width = max(len(metric.title) for metric in measured.metrics.values()) + 2
    lines = [data]
    for name, score in measured.summary().items():
        metric = measured.metrics[name]
        low, high = (f"{end:.{metric.digits}f}" for end in score.interval)
        lines.append(f"{metric.title:<{width}}{score.score:.{metric.digits}f}  [{low}, {high}]")
    lines.append(f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the {measured.unit}, seed {SEED}")
    return "\n".join([*lines, f"{measured.size:,} {measured.unit}"])


def to_json(measured: Measured, data: str) -> str:
    """The same for programs."""
    facts: dict[str, Any] = {"data": data, measured.unit: measured.size}
    facts["scores"] = msgspec.to_builtins(measured.summary())
    if measured.confusion is not None:
        counts = measured.confusion.counts.tolist()
        facts["confusion"] = {"labels": list(measured.confusion.labels), "counts": counts}
    return msgspec.json.encode(facts).decode()


def check_confusion(model: str, path: str) -> None:
    """Raise InputError for a model that tells no classes, or a file that no picture can be drawn into."""
    from transduce.analysis.plots import check_picture

    if not isinstance(read_config(find_bundle(Path(model))).head, ClassHeadConfig):
        raise InputError("--confusion: the model tells no classes; leave it out")
    check_picture(Path(path))


def draw_confusion(confusion: "Confusion", path: str) -> None:
    """Draw how often each class was told for each into a .png, .svg or .pdf file."""
    from transduce.analysis.plots import plot_confusion

    plot_confusion(confusion.labels, confusion.counts, Path(path))


def compare_readers(
    task: MeasuringTask,
    models: Sequence[str],
    options: tuple[str | None, str | None, str | None],
    device: str,
    precision: InferencePrecision,
    tell: Callable[[str], None],
) -> MeasuredComparison:
    """Models on the same test data: a file, a split of a data set, or that of the runs, which must be the same."""
    corpora = [open_data(task, model, *options) for model in models]
    if len({corpus.content() for corpus in corpora}) > 1:
        raise InputError("the runs have different test sets; give --dataset or --reference")
    measured = {}
    for model, corpus in zip(models, corpora, strict=True):
        tell(f"{model}: reading {corpus.name} ...")
        measured[model] = task.measured(open_bundle(model, device, precision), corpus)
    return compare_measured(measured, corpora[0].name)
