"""`transduce evaluate` for a model of several directions: a score for each, and their mean."""

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from statistics import fmean
from typing import Any

from transduce.cli.output import text_output
from transduce.cli.test_set import TestSetOptions, warn_of_case
from transduce.corpora.directions import Direction
from transduce.errors import InputError
from transduce.evaluation.evaluate import Evaluation, evaluate
from transduce.evaluation.metrics import find_metric
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule


def evaluate_directions(
    model: str,
    translator: Translator,
    options: TestSetOptions,
    output: str | None,
    search: DecisionRule,
    scoring: tuple[Any, ...],
) -> dict[Direction, Evaluation]:
    """Returns the scores in each direction that there is a test set for; raises InputError if there is none.

    Args:
        model: the model's folder.
        translator: the model, in no direction yet.
        options: which test set.
        output: a file to write the translations into, where there is one direction.
        search: how to translate.
        scoring: what `evaluate` is given after the search.
    """
    directions = options.directions_of(model, translator)
    if output is not None and len(directions) > 1:
        raise InputError("--output takes the translations of one direction; choose it with --direction")
    warn_of_case(model, translator, scoring[0])
    found: dict[Direction, Evaluation] = {}
    for direction in directions:
        own = translator.directed(direction.target, direction.source)
        test = replace(options, direction=str(direction)).open({model: own})
        with nullcontext() if output is None else text_output(output) as stream:
            found[direction] = evaluate(own, test.to_translate(), test.references, search, *scoring)
            if stream is not None:
                stream.writelines(f"{translation.text}\n" for translation in found[direction].translations)
    return found


def facts_of(found: Mapping[Direction, Evaluation]) -> dict[str, Any]:
    """Returns the output of `--json`."""
    return {
        "directions": {str(direction): evaluation.to_dict() for direction, evaluation in found.items()},
        "mean": _means(found),
    }


def describe_directions(found: Mapping[Direction, Evaluation]) -> str:
    """Returns a line for each direction and one with the means, for people."""
    first = next(iter(found.values()))
    metrics = {name: find_metric(name) for name in first.scores}
    width = max(len("mean"), *(len(str(direction)) for direction in found)) + 2
    rows = [
        (str(direction), {name: score.score for name, score in one.scores.items()}) for direction, one in found.items()
    ]
    if len(found) > 1:
        rows.append(("mean", _means(found)))
    lines = ["".join([" " * width, *(f"{metric.title:>9}" for metric in metrics.values())])]
    for name, scores in rows:
        lines.append("".join([f"{name:<{width}}", *(f"{score:9.{metrics[n].digits}f}" for n, score in scores.items())]))
    lines += [f"{metrics[name].title}: {score.signature}" for name, score in first.scores.items()]
    counts = [(one.sentences, one.seconds or 0.0) for one in found.values()]
    sentences, seconds = (sum(values) for values in zip(*counts, strict=True))
    lines.append(f"{sentences:,} sentences in {seconds:.1f} s")
    return "\n".join(lines)


def _means(found: Mapping[Direction, Evaluation]) -> dict[str, float]:
    names = next(iter(found.values())).scores
    return {name: fmean(one.scores[name].score for one in found.values()) for name in names}
