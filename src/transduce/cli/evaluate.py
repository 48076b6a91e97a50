"""`transduce evaluate`: BLEU, chrF and TER of a model, or of finished outputs, on a test set."""

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from transduce import ranges
from transduce.cli.options import (
    OUTPUT,
    DatasetName,
    Device,
    Direction,
    InferencePrecision,
    Json,
    Lowercase,
    MetricNames,
    Reference,
    ShortlistFile,
    Source,
    Split,
    System,
    Threads,
    Tokenize,
    UseShortlist,
    given_options,
    ranged,
)
from transduce.cli.search_options import RuleOptions

if TYPE_CHECKING:
    from transduce.evaluation.evaluate import Evaluation
    from transduce.evaluation.metric import Score

OF_OUTPUTS = (
    "source", "reference", "dataset", "split", "direction", "lowercase", "tokenize", "all_bleu", "metric", "json",
    "device", "threads",
)  # fmt: skip
"""The options that apply to finished outputs, or to any computation."""


def evaluate(
    context: typer.Context,
    model: System,
    search: RuleOptions,
    source: Source = None,
    reference: Reference = None,
    dataset: DatasetName = None,
    split: Split = None,
    direction: Direction = None,
    output: Annotated[str | None, typer.Option(*OUTPUT, help="Also write the model's translations here.")] = None,
    lowercase: Lowercase = False,
    tokenize: Tokenize = "auto",
    all_bleu: Annotated[
        bool, typer.Option("--all-bleu", help="Also print BLEU in four ways: 13a and intl, cased and uncased.")
    ] = False,
    metric: MetricNames = None,
    device: Device = "auto",
    threads: Threads = None,
    precision: InferencePrecision = "float32",
    shortlist: UseShortlist = False,
    shortlist_file: ShortlistFile = None,
    confusion: Annotated[
        str | None,
        typer.Option(help="For a classifier: also draw its confusion matrix into this file (.png, .svg or .pdf)."),
    ] = None,
    memory: Annotated[
        int | None,
        ranged(ranges.PositiveInt, "For a Transformer-XL or XLNet: tokens remembered (default: as in training)"),
    ] = None,
    dynamic: Annotated[
        bool,
        typer.Option(
            "--dynamic", help="For a language model: let it learn from the text that it has been measured on."
        ),
    ] = False,
    dynamic_rate: Annotated[
        float | None, ranged(ranges.PositiveFloat, "With --dynamic: learning rate (default: 0.0001)")
    ] = None,
    json: Json = False,
) -> None:
    """Translate a test set, by default the run's own, and score it, with signatures and 95 % confidence intervals.

    A model of several directions is scored in each that it was trained in, or in the one of --direction.
    For a language model, report its perplexity on a text (--reference FILE or --dataset; default: the run's own text).
    For a classifier, a tagger or a model that answers, report how often it is right on labelled text, given likewise.
    To score existing translations of any system, give their file instead of a model.

    Example: `transduce evaluate runs/multi30k`, or of another data set: `--dataset newstest --split newstest2013`
    """
    import msgspec

    from transduce.cli.directions import describe_directions, evaluate_directions, facts_of
    from transduce.cli.model import set_threads, which_shortlist
    from transduce.cli.output import text_output
    from transduce.cli.scored import (
        DataOptions,
        check_confusion,
        draw_confusion,
        evaluate_text,
        score_model,
        task_of,
        to_json,
    )
    from transduce.cli.scored import describe as describe_scores
    from transduce.cli.streams import check_read_once
    from transduce.cli.test_set import TestSetOptions, is_many, open_system, warn_of_case
    from transduce.errors import InputError
    from transduce.evaluation.dynamic import DynamicEvaluation
    from transduce.evaluation.evaluate import evaluate as run_evaluation
    from transduce.evaluation.evaluate import evaluate_outputs
    from transduce.evaluation.labels import ToldClasses
    from transduce.evaluation.metric import check_aligned
    from transduce.evaluation.metrics import find_metric
    from transduce.inference.translator import Translator
    from transduce.tasks.language.validation import Reading

    task = task_of([model], context)
    if task is not None:
        options_of_data = DataOptions(reference, dataset, split)
        if confusion is not None:
            check_confusion(model, confusion)  # before anything is waited for
        set_threads(threads)
        if task != "language":
            name, found_scores = score_model(model, options_of_data, metric or [], device, precision)
            if confusion is not None and isinstance(found_scores.outcome, ToldClasses):
                draw_confusion(found_scores.outcome, confusion)
            print((to_json if json else describe_scores)(found_scores, name))
            return
        if dynamic_rate is not None and not dynamic:
            raise InputError("--dynamic-rate goes with --dynamic; leave it out")
        rate = {} if dynamic_rate is None else {"learning_rate": dynamic_rate}
        reading = Reading(memory, DynamicEvaluation(**rate) if dynamic else None)
        name, scores = evaluate_text(model, options_of_data, device, precision, reading)
        lines = [f"{name.replace('_', ' '):<20}{score:.4f}" for name, score in scores.items()]
        print(msgspec.json.encode({"text": name, **scores}).decode() if json else "\n".join([name, *lines]))
        return
    if confusion is not None:
        raise InputError("--confusion is for classifiers; leave it out")
    if refused := [name for name in given_options(context, ()) if name in ("--memory", "--dynamic", "--dynamic-rate")]:
        raise InputError(f"{refused[0]} is for language models; leave it out")
    if output == "-":
        raise InputError(
            "-o -: standard output is for the scores; name a file, or translate with `transduce translate`"
        )
    check_read_once(**{"the outputs": model, "--source": source, "--reference": reference})
    set_threads(threads)
    metrics = metric or []
    for name in metrics:
        find_metric(name)  # before anything is waited for
    options = TestSetOptions(source, reference, dataset, split, direction)
    system = open_system(model, device, precision, which_shortlist(shortlist, shortlist_file))
    scoring = (lowercase, tokenize, all_bleu, metrics)
    if is_many(system) and isinstance(system, Translator):
        found = evaluate_directions(model, system, options, output, search, scoring)
        print(msgspec.json.encode(facts_of(found)).decode() if json else describe_directions(found))
        return
    if isinstance(system, list) and (refused := given_options(context, OF_OUTPUTS)):
        raise InputError(f"{refused[0]}: nothing is translated, the outputs are in {model}")
    test = options.open({model: system})
    if isinstance(system, list):
        check_aligned(model, system, test.references)
        result = evaluate_outputs(system, test.references, *scoring, test.sources)
    else:
        sources = test.to_translate()
        warn_of_case(model, system, lowercase)
        with nullcontext() if output is None else text_output(output) as stream:
            result = run_evaluation(system, sources, test.references, search, *scoring)
            if stream is not None:
                stream.writelines(f"{translation.text}\n" for translation in result.translations)
    print(msgspec.json.encode(result.to_dict()).decode() if json else describe(result))


