"""What verbs of several tasks do with a language model."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from transduce.bundle import find_bundle, is_model
from transduce.bundle_config import read_config
from transduce.cli.model import open_bundle
from transduce.cli.options import given_options
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.formats import text_file
from transduce.corpora.splits import open_text
from transduce.errors import InputError
from transduce.evaluation.running_text import TextComparison, compare_texts
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.tasks.language.data import open_texts
from transduce.tasks.language.validation import PLAIN, Reading, count_lines, score_text

APPLICABLE = {"reference", "dataset", "split", "source", "direction", "device", "threads", "precision", "json", "quiet"}
APPLICABLE |= {"memory", "dynamic", "dynamic_rate"}
"""Options of `evaluate` and `compare` that language models have too, or that TextOptions refuses in its own words."""


def is_language_model(path: str) -> bool:
    """Whether a folder, or a ZIP file, holds a language model."""
    return is_model(path) and read_config(find_bundle(Path(path))).task == "language"


def check_language_models(paths: Sequence[str], context: typer.Context) -> None:
    """Raise InputError unless all are language models, and no option is given that does not apply to these."""
    if others := [path for path in paths if not is_language_model(path)]:
        raise InputError(f"{others[0]} is no language model; only models of one task can be compared")
    if refused := given_options(context, APPLICABLE):
        verb, them = ("does", "it") if len(refused) == 1 else ("do", "them")
        raise InputError(f"{', '.join(refused)} {verb} not apply to language models; leave {them} out")


@dataclass(frozen=True)
class TextOptions:
    """Which text the command line names; raises InputError for options that do not go together."""

    source: str | None
    reference: str | None
    dataset: str | None
    split: str | None
    direction: str | None

    def __post_init__(self) -> None:
        if self.source is not None or self.direction is not None:
            raise InputError(
                "--source and --direction are for translation models; a text is given by --reference alone"
            )
        if self.reference is not None and self.dataset is not None:
            raise InputError("--dataset and --reference exclude each other; leave one of them out")
        if self.dataset is None and self.split is not None:
            raise InputError("--split is for a --dataset; give one, or leave it out")

    def open(self, model: str) -> TextCorpus:
        """The text, by default the test text of the model's run, else its validation text."""
        if self.reference is not None:
            return text_file(self.reference)
        if self.dataset is not None:
            return open_text(self.dataset, self.split or "test")
        recipe = recipe_of(Path(model))
        if recipe is None:
            raise InputError(
                f"{model} is not in a run's folder, so it has no test text of its own; give --dataset or --reference"
            )
        texts = open_texts(recipe.config.data, recipe.folder)
        return texts.test or texts.validation


def evaluate_text(
    model: str,
    options: TextOptions,
    device: str,
    precision: InferencePrecision,
    reading: Reading = PLAIN,
) -> tuple[str, dict[str, float]]:
    """The name of a text and a language model's scores on it: a file, a built-in text, or the run's own test set.

    Raises InputError where there is none, or for what the model cannot do.
    """
    bundle = open_bundle(model, device, precision)
    text = options.open(model)
    return text.name, score_text(bundle, text, reading=reading)


def compare_language_models(
    models: Sequence[str],
    options: TextOptions,
    device: str,
    precision: InferencePrecision,
    tell: Callable[[str], None],
) -> TextComparison:
    """Language models on one text: a file, a built-in text, or the test set of the runs, which must be the same."""
    texts = [options.open(model) for model in models]
    if len({text.content() for text in texts}) > 1:
        raise InputError("the runs have different test sets; give --dataset or --reference")
    counts = {}
    for model, text in zip(models, texts, strict=True):
        tell(f"{model}: reading {text.name} ...")
        counts[model] = count_lines(open_bundle(model, device, precision), text)
    return compare_texts(counts, texts[0])
