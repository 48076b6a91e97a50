"""The results of a sweep, for people: a paragraph for each combination, or tables for a paper."""

from collections.abc import Iterator

from transduce.evaluation.compare import Pair
from transduce.evaluation.paper_table import INTERVALS, Figure, TableFormat, render
from transduce.experiment.sweep import Combination, Sweep

POOLED = (
    "A difference is of scores over all seeds' outputs together, whose counts are summed before they are scored; it is "
    "not the difference of the means, because the score of a sum (BLEU is a ratio of sums) is no mean of scores."
)


def sweep_tables(sweep: Sweep, format: TableFormat) -> str:
    """Returns the scores and the differences of every two combinations as tables for a paper; for the format "text"
    a paragraph for each combination, which fits any terminal."""
    if format == "text":
        return "\n".join(_lines_of(sweep))
    seeds = len(sweep.cells[0].trained)
    figures = [_figure(sweep, cell, "score") for cell in sweep.cells]
    if any(cell.mean("perplexity") is not None for cell in sweep.cells):
        figures += [_figure(sweep, cell, "perplexity") for cell in sweep.cells]
    figures += [_difference(sweep, pair) for pair in sweep.pairs]
    notes = [f"{sweep.title} of {sweep.test_set}, {sweep.size:,} {sweep.unit}.", INTERVALS]
    if sweep.signature:
        notes.insert(1, sweep.signature)
    if seeds > 1:
        notes += [f"Scores are means over {seeds} seeds ± standard deviation.", POOLED]
    return render(figures, format, notes)


def _lines_of(sweep: Sweep) -> Iterator[str]:
    seeds, first = len(sweep.cells[0].trained), sweep.cells[0].name
    against_first = {pair.second: pair for pair in sweep.pairs if pair.first == first}
    yield f"{sweep.title} of {sweep.test_set}, {sweep.size:,} {sweep.unit}; {seeds} seed{'s' * (seeds > 1)} each"
    if sweep.signature:
        yield sweep.signature
    for cell in sweep.cells:
        yield ""
        yield cell.name
        has_none = cell.mean("perplexity") is None and cell.mean("score") is not None  # no model of tokens
        beside = "" if has_none else f"  perplexity {_shown(sweep, cell, 'perplexity')}"
        yield f"  {sweep.title} {_shown(sweep, cell, 'score')}{beside}"
        if cell.name in against_first:
            yield f"  against the first {_tested(sweep, against_first[cell.name])}"
    if others := [pair for pair in sweep.pairs if pair.first != first]:
        yield "\nThe others against each other"
    for pair in others:
        yield f"{pair.second} against {pair.first}"
        yield f"  {_tested(sweep, pair)}"
    if seeds > 1 and sweep.pairs:
        yield f"\n{POOLED}"


def _figure(sweep: Sweep, cell: Combination, name: str) -> Figure:
    """Returns the mean of `score` or `perplexity` over the seeds."""
    title, digits = (sweep.title, sweep.digits) if name == "score" else (name, 2)
    return Figure(title, cell.name, cell.mean(name), spread=cell.spread(name), digits=digits)


def _difference(sweep: Sweep, pair: Pair) -> Figure:
    return Figure.of_difference(sweep.title, pair.second, pair.first, pair.differences[sweep.metric], sweep.digits)


def _shown(sweep: Sweep, cell: Combination, name: str) -> str:
    diverged = sum(getattr(training, name) is None for training in cell.trained)
    return _figure(sweep, cell, name).shown + (f" ({diverged} diverged)" if diverged else "")


def _tested(sweep: Sweep, pair: Pair) -> str:
    tested = pair.differences[sweep.metric]
    p_values = f"p {tested.bootstrap_p:.3f} (bootstrap) {tested.randomization_p:.3f} (randomisation)"
    return f"{_difference(sweep, pair).shown}, {p_values}"
