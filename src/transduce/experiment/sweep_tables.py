"""What a sweep has found, for people: a paragraph for each combination, or tables for a paper."""

from collections.abc import Iterator

from transduce.evaluation.paper_table import INTERVALS, Figure, TableFormat, render
from transduce.evaluation.significance import Difference
from transduce.experiment.sweep import Combination, Sweep

POOLED = (
    "A difference is of scores over all seeds' outputs together, whose counts are summed before they are scored; it is "
    "not the difference of the means, because the score of a sum (BLEU is a ratio of sums) is no mean of scores."
)


def sweep_tables(found: Sweep, format: TableFormat) -> str:
    """Returns the scores and the differences of every two combinations as tables for a paper; for the format "text"
    the lines of `describe_sweep`."""
    if format == "text":
        return "\n".join(describe_sweep(found))
    seeds = len(found.cells[0].trained)
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


def describe_sweep(found: Sweep) -> Iterator[str]:
    """Yields the lines of a paragraph for each combination, which fits any terminal."""
    seeds = len(found.cells[0].trained)
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


def _tested(difference: Difference, digits: int) -> str:
    low, high = difference.interval
    return (
        f"{difference.difference:+.{digits}f} [{low:+.{digits}f}, {high:+.{digits}f}], "
        f"p {difference.bootstrap_p:.3f} (bootstrap) {difference.randomization_p:.3f} (randomisation)"
    )


def _figure(cell: Combination, figure: str, digits: int) -> str:
    mean, spread = cell.mean(figure), cell.spread(figure)
    diverged = sum(getattr(one, figure) is None for one in cell.trained)
    shown = "-" if mean is None else f"{mean:.{digits}f}" + ("" if spread is None else f" ± {spread:.{digits}f}")
    return shown + (f" ({diverged} diverged)" if diverged else "")
