"""`transduce sweep`: one recipe with several values and seeds, and what they are worth."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transduce.cli.file_options import Data
from transduce.cli.messages import print_json
from transduce.cli.options import OUTPUT, Device, Json, Quiet, TableFormat, Threads, ranged
from transduce.ranges import Iterations

if TYPE_CHECKING:
    from transduce.evaluation.paper_table import TableFormat as Format
    from transduce.evaluation.significance import Difference
    from transduce.experiment.sweep import Combination, Sweep

POOLED = (
    "A difference is of scores over all seeds' outputs together, whose counts are summed before they are scored; it is "
    "not the difference of the means, because the score of a sum (BLEU is a ratio of sums) is no mean of scores."
)


def sweep(
    context: typer.Context,
    data: Data,
    recipe: Annotated[
        list[str],
        typer.Argument(
            metavar="FILES|RECIPE KEY=A,B,C...",
            help="Files or a recipe, as for `train`. Then settings and their values; a setting with one value applies "
            "to all runs.",
            show_default=False,
        ),
    ],
    seeds: Annotated[int, ranged(Iterations, "Number of seeds per combination, 1 to N")] = 1,
    metric: Annotated[
        str | None,
        typer.Option(help="Metric to report on the test set (default: bleu; bits_per_character for language models)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(*OUTPUT, help="The folder of all runs (default: runs/RECIPE-sweep).")
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    format: TableFormat = "text",
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Train a recipe with every combination of the given values, and compare each with the first combination.

    Finished runs are not trained again; after an interruption, repeat the command.

    Examples: `transduce sweep multi30k optimizer.learning_rate=1e-3,2e-3,3e-3 --seeds 2`,
    `transduce sweep mine.de mine.en model.dropout=0.1,0.3`
    """
    from transduce import experiment
    from transduce.cli.model import set_threads
    from transduce.errors import InputError
    from transduce.experiment.automatic import is_setting
    from transduce.experiment.sweep import split_values
    from transduce.experiment.sweep import sweep as run_sweep
    from transduce.training.display import console_observer
    from transduce.training.signals import Interrupted

    if json and format != "text":
        raise InputError("--json and --format exclude each other; leave one of them out")
    set_threads(threads)
    count = next(filter(lambda number: is_setting(recipe[number]), range(len(recipe))), len(recipe))
    values: dict[str, list[str]] = {}
    for setting in recipe[count:]:
        key, equals, text = setting.partition("=")
        if not equals or not key or key == "seed" or key in values or not all(split_values(text)):
            raise InputError(f"'{setting}': expected a setting and its values, such as training.updates=300,600, once")
        values[key] = split_values(text)
    same = [f"{key}={some[0]}" for key, some in values.items() if len(some) == 1]
    same += data.columns(context)
    if not count or not values:
        raise InputError(f"'{recipe[-1]}': expected a setting and its values, such as training.updates=300,600, once")
    try:
        found = run_sweep(
            experiment.from_words([*recipe[:count], *same], data.held_out(context)),
            {key: some for key, some in values.items() if len(some) > 1},
            range(1, seeds + 1),
            out,
            (),
            metric,
            lambda: [] if quiet else [console_observer()],
            lambda line: None if quiet else print(line, file=sys.stderr),
            device,
        )
    except Interrupted:
        print("transduce: interrupted; everything is saved; repeat the command to continue", file=sys.stderr)
        raise typer.Exit(130) from None
    if json:
        print_json(found.to_dict())
    elif format == "text":
        print("\n".join(_describe(found, seeds)))
    else:
        print(_tables(found, seeds, format))


def _describe(found: "Sweep", seeds: int) -> Iterator[str]:
    """Yields a paragraph for each combination, which fits any terminal."""
    yield f"{found.title} of {found.test_set}, {found.size:,} {found.unit}; {seeds} seed{'s' * (seeds > 1)} each"
    if found.signature:
        yield found.signature
    for cell in found.cells:
        yield ""
        yield cell.name
        perplexity = _figure(cell, "perplexity", 2)
        has_none = cell.mean("perplexity") is None and cell.mean("score") is not None  # no model of tokens
        beside = "" if has_none else f"  perplexity {perplexity}"
        yield f"  {found.title} {_figure(cell, 'score', found.digits)}{beside}"
        if (difference := cell.against_first) is not None:
            yield f"  against the first {_tested(difference, found.digits)}"
    if others := [pair for pair in found.pairs if pair.first > 0]:
        yield "\nThe others against each other"
    for pair in others:
        yield f"{found.cells[pair.second].name} against {found.cells[pair.first].name}"
        yield f"  {_tested(pair.difference, found.digits)}"
    if seeds > 1 and found.pairs:
        yield f"\n{POOLED}"


def _tested(difference: "Difference", digits: int) -> str:
    low, high = difference.interval
    return (
        f"{difference.difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}], "
        f"p {difference.bootstrap_p:.3f} (bootstrap) {difference.randomization_p:.3f} (randomisation)"
    )


def _tables(found: "Sweep", seeds: int, format: "Format") -> str:
    from transduce.cli.comparison import INTERVALS
    from transduce.evaluation.paper_table import Figure, render

    figures = [
        Figure(found.title, cell.name, cell.mean("score"), spread=cell.spread("score"), digits=found.digits)
        for cell in found.cells
    ]
    if any(cell.mean("perplexity") is not None for cell in found.cells):
        figures += [
            Figure("perplexity", cell.name, cell.mean("perplexity"), spread=cell.spread("perplexity"))
            for cell in found.cells
        ]
    figures += [
        Figure.of_difference(
            found.title, found.cells[pair.second].name, found.cells[pair.first].name, pair.difference, found.digits
        )
        for pair in found.pairs
    ]
    notes = [f"{found.title} of {found.test_set}, {found.size:,} {found.unit}.", INTERVALS]
    if found.signature:
        notes.insert(1, found.signature)
    if seeds > 1:
        notes += [f"Scores are means over {seeds} seeds ± standard deviation.", POOLED]
    return render(figures, format, notes)


def _figure(cell: "Combination", figure: str, digits: int) -> str:
    mean, spread = cell.mean(figure), cell.spread(figure)
    diverged = sum(getattr(one, figure) is None for one in cell.trained)
    shown = "-" if mean is None else f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
    return shown + (f" ({diverged} diverged)" if diverged else "")
