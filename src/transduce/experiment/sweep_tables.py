"""The results of a sweep, for people: a paragraph for each combination, or tables for a paper."""

from collections.abc import Iterator

from transduce.evaluation.paper_table import INTERVALS, Figure, TableFormat, render
from transduce.evaluation.significance import Difference
from transduce.experiment.sweep import Combination, Sweep

POOLED = (
    "A difference is of scores over all seeds' outputs together, whose counts are summed before they are scored; it is "
    "not the difference of the means, because the score of a sum (BLEU is a ratio of sums) is no mean of scores."
)


def sweep_tables(sweep: Sweep, format: TableFormat) -> str:
    """Returns the scores and the differences of every two combinations as tables for a paper; for the format "text"
    the lines of `describe_sweep`."""
    if format == "text":
        return "\n".join(describe_sweep(sweep))
    seeds = len(sweep.cells[0].trained)
    figures = [
        Figure(sweep.title, cell.name, cell.mean("score"), spread=cell.spread("score"), digits=sweep.digits)
        for cell in sweep.cells
    ]
    if any(cell.mean("perplexity") is not None for cell in sweep.cells):
        figures += [
            Figure("perplexity", cell.name, cell.mean("perplexity"), spread=cell.spread("perplexity"))
            for cell in sweep.cells
        ]
    figures += [
        Figure.of_difference(
            sweep.title, sweep.cells[pair.second].name, sweep.cells[pair.first].name, pair.difference, sweep.digits
        )
        for pair in sweep.pairs
    ]
    notes = [f"{sweep.title} of {sweep.test_set}, {sweep.size:,} {sweep.unit}.", INTERVALS]
    if sweep.signature:
        notes.insert(1, sweep.signature)
    if seeds > 1:
        notes += [f"Scores are means over {seeds} seeds ± standard deviation.", POOLED]
    return render(figures, format, notes)


def describe_sweep(sweep: Sweep) -> Iterator[str]:
    """Yields the lines of a paragraph for each combination, which fits any terminal."""
    seeds = len(sweep.cells[0].trained)
    yield f"{sweep.title} of {sweep.test_set}, {sweep.size:,} {sweep.unit}; {seeds} seed{'s' * (seeds > 1)} each"
    if sweep.signature:
        yield sweep.signature
    for cell in sweep.cells:
        yield ""
        yield cell.name
        perplexity = _figure(cell, "perplexity", 2)
        has_none = cell.mean("perplexity") is None and cell.mean("score") is not None  # no model of tokens
        beside = "" if has_none else f"  perplexity {perplexity}"
        yield f"  {sweep.title} {_figure(cell, 'score', sweep.digits)}{beside}"
        if (difference := cell.against_first) is not None:
            yield f"  against the first {_tested(difference, sweep.digits)}"
    if others := [pair for pair in sweep.pairs if pair.first > 0]:
        yield "\nThe others against each other"
    for pair in others:
        yield f"{sweep.cells[pair.second].name} against {sweep.cells[pair.first].name}"
        yield f"  {_tested(pair.difference, sweep.digits)}"
    if seeds > 1 and sweep.pairs:
        yield f"\n{POOLED}"


def _tested(difference: Difference, digits: int) -> str:
    low, high = difference.interval
    return (
        f"{difference.difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}], "
        f"p {difference.bootstrap_p:.3f} (bootstrap) {difference.randomization_p:.3f} (randomisation)"
    )


def _figure(cell: Combination, figure: str, digits: int) -> str:
    mean, spread = cell.mean(figure), cell.spread(figure)
    diverged = sum(getattr(training, figure) is None for training in cell.trained)
    shown = "-" if mean is None else f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
    return shown + (f" ({diverged} diverged)" if diverged else "")
