"""`evaluate` and `compare` for models that do not translate: of languages, classes, tags or answers."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import click

from docsegments.extras import check_installed
from transduce.apps.cli.machine_options import MachineOptions
from transduce.apps.cli.options import DataOptions, given_options
from transduce.base.errors import InputError
from transduce.base.task_table import TASKS, find_task
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle, is_model
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import TextCorpus
from transduce.evaluation.compare import Comparison, DifferingLine, compare_scores
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.score_table import Scores
from transduce.experiment.recipe import recipe_of
from transduce.models.heads import ClassHeadConfig
from transduce.tasks.language.language_validation import PLAIN as AS_TRAINED
from transduce.tasks.language.language_validation import Reading, score_text
from transduce.tasks.task import TestData, TestedTask, Wanted

SHARED = {"reference", "dataset", "split", "metric", "device", "threads", "precision", "json", "quiet"}
APPLICABLE = {"generator": SHARED - {"metric"} | {"memory", "dynamic", "dynamic_rate"}}
"""The options of `evaluate` and `compare`, by the tool that runs a task's models."""


def task_of(systems: Sequence[str], context: click.Context) -> str | None:
    """Returns the task of models that do not translate; None for only translators, or finished outputs.

    Raises InputError for models of several tasks, and for options that do not apply to this one.
    """
    tasks = {path: read_config(find_bundle(Path(path))).task for path in systems if is_model(path)}
    others = [task for task in tasks.values() if task != "translation"]
    if not others:
        return None
    if misfits := [path for path in systems if tasks.get(path) != others[0]]:
        raise InputError(f"{misfits[0]} is not {TASKS[others[0]].title}; only models of one task can be compared")
    if refused := given_options(context, APPLICABLE.get(TASKS[others[0]].tool, SHARED | {"confusion"})):
        verb, them = ("does", "it") if len(refused) == 1 else ("do", "them")
        raise InputError(f"{', '.join(refused)} {verb} not apply to {TASKS[others[0]].title}; leave {them} out")
    return others[0]


def open_data(options: DataOptions, model: str) -> TestData:
    """Opens the test data that the options name, by default those of the model's run."""
    if options.dataset is None and options.split is not None:
        raise InputError("--split is for a --dataset; give one, or leave it out")
    recipe = recipe_of(Path(model))
    split = options.split or (find_dataset(options.dataset).test if options.dataset is not None else None) or "test"
    if recipe is None and options.reference is None and options.dataset is None:
        raise InputError(
            f"{model} is not in a run's folder, so it has no test data of its own; give --dataset or --reference"
        )
    config, folder = (recipe.config, recipe.folder) if recipe else (None, Path())
    of_model = read_config(find_bundle(Path(model)))
    if TASKS[of_model.task].tool == "encoder":
        raise InputError("a text encoder has nothing to evaluate; fine-tune it first")
    task: TestedTask[Any] = find_task(of_model.task)
    if len(files := options.reference or []) > 1:
        raise InputError("several --reference are for translations; give one")
    return task.test_data(Wanted(of_model, config, folder, next(iter(files), None), options.dataset, split))


def compare_models(
    models: Sequence[str],
    options: DataOptions,
    metrics: Sequence[str],
    machine: MachineOptions,
    tell: Callable[[str], None],
) -> Comparison[DifferingLine]:
    """Compares models on the same test data: a file, a split of a data set, or those of the runs, if the same."""
    data = [open_data(options, model) for model in models]
    if len({of_model.texts.content() for of_model in data}) > 1:
        raise InputError("the runs have different test sets; give --dataset or --reference")
    scores: dict[str, Scores] = {}
    for model, of_model in zip(models, data, strict=True):
        tell(f"{model}: reading {of_model.texts.name} ...")
        bundle = machine.open(model)
        scores[model] = find_task(bundle.config.task).score(bundle, of_model, metrics)
    return compare_scores(scores, data[0].texts.name, list(data[0].texts))


def score_model(
    model: str, options: DataOptions, metrics: Sequence[str], machine: MachineOptions, confusion: str | None
) -> Scores:
    """Returns a model's scores on test data; draws the confusion matrix into a file.

    Raises InputError for a confusion matrix of a model without classes, or in an unsupported format.
    """
    if confusion is not None:  # before anything is waited for
        if not isinstance(read_config(find_bundle(Path(model))).head, ClassHeadConfig):
            raise InputError("--confusion: the model predicts no classes; leave it out")
        check_installed("train", "matplotlib")
        from transduce.analysis.plots import check_picture, plot_confusion

        check_picture(Path(confusion))
    data, bundle = open_data(options, model), machine.open(model)
    scores: Scores = find_task(bundle.config.task).score(bundle, data, metrics)
    if confusion is not None and isinstance(outcome := scores.outcome, PredictedClasses):
        plot_confusion(outcome.labels, outcome.confusion, Path(confusion))
    return replace(scores, data=data.texts.name)


class TextScores(NamedTuple):
    """A language model's loss and other scores on a text, as it reads the text for `evaluate`: without lines."""

    text: str
    """Name of the text."""
    scores: dict[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce evaluate --json`."""
        return {"text": self.text, **self.scores}

    def describe(self) -> str:
        """Returns a line for each score, for people."""
        return "\n".join([self.text, *(f"{name.replace('_', ' '):<20}{x:.4f}" for name, x in self.scores.items())])


def evaluate_text(
    model: str, options: DataOptions, machine: MachineOptions, reading: Reading = AS_TRAINED
) -> TextScores:
    """Returns a language model's scores on a text; InputError if impossible."""
    text = cast(TextCorpus, open_data(options, model).texts)
    return TextScores(text.name, score_text(machine.open(model), text, reading=reading))
