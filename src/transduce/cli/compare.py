"""`transduce compare`: two or more models or outputs on one test set, with significance."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from transduce.cli.machine import Machine
from transduce.cli.messages import print_json, teller
from transduce.cli.options import DataOptions, Json, Quiet, ScoringOptions, TableFormat, UseShortlist
from transduce.cli.search_options import BeamOptions
from transduce.errors import InputError

if TYPE_CHECKING:
    from transduce.inference.translator import Translator

MAX_SYSTEMS = 26  # they go by letters


def compare(
    context: typer.Context,
    systems: list[str],
    *,
    search: BeamOptions,
    data: DataOptions,
    train: str | None = None,
    scoring: ScoringOptions,
    machine: Machine,
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

    Args:
        systems: Models' or runs' folders, or text files of finished outputs; the first is the baseline.
        train: Target side of the training data, for recall by word frequency; not needed for models of a built-in data
            set.
    """
    from transduce.cli import test_set
    from transduce.cli.scored import compare_models, task_of
    from transduce.corpora.formats import read_lines
    from transduce.evaluation.compare import Comparison
    from transduce.evaluation.compare import compare as run_comparison
    from transduce.evaluation.comparison_tables import comparison_tables
    from transduce.evaluation.metric import check_aligned
    from transduce.evaluation.scores import ModelComparison
    from transduce.inference.translator import Translator

    tell = teller(quiet, prefix="")
    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    _check_names(systems)
    found: Comparison | ModelComparison
    if task_of(systems, context) is not None:
        found = compare_models(systems, data, scoring.metrics, machine, tell)
    else:
        test_set.check_options(data, scoring)
        if train is not None and not Path(train).is_file():
            raise InputError(f"--train {train}: no such file")
        opened = test_set.directed(data, {name: test_set.open_system(name, machine, shortlist) for name in systems})
        test = test_set.open_test_set(data, opened)
        sources = test.to_translate()
        for name, system in opened.items():  # all of them, before the first is waited for
            test_set.warn_of_case(name, system, scoring)
            if isinstance(system, list):
                check_aligned(name, system, test.references)
        translators = [system for system in opened.values() if isinstance(system, Translator)]
        training = _training_text(translators) if train is None else read_lines(train)
        outputs = {}
        for name, system in opened.items():
            if isinstance(system, Translator):
                tell(f"{name}: translating {len(sources):,} sentences ...")
                system = [translation.text for translation in system.translate(sources, search)]
            outputs[name] = system
        how = (scoring.lowercase, scoring.tokenize)
        found = run_comparison(outputs, sources, test.references, *how, training, scoring.metrics)
    print_json(found.to_dict()) if json else print(comparison_tables(found, format))


def _check_names(systems: list[str]) -> None:
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