def describe(result: "Evaluation") -> str:
    """Returns a line for each metric, for people."""
    from transduce.evaluation.metrics import find_metric
    from transduce.evaluation.significance import RESAMPLES, SEED

    metrics = {name: find_metric(name) for name in result.scores}
    width = max(len(metric.title) for metric in metrics.values()) + 1
    lines = [_line(f"{metrics[n].title:<{width}}", score, metrics[n].digits) for n, score in result.scores.items()]
    for variant in result.all_bleu or []:
        lines.append(_line(f"BLEU {variant.tokenize:<5}{'uncased' if variant.lowercase else 'cased':<8}", variant, 2))
    lines.append(f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the sentences, seed {SEED}")
    lines.append(f"length {result.length_ratio:.3f} of the reference's; exact match {100 * result.exact_match:.1f} %")
    if result.seconds is None:
        lines.append(f"{result.sentences:,} sentences")
    else:
        rate = result.sentences / max(result.seconds, 1e-9)
        lines.append(f"{result.sentences:,} sentences in {result.seconds:.1f} s, {rate:,.1f} a second")
    return "\n".join(lines)


def _line(name: str, score: "Score", digits: int) -> str:
    low, high = score.interval
    return f"{name}{score.score:{digits + 4}.{digits}f}  [{low:.{digits}f}, {high:.{digits}f}]  {score.signature}"
