"""Scores and differences as tables for a paper: Markdown, LaTeX (with booktabs) and CSV."""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from transduce.evaluation.compare import Pair, System
from transduce.evaluation.metric import Metric
from transduce.evaluation.significance import RESAMPLES, SEED, TRIALS, Difference

TableFormat = Literal["text", "markdown", "latex", "csv"]
"""Format of a comparison; text: for a terminal, with all details."""

INTERVALS = (
    f"Intervals (95 %) and p by bootstrap: {RESAMPLES:,} resamples (Koehn 2004); p by randomisation: {TRIALS:,} trials "
    f"(Riezler and Maxwell 2005); both two-sided, seed {SEED}, not corrected for the number of pairs."
)
"""The note on how intervals and p-values are made."""

COLUMNS = (
    *("metric", "system", "minus", "value", "standard_deviation", "low", "high"),
    *("p_bootstrap", "p_randomization"),
)
"""The CSV's columns: a line for each score, and for each difference, which names the system subtracted."""


@dataclass(frozen=True)
class Figure:
    """A system's score by a metric, or its difference to another system's."""

    metric: str
    system: str
    value: float | None
    """The score or difference; None if no training finished."""
    minus: str | None = None
    """The system whose score is subtracted; None for a score."""
    interval: tuple[float, float] | None = None
    """95 % confidence interval."""
    spread: float | None = None
    """Standard deviation over seeds, for a mean over them."""
    p_values: tuple[float, float] | None = None
    """p-values by bootstrap and by randomisation."""
    digits: int = 2
    """Decimals shown."""

    @staticmethod
    def of_difference(metric: str, system: str, minus: str, tested: Difference, digits: int) -> "Figure":
        """Makes a figure of a tested difference."""
        p_values = (tested.bootstrap_p, tested.randomization_p)
        return Figure(metric, system, tested.difference, minus, tested.interval, p_values=p_values, digits=digits)

    @property
    def shown(self) -> str:
        """The value with its spread, or its interval."""
        if self.value is None:
            return "-"
        sign = "" if self.minus is None else "+"
        if self.interval is None:
            return f"{self.value:.{self.digits}f}" + (
                "" if self.spread is None else f" ± {self.spread:.{self.digits}f}"
            )
        low, high = (f"{bound:{sign}.{self.digits}f}" for bound in self.interval)
        return f"{self.value:{sign}.{self.digits}f} [{low}, {high}]"


def figures_of(systems: Sequence[System], pairs: Sequence[Pair], metrics: Mapping[str, Metric]) -> list[Figure]:
    """Returns all scores of a comparison, and the differences of all pairs."""
    scores = [
        Figure(metrics[name].title, system.name, score.score, interval=score.interval, digits=metrics[name].digits)
        for system in systems
        for name, score in system.scores.items()
    ]
    return scores + [
        Figure.of_difference(metrics[name].title, pair.second, pair.first, difference, metrics[name].digits)
        for pair in pairs
        for name, difference in pair.differences.items()
    ]


def render(figures: Sequence[Figure], format: TableFormat, notes: Iterable[str]) -> str:
    """Returns a table of the scores, a row for each system, and one of the differences; below them the notes.

    CSV has one table of all figures, unrounded, and no notes.
    """
    if format == "csv":
        return _csv(figures)
    scores = [figure for figure in figures if figure.minus is None]
    metrics = list(dict.fromkeys(figure.metric for figure in scores))
    cells = {(figure.system, figure.metric): figure.shown for figure in scores}
    systems = list(dict.fromkeys(figure.system for figure in scores))
    tables = [(["system", *metrics], [[name, *(cells[name, metric] for metric in metrics)] for name in systems])]
    differences = [
        [f"{figure.system} minus {figure.minus}", figure.metric, figure.shown, *(f"{p:.4f}" for p in figure.p_values)]
        for figure in figures
        if figure.minus is not None and figure.p_values is not None
    ]
    if differences:
        tables.append((["pair", "metric", "difference", "p (bootstrap)", "p (randomisation)"], differences))
    write = _markdown if format == "markdown" else _latex
    comment = "" if format == "markdown" else "% "
    return "\n\n".join([*(write(*table) for table in tables), *(f"{comment}{note}" for note in notes)])


def _markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"

    return "\n".join([line(headings), line(["---", *["---:"] * (len(headings) - 1)]), *map(line, rows)])


def _latex(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Iterable[str]) -> str:
        return f"{' & '.join(map(_escaped, cells))} \\\\"

    columns = "l" + "r" * (len(headings) - 1)
    body = [f"\\begin{{tabular}}{{{columns}}}", "\\toprule", line(headings), "\\midrule", *map(line, rows)]
    return "\n".join([*body, "\\bottomrule", "\\end{tabular}"])


def _escaped(text: str) -> str:
    """Escapes text for LaTeX; a hyphen before a number becomes a minus."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$"}
    special |= {character: "\\" + character for character in "&%$#_{}"}
    escaped = "".join(special.get(character, character) for character in text)
    return re.sub(r"(?<![\w.-])-(?=\d)", "$-$", escaped)


def _csv(figures: Iterable[Figure]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for figure in figures:
        interval, p_values = figure.interval or (None, None), figure.p_values or (None, None)
        row = [figure.metric, figure.system, figure.minus, figure.value, figure.spread, *interval, *p_values]
        writer.writerow(row)
    return text.getvalue().rstrip("\n")
