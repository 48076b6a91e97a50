"""Docstrings read alone: no pronoun whose noun is in another docstring, and no sentence that has to be read twice."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src"
PATTERNS = {
    "is not a ..., in place of 'is no ...'": (
        r"(?<!there )\b(?:is|are|was|were) no (?!(?:longer|more|larger|shorter|faster|worse|better|doubt)\b)\w"
    ),
    "name the things, in place of 'those'": r"\breturns those\b|\bthat of those\b|\bof those that both\b",
    "two relative clauses": r"\bthose (?:that|which|who|whose)\b[^.;:,]*\b(?:that|which|who|whose)\b",
}
CONTINUES = re.compile(r"(?:Its|Their|They|Those|The same)\b")
"""Beginnings by which a field's docstring continues the one before."""


@cache
def docstrings() -> list[tuple[str, str, bool]]:
    """Returns the place and the text of each docstring of the source, and True if it is a field's."""
    return [
        (f"{path}:{line}", text, is_field)
        for path in sorted(SOURCE.rglob("*.py"))
        for line, text, is_field in docstrings_of(path)
    ]


def docstrings_of(path: Path) -> Iterator[tuple[int, str, bool]]:
    """Yields the line and the text of each docstring of a file, and True if it is a field's."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        body = getattr(node, "body", None)
        for before, found in zip([None, *body], body, strict=False) if isinstance(body, list) else ():
            if isinstance(found, ast.Expr) and isinstance(text := getattr(found.value, "value", None), str):
                yield found.lineno, " ".join(text.split()), isinstance(before, ast.AnnAssign | ast.Assign)


@pytest.mark.parametrize("advice", PATTERNS)
def test_a_docstring_is_plain(advice: str) -> None:
    pattern = re.compile(PATTERNS[advice], re.IGNORECASE)
    found = [f"{place}: {text}" for place, text, _ in docstrings() if pattern.search(text)]
    assert not found, f"{advice}:\n" + "\n".join(found)


def test_the_docstring_of_a_field_does_not_continue_the_one_before() -> None:
    found = [f"{place}: {text}" for place, text, is_field in docstrings() if is_field and CONTINUES.match(text)]
    assert not found, "\n".join(found)
