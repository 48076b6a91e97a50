"""A comparison of systems for people: tables that fit a terminal, with all details, or tables for a paper."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.console import Console, Group
from rich.table import Table

from transduce.evaluation.compare import Comparison, DifferingLine, DifferingSentence
from transduce.evaluation.paper_table import INTERVALS, TableFormat, figures_of, render
from transduce.evaluation.significance import RESAMPLES, SEED, TRIALS, Difference

SHOWN_CHARACTERS = 48  # of a line
WIDE = 1_000

Letters = Mapping[str, str]
"""The letter of each system in the tables; the baseline is A."""

Part = tuple[str, Table | Group | str]
"""A title, and what is below it."""

OF_A_DIFFERENCE = ("95 % interval", "p by\nbootstrap", "p by\nrandomis.")


def comparison_tables(comparison: Comparison[Any], format: TableFormat) -> str:
    """Returns the scores of a comparison and the differences of every two systems as tables for a paper; for the format
    "text" scores, differences and their distribution, as wide as the terminal."""
    systems = comparison.systems
    if format != "text":
        figures = figures_of(systems, comparison.pairs, comparison.metrics)
        signatures = [score.signature for score in systems[0].scores.values() if score.signature]
        return render(figures, format, [INTERVALS, *signatures])
    console = Console(markup=False, highlight=False, emoji=False)
    with console.capture() as captured:
        _print_comparison(console, comparison)
    return captured.get().removesuffix("\n")


def _print_comparison(console: Console, comparison: Comparison[Any]) -> None:
    letters = {system.name: chr(ord("A") + number) for number, system in enumerate(comparison.systems)}
    data = f"{comparison.data}, " if comparison.data else ""
    console.print(f"{data}{comparison.size:,} {comparison.unit}", soft_wrap=True)
    for name, letter in letters.items():
        console.print(f"{letter}  {name}{', the baseline' if letter == 'A' else ''}", soft_wrap=True)
    _print_scores(console, comparison, letters)
    parts_of = _parts_of_translations if comparison.measured == "translations" else _parts_of_lines
    for title, part in parts_of(comparison, letters):
        console.print(f"\n{title}")
        console.print(part)


def _print_scores(console: Console, comparison: Comparison[Any], letters: Letters) -> None:
    """Prints a table for each metric, another of the pairs without the baseline, and a note on the method."""
    systems = comparison.systems
    for name, first in systems[0].scores.items():
        metric = comparison.metrics[name]
        console.print(f"\n{metric.title}{'' if metric.higher_is_better else ', lower is better'}")
        rows = []
        for system in systems:
            score = system.scores[name]
            rows.append(
                [letters[system.name], _number(score.score, metric.digits), _interval(score.interval, metric.digits)]
            )
            if system.against_baseline:
                rows[-1] += _cells(system.against_baseline[name], metric.digits)
        console.print(_table(("", "score", "95 % interval", "minus A", *OF_A_DIFFERENCE), rows))
        if others := [pair for pair in comparison.pairs if pair.first != systems[0].name]:
            rows = [
                [f"{letters[pair.second]} minus {letters[pair.first]}", *_cells(pair.differences[name], metric.digits)]
                for pair in others
            ]
            console.print(_table(("", "difference", *OF_A_DIFFERENCE), rows))
        if first.signature:
            console.print(first.signature, soft_wrap=True)
    console.print(
        f"\nIntervals and p by bootstrap: {RESAMPLES:,} resamples of the {comparison.unit} (Koehn 2004).\n"
        f"p by randomisation: {TRIALS:,} trials (Riezler and Maxwell 2005). Both two-sided, seed {SEED}.",
        soft_wrap=True,
    )
    if (tested := len(systems) - 1) > 1:
        console.print(
            f"p is not corrected for testing {tested} systems; with Bonferroni, multiply it by {tested}, or by "
            f"{len(comparison.pairs)} for all pairs."
        )


def _cells(difference: Difference, digits: int) -> list[str]:
    return [
        _number(difference.difference, digits, "+"),
        _interval(difference.interval, digits, "+"),
        f"{difference.bootstrap_p:.4f}",
        f"{difference.randomization_p:.4f}",
    ]


def _parts_of_lines(comparison: Comparison[DifferingLine], letters: Letters) -> Iterator[Part]:
    """Yields the lines in which language models differ, under their title."""
    if comparison.most_different:
        rows = [
            (
                f"{line.line:,}",
                *(f"{nats / math.log(2):.1f}" for nats in line.nats.values()),
                line.text[:SHOWN_CHARACTERS],
            )
            for line in comparison.most_different
        ]
        table = _table(("line", *letters.values(), "text"), rows)
        table.columns[-1].justify = "left"
        yield "Lines that differ most, with the bits that each model spends on them", table


def _parts_of_translations(comparison: Comparison[DifferingSentence], letters: Letters) -> Iterator[Part]:
    """Yields comparisons of parts of the test set: titles, each with a table or the reason why there is none."""
    lengths = [((_range(part.at_least, part.at_most), f"{part.sentences:,}"), part) for part in comparison.by_length]
    headings = ("words", "sentences", *letters.values())
    yield (
        "BLEU by words of the source",
        _table(headings, [(*labels, *(f"{score:.2f}" for score in part.bleu.values())) for labels, part in lengths]),
    )
    rows = [(*labels, *(f"{ratio:.3f}" for ratio in part.length_ratio.values())) for labels, part in lengths]
    overall = ("all", f"{comparison.sentences:,}", *(f"{system.length_ratio:.3f}" for system in comparison.systems))
    yield (
        "Length of the outputs, as a share of the reference's, by words of the source",
        _table(headings, [*rows, overall]),
    )
    title = "Reference words found, by how often training has them"
    if comparison.by_word_frequency is None:
        yield title, "training text unknown: name it with --train FILE (in the target language)"
    else:
        rows = [
            (
                "unseen" if part.at_most == 0 else _range(part.at_least, part.at_most),
                f"{part.words:,}",
                *(_percent(recall) for recall in part.recall.values()),
            )
            for part in comparison.by_word_frequency
        ]
        yield title, _table(("times", "words", *letters.values()), rows)
    if comparison.by_words:
        rows = [
            (
                part.words,
                f"{part.in_references:,}",
                *(f"{_percent(part.recall[name])}, {_percent(part.precision[name])}" for name in letters),
            )
            for part in comparison.by_words
        ]
        table = _table(("words", "in references", *letters.values()), rows)
        table.columns[0].no_wrap = False
        yield "Words of a kind: recall, precision", table
    numbers = comparison.numbers
    shares = [_percent(share) for share in (numbers.reference, *numbers.systems.values()) if share is not None]
    yield (
        "Numbers of the source copied",
        _table(("numbers", "reference", *letters.values()), [(f"{numbers.in_source:,}", *shares)])
        if shares
        else "the source has no numbers in digits",
    )
    if comparison.most_different:
        sentences = [_sentence(sentence, letters) for sentence in comparison.most_different]
        yield "Sentences that differ most, with sentence-level chrF", Group(*sentences)


def _sentence(sentence: DifferingSentence, letters: Letters) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row(f"line {sentence.line:,}", sentence.source)
    table.add_row("reference", sentence.reference)
    for name, output in sentence.outputs.items():
        table.add_row(f"{letters[name]} {sentence.chrf[name]:6.2f}", output)
    table.add_row("", "")
    return table


def _table(headings: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    table = Table(box=None)
    for heading in headings:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def _range(at_least: int, at_most: int | None) -> str:
    if at_most is None:
        return f"over {at_least - 1}"
    return f"{at_least}-{at_most}" if at_least < at_most else str(at_least)


def _interval(interval: tuple[float, float], digits: int, sign: str = "") -> str:
    low, high = interval
    return f"[{_number(low, digits, sign)}, {_number(high, digits, sign)}]"


def _number(value: float, digits: int, sign: str = "") -> str:
    """Writes a number with this many decimals; with three digits and a power of ten if a column would grow wide."""
    return f"{value:{sign}.{digits}f}" if abs(value) < WIDE else f"{value:{sign}.3g}"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"
