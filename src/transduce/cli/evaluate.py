"""`transduce evaluate`: BLEU, chrF and TER of a model, or of finished outputs, on a test set."""

import typer

from transduce import ranges
from transduce.cli.machine import Machine
from transduce.cli.messages import print_json
from transduce.cli.options import DataOptions, Json, ScoringOptions, ShortlistOptions, given_options
from transduce.cli.search_options import RuleOptions
from transduce.errors import InputError

OF_OUTPUTS = (
    "source", "reference", "dataset", "split", "direction", "lowercase", "tokenize", "all_bleu", "metric", "json",
    "device", "threads",
)  # fmt: skip
"""The options that apply to finished outputs, or to any computation."""


def evaluate(
    context: typer.Context,
    model: str,
    *,
    search: RuleOptions,
    data: DataOptions,
    output: str | None = None,
    scoring: ScoringOptions,
    all_bleu: bool = False,
    machine: Machine,
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
        output: Also write the model's translations here.
        all_bleu: Also print BLEU in four ways: 13a and intl, cased and uncased.
        confusion: For a classifier: also draw its confusion matrix into this file (.png, .svg or .pdf).
        memory: For a Transformer-XL or XLNet: tokens remembered (default: as in training).
        dynamic: For a language model: let it learn from the text that it has been measured on.
        dynamic_rate: With --dynamic: learning rate (default: 0.0001).
    """
    from transduce.cli import scored, test_set
    from transduce.cli.streams import check_read_once
    from transduce.evaluation.dynamic import DynamicEvaluation
    from transduce.tasks.language.validation import Reading

    task = scored.task_of([model], context)
    if task == "language":
        if dynamic_rate is not None and not dynamic:
            raise InputError("--dynamic-rate goes with --dynamic; leave it out")
        rate = {} if dynamic_rate is None else {"learning_rate": dynamic_rate}
        reading = Reading(memory, DynamicEvaluation(**rate) if dynamic else None)
        name, scores = scored.evaluate_text(model, data, machine, reading)
        lines = [f"{name.replace('_', ' '):<20}{score:.4f}" for name, score in scores.items()]
        print_json({"text": name, **scores}) if json else print(name, *lines, sep="\n")
        return
    if task is not None:
        name, told = scored.score_model(model, data, scoring.metrics, machine, confusion)
        print_json({"data": name, **told.to_dict()}) if json else print(name, told.describe(), sep="\n")
        return
    if confusion is not None:
        raise InputError("--confusion is for classifiers; leave it out")
    if refused := [name for name in given_options(context, ()) if name in ("--memory", "--dynamic", "--dynamic-rate")]:
        raise InputError(f"{refused[0]} is for language models; leave it out")
    if output == "-":
        raise InputError(
            "-o -: standard output is for the scores; name a file, or translate with `transduce translate`"
        )
    check_read_once(**{"the outputs": model, "--source": data.source, "--reference": data.reference})
    test_set.check_options(data, scoring)
    system = test_set.open_system(model, machine, shortlist.chosen)
    if isinstance(system, list) and (refused := given_options(context, OF_OUTPUTS)):
        raise InputError(f"{refused[0]}: nothing is translated, the outputs are in {model}")
    found = test_set.evaluate_system(model, system, data, scoring, all_bleu, output, search)
    print_json(found.to_dict()) if json else print(found.describe())
