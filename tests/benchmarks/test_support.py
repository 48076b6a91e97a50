"""A sample of what works with what: every family in every task, and every objective, as the page of it says."""

from pathlib import Path

import pytest

from supported.cells import CELLS, Cell
from supported.page import cells_of, name_of
from supported.rows import Row, every_row
from supported.workplace import prepare, try_row

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "support.md"
ROWS = every_row()
OBJECTIVES = (
    "",
    "next_sentence=false",
    "predict=score",
    "data.second=2, data.label=3",
    "head.no_answer=true",
    "data.directions=['en-de', 'de-en'], data.language_token=decoder",
    "model.narrowing=2, model.cutoffs=[5]",
)
"""Choices with objectives, or weights of them, of their own; those of the families' defaults are the empty one."""
FIRST = {row.choice: row for row in reversed(ROWS) if row.choice in OBJECTIVES}
SAMPLE = [row for row in ROWS if not row.choice or row is FIRST.get(row.choice)]
"""The defaults of every family in every task, and each choice once."""
OTHERS = [name for name in CELLS if name not in ("train", "parts", "processes")]


@pytest.fixture(scope="module")
def folder() -> Path:
    return prepare()


def told_of(row: Row) -> dict[str, str]:
    """Returns the page's cells of a row, or of the family's defaults where the same works."""
    told = cells_of(PAGE.read_text(encoding="utf-8"))
    return dict(told.get((row.task, name_of(row)), told[row.task, row.family]))


def test_the_page_has_a_row_for_every_family_and_choice() -> None:
    text = PAGE.read_text(encoding="utf-8")
    told = cells_of(text)
    for row in ROWS:
        assert (row.task, name_of(row)) in told or f"`{row.choice}`" in text, f"{row.name}: run benchmarks/support.py"


@pytest.mark.thorough
@pytest.mark.parametrize(("number", "row"), list(enumerate(SAMPLE)), ids=[row.name for row in SAMPLE])
def test_a_sample_is_as_the_page_says_and_parts_processes_and_shards_give_one_model(
    number: int, row: Row, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The cells compare weights: those of parts of batches, and of two processes, whole or in shards, are within 1e-6
    of one's."""
    told = told_of(row)
    told["sharded"] = told["train"]  # a column that the page has not
    monkeypatch.setitem(CELLS, "sharded", Cell("sharded", "processes", ("training.sharding=full",)))
    together = "sharded" if number % 2 else "processes"  # of each kind of model one of them, in turn
    found = try_row(row, folder, ("train", "parts", together, OTHERS[number % len(OTHERS)]))
    said = {name: outcome.line for name, outcome in found.items()}
    if (row.task, name_of(row)) not in cells_of(PAGE.read_text(encoding="utf-8")):  # refused for reasons of its own
        said = {name: told[name] if line and told[name] else line for name, line in said.items()}
    assert said == {name: told[name] for name in found}
