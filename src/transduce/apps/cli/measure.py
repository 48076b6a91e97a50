"""The verbs that measure models and finished outputs on test data: evaluate and compare."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from transduce.apps.cli.machine_options import MachineOptions, tell_engine
from transduce.apps.cli.options import (
    BatchTokens,
    DataOptions,
    Engine,
    Json,
    Quiet,
    ScoringOptions,
    ShortlistOptions,
    TableFormat,
    UseShortlist,
    given_options,
    is_given,
)
from transduce.apps.cli.printing import print_json, teller
from transduce.apps.cli.search_options import BeamOptions, RuleOptions
from transduce.base import ranges
from transduce.base.errors import InputError
from transduce.base.task_table import TASKS

if TYPE_CHECKING:
    pass

OF_OUTPUTS = (
    "source", "reference", "dataset", "split", "direction", "lowercase", "tokenize", "all_bleu", "metric", "json",
    "device", "threads",
)  # fmt: skip
"""The options that apply to finished outputs, or to any computation."""
MAX_SYSTEMS = 26  # they go by letters


def evaluate(
    context: click.Context,
    model: str,
    *,
    search: RuleOptions,
    data: DataOptions,
    output: str | None = None,
    scoring: ScoringOptions,
    all_bleu: bool = False,
    robust: bool = False,
    machine: MachineOptions,
    engine: Engine = "auto",
    batch_tokens: BatchTokens = None,
    shortlist: ShortlistOptions,
    confusion: str | None = None,
    memory: ranges.PositiveInt | None = None,
    dynamic: bool = False,
    dynamic_rate: ranges.PositiveFloat | None = None,
    json: Json = False,
) -> None:
    """Translate a test set, by default the run's own, and score it, with signatures and 95 % confidence intervals.

    A model of several directions is scored in each that it was trained in, or in the one of --direction.
    For a language model, report its perplexity on a text (--reference FILE or --dataset; default: the run's own text).
    For a classifier, a tagger or a model that answers, report how often it is right on labelled text, given likewise.
    To score existing translations of any system, give their file instead of a model.

    Example: `transduce evaluate runs/multi30k`, or of another data set: `--dataset newstest --split newstest2013`

    Args:
        model: A model's or a run's folder, or a text file of finished outputs; - is standard input.
        output: Also write the model's translations here; into a file that ends in .html, a page about them.
        all_bleu: Also print BLEU in four ways: 13a and intl, cased and uncased.
        robust: Score the test set as it is written, and as others type it: in capitals, as titles, in lower case,
            without full stops, with typing errors, and word by word.
        confusion: For a classifier: also draw its confusion matrix into this file (.png, .svg or .pdf).
        memory: For a Transformer-XL or XLNet: tokens remembered (default: as in training).
        dynamic: For a language model: let it learn from the text that it has been measured on.
        dynamic_rate: With --dynamic: learning rate (default: 0.0001).
    """
    from transduce.apps.cli import scored, test_set
    from transduce.apps.cli.input import check_read_once
    from transduce.evaluation.dynamic import DynamicEvaluation
    from transduce.evaluation.score_table import Scores, ScoreTable
    from transduce.tasks.language.language_validation import Reading

    task = scored.task_of([model], context)
    result: Scores | ScoreTable | scored.TextScores
    if task is not None and TASKS[task].tool == "generator":
        if dynamic_rate is not None and not dynamic:
            raise InputError("--dynamic-rate goes with --dynamic; leave it out")
        rate = {} if dynamic_rate is None else {"learning_rate": dynamic_rate}
        reading = Reading(memory, DynamicEvaluation(**rate) if dynamic else None)
        result = scored.evaluate_text(model, data, machine, reading)
    elif task is not None:
        result = scored.score_model(model, data, scoring.metrics, machine, confusion)
    else:
        if confusion is not None:
            raise InputError("--confusion is for classifiers; leave it out")
        of_texts = ("--memory", "--dynamic", "--dynamic-rate")
        if refused := [name for name in given_options(context, ()) if name in of_texts]:
            raise InputError(f"{refused[0]} is for language models; leave it out")
        if output == "-":
            raise InputError(
                "-o -: standard output is for the scores; name a file, or translate with `transduce translate`"
            )
        check_read_once(**{"the outputs": model, "--source": data.source, "--reference": data.reference})
        test_set.check_options(data, scoring)
        system = test_set.open_system(model, machine, engine, shortlist.chosen, batch_tokens)
        if not isinstance(system, list):
            tell_engine(system, search, test_set.tell, is_given(context, "engine"))
        elif refused := given_options(context, OF_OUTPUTS + ("output",) * test_set.is_page(output)):
            raise InputError(f"{refused[0]}: nothing is translated, the outputs are in {model}")
        if robust and (all_bleu or (output is not None and not test_set.is_page(output))):
            raise InputError(f"--robust goes without {'--all-bleu' if all_bleu else '--output'}; leave one of them out")
        result = test_set.evaluate_system(model, system, data, scoring, all_bleu, robust, output, search)
    print_json(result.to_dict()) if json else print(result.describe())


def compare(
    context: click.Context,
    systems: list[str],
    *,
    search: BeamOptions,
    data: DataOptions,
    train: str | None = None,
    words: list[str] | None = None,
    scoring: ScoringOptions,
    machine: MachineOptions,
    engine: Engine = "auto",
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
        words: Words of a kind, such as "he him his", whose recall and precision are told; repeatable.
    """
    from transduce.apps.cli import test_set
    from transduce.apps.cli.scored import compare_models, task_of
    from transduce.corpora.lines import read_lines
    from transduce.evaluation.breakdown import by_words
    from transduce.evaluation.compare import Comparison
    from transduce.evaluation.compare import compare as run_comparison
    from transduce.evaluation.comparison_tables import comparison_tables
    from transduce.evaluation.metric import check_aligned
    from transduce.inference.request import sources_in_context
    from transduce.inference.translator import Translator

    tell = teller(quiet, prefix="")
    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    _check_names(systems)
    comparison: Comparison[Any]
    if task_of(systems, context) is not None:
        comparison = compare_models(systems, data, scoring.metrics, machine, tell)
    else:
        test_set.check_options(data, scoring)
        if train is not None and not Path(train).is_file():
            raise InputError(f"--train {train}: no such file")
        opened = test_set.directed(
            data, {name: test_set.open_system(name, machine, engine, shortlist) for name in systems}
        )
        sources, references, documents = test_set.open_test_set(data, opened)
        for name, system in opened.items():  # all of them, before the first is translated
            test_set.warn_of_case(name, system, scoring)
            if isinstance(system, list):
                check_aligned(name, system, references)
        by_words(words or (), references, {}, scoring.tokenize)  # whether the references have them
        translators = [system for system in opened.values() if isinstance(system, Translator)]
        training = test_set.training_text(translators) if train is None else read_lines(train)
        outputs = {}
        for name, system in opened.items():
            if isinstance(system, Translator):
                tell_engine(system, search, tell, is_given(context, "engine"))
                tell(f"{name}: translating {len(sources):,} sentences ...")
                requests = sources_in_context(sources, system.bundle.config.context, documents)
                system = [translation.text for translation in system.translate(requests, search)]
            outputs[name] = system
        how = (scoring.lowercase, scoring.tokenize)
        comparison = run_comparison(outputs, sources, references, *how, training, scoring.metrics, words or ())
    print_json(comparison.to_dict()) if json else print(comparison_tables(comparison, format))


def _check_names(systems: list[str]) -> None:
    if len(systems) < 2:
        raise InputError(f"there is nothing to compare {systems[0]} with; name two systems or more")
    if len(systems) > MAX_SYSTEMS:
        raise InputError(f"{len(systems)} systems are too many to compare at once; name at most {MAX_SYSTEMS}")
    names: dict[Path, str] = {}
    for name in systems:
        path = Path(name).resolve()
        if path in names:
            raise InputError(f"{name} is named twice" + (f", first as {names[path]}" * (names[path] != name)))
        names[path] = name
