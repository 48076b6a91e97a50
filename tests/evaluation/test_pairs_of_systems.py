"""Every two systems are compared, and tables for papers show them."""

import csv
import io
from functools import cache
from itertools import combinations
from typing import Any

import pytest

from transduce.evaluation.compare import Comparison, compare
from transduce.evaluation.metrics import find_metric
from transduce.evaluation.paper_table import COLUMNS, Figure, figures_of, render
from transduce.evaluation.significance import compare_counts
from transduce.evaluation.translations import count_bleu

REFERENCES = [
    f"the {animal} is {verb} in the {place} ."
    for animal in ("dog", "cat")
    for verb in ("running", "sleeping")
    for place in ("snow", "park", "house")
]
SYSTEMS = {
    "a_1": [line.replace("is", "was") for line in REFERENCES],
    "b & c": [line.replace("the", "a") for line in REFERENCES],
    "d|e": [line.replace("running", "walking") for line in REFERENCES],
}


@pytest.mark.slow
def test_each_pair_is_tested_as_two_systems_alone_would_be() -> None:
    found = compare(SYSTEMS, REFERENCES, REFERENCES, metrics=["exact_match"])
    assert [(pair.first, pair.second) for pair in found.pairs] == list(combinations(SYSTEMS, 2))
    for pair in found.pairs:
        first, second = (count_bleu(SYSTEMS[name], REFERENCES) for name in (pair.first, pair.second))
        assert pair.differences["bleu"] == compare_counts(second.counts, first.counts, second.score_rows)
        scores = {system.name: system.scores for system in found.systems}
        for metric, difference in pair.differences.items():
            expected = scores[pair.second][metric].score - scores[pair.first][metric].score
            assert difference.difference == pytest.approx(expected)
    assert found.systems[0].against_baseline is None
    assert [system.against_baseline for system in found.systems[1:]] == [pair.differences for pair in found.pairs[:2]]


@cache
def compared() -> Comparison[Any]:
    return compare(SYSTEMS, REFERENCES, REFERENCES)


def tables(format: str) -> str:
    found = compared()
    metrics = {name: find_metric(name) for name in found.systems[0].scores}
    return render(figures_of(found.systems, found.pairs, metrics), format, ["100 % of it"])  # type: ignore[arg-type]


@pytest.mark.slow
def test_markdown_has_as_many_cells_in_each_row() -> None:
    import markdown

    page = markdown.markdown(tables("markdown"), extensions=["tables"])
    assert page.count("<table>") == 2
    assert page.count("<tr>") == (1 + 3) + (1 + 9)
    assert page.count("<td") == 3 * 4 + 9 * 5
    assert "<td>d|e</td>" in page and "b &amp; c minus a_1" in page


def test_latex_escapes_what_means_something_there() -> None:
    text = tables("latex")
    assert text.count(r"\begin{tabular}") == text.count(r"\end{tabular}") == 2
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert {len(line.replace(r"\&", "").split("&")) for line in rows[:4]} == {4}
    assert {len(line.replace(r"\&", "").split("&")) for line in rows[4:]} == {5}
    assert r"a\_1 &" in text and r"b \& c minus a\_1" in text and "[$-$" in text
    assert text.endswith("% 100 % of it")


def test_csv_has_every_figure_unrounded() -> None:
    rows = list(csv.DictReader(io.StringIO(tables("csv"))))
    assert tuple(rows[0]) == COLUMNS and len(rows) == 3 * 3 + 3 * 3
    scores = {(row["metric"], row["system"]): float(row["value"]) for row in rows if not row["minus"]}
    assert scores["BLEU", "a_1"] == count_bleu(SYSTEMS["a_1"], REFERENCES).score
    for row in rows[9:]:
        expected = scores[row["metric"], row["system"]] - scores[row["metric"], row["minus"]]
        assert float(row["value"]) == pytest.approx(expected)
        assert float(row["low"]) <= float(row["high"]) and 0 < float(row["p_randomization"]) <= 1


def test_means_show_their_spread_and_nothing_where_all_diverged() -> None:
    figures = [Figure("BLEU", "x", 12.345, spread=0.678), Figure("BLEU", "y", None), Figure("BLEU", "z", 1.0, digits=1)]
    assert render(figures, "markdown", []).splitlines()[2:] == ["| x | 12.35 ± 0.68 |", "| y | - |", "| z | 1.0 |"]
    assert r"x & 12.35 $\pm$ 0.68 \\" in render(figures, "latex", [])
