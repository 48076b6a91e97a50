"""`transduce compare`: two or more models or outputs on one test set, with significance."""

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transduce.cli.messages import print_json
from transduce.cli.options import (
    DatasetName,
    Device,
    Direction,
    InferencePrecision,
    Json,
    Lowercase,
    MetricNames,
    Quiet,
    Reference,
    Source,
    Split,
    TableFormat,
    Threads,
    Tokenize,
    UseShortlist,
)
from transduce.cli.search_options import BeamOptions

if TYPE_CHECKING:
    from transduce.inference.translator import Translator

MAX_SYSTEMS = 26  # they go by letters


def compare(
    context: typer.Context,
    search: BeamOptions,
    systems: Annotated[
        list[str],
        typer.Argument(
            help="Models' or runs' folders, or text files of finished outputs; the first is the baseline.",
            show_default=False,
        ),
    ],
    source: Source = None,
    reference: Reference = None,
    dataset: DatasetName = None,
    split: Split = None,
    direction: Direction = None,
    train: Annotated[
        str | None,
        typer.Option(
            help="Target side of the training data, for recall by word frequency; not needed for models of a "
            "built-in data set."
        ),
    ] = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "auto",
    metric: MetricNames = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    shortlist: UseShortlist = False,
    format: TableFormat = "text",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare models or output files on one test set, by default that of the models' runs, with significance
    tests.

    Language models are compared on a text (--reference FILE or --dataset), by default their runs' test text; models
    that classify, tag or answer likewise on labelled text.

    Example: `transduce compare runs/small runs/large --dataset multi30k`
    """

    from transduce.cli.comparison import print_comparison, print_model_comparison, print_tables
    from transduce.cli.model import set_threads
    from transduce.cli.scored import DataOptions, compare_models, task_of
    from transduce.cli.test_set import TestSetOptions, open_system, warn_of_case
    from transduce.corpora.formats import read_lines
    from transduce.errors import InputError
    from transduce.evaluation.compare import compare as run_comparison
    from transduce.evaluation.metric import check_aligned
    from transduce.evaluation.metrics import find_metric
    from transduce.inference.translator import Translator

    def show(found: Any, in_text: Callable[[Any], None]) -> None:
        if json:
            print_json(found.to_dict())
        elif format == "text":
            in_text(found)
        else:
            print_tables(found, format)

    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    set_threads(threads)
    _check_names(systems)
    if task_of(systems, context) is not None:
        data = DataOptions(reference, dataset, split)
        told = compare_models(systems, data, metric or [], device, precision, _tell if not quiet else _say_nothing)
        show(told, print_model_comparison)
        return
    metrics = metric or []
    for name in metrics:
        find_metric(name)  # before anything is waited for
    if train is not None and not Path(train).is_file():
        raise InputError(f"--train {train}: no such file")
    options = TestSetOptions(source, reference, dataset, split, direction)
    opened = {name: open_system(name, device, precision, shortlist) for name in systems}
    opened = options.directed(opened)
    test = options.open(opened)
    sources = test.to_translate()
    for name, system in opened.items():  # all of them, before the first is waited for
        warn_of_case(name, system, lowercase)
        if isinstance(system, list):
            check_aligned(name, system, test.references)
    translators = [system for system in opened.values() if isinstance(system, Translator)]
    training = _training_text(translators) if train is None else read_lines(train)
    outputs = {}
    for name, system in opened.items():
        if isinstance(system, Translator):
            if not quiet:
                _tell(f"{name}: translating {len(sources):,} sentences ...")
            outputs[name] = [translation.text for translation in system.translate(sources, search)]
        else:
            outputs[name] = system
    result = run_comparison(outputs, sources, test.references, lowercase, tokenize, training, metrics)
    show(result, print_comparison)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _say_nothing(line: str) -> None:
    pass


def _check_names(systems: list[str]) -> None:
    from transduce.errors import InputError

    if len(systems) < 2:
        raise InputError(f"there is nothing to compare {systems[0]} with; name two systems or more")
    if len(systems) > MAX_SYSTEMS:
        raise InputError(f"{len(systems)} systems are too many to compare at once; name at most {MAX_SYSTEMS}")
    places: dict[Path, str] = {}
    for name in systems:
        place = Path(name).resolve()
        if place in places:
            raise InputError(f"{name} is named twice" + (f", first as {places[place]}" * (places[place] != name)))
        places[place] = name


def _training_text(translators: "list[Translator]") -> Iterable[str] | None:
    """Returns the target side of the built-in data set that all models were trained on, or None."""
    from transduce.corpora.catalogue.registry import DATASETS
    from transduce.corpora.splits import open_split

    trained_on = {
        (bundle.history.get("data"), bundle.config.source, bundle.config.target)
        for bundle in (translator.bundle for translator in translators)
    }
    if len(trained_on) != 1:
        return None
    ((data, source, target),) = trained_on
    if data not in DATASETS:
        return None
    return (pair.target for pair in open_split(data, "train", source, target))
