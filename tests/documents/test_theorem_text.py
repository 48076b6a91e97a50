"""Plain text: every paragraph is translated on its line, and signs of lists and empty lines stay."""

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from docsegments.document_formats import read_document
from documents.theorem import check_theorem

BULLET = re.compile(r"(?:[-*•–—]|\d+[.)])$")
LINES = (
    "The dog sleeps.", "a cat, \tand so on", "", " ", "\t", "  - One", "* Two  ", "1. Three", "12) Four", "– Five",
    " {name} sees it ", "é < b & c", "It's 5 o'clock.", "    indented", "• six", "-7",
)  # fmt: skip


def shown(data: bytes) -> list[str]:
    return [" ".join(words) for words in _paragraphs(data)]


def skeleton(data: bytes) -> Any:
    """The paragraphs' signs, and how many paragraphs there are."""
    return [words[0] if words and BULLET.match(words[0]) else "" for words in _paragraphs(data)]


def _paragraphs(data: bytes) -> list[list[str]]:
    found: list[list[str]] = [[]]
    for line in data.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        words = line.split()
        if not words or (len(words) > 1 and BULLET.match(words[0])):
            found.append([])
        found[-1] += words
    return [words for words in found if words]


@settings(max_examples=100, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(LINES), max_size=8), st.sampled_from(["\n", "\r\n", "\r"]))
def test_any_lines(lines: list[str], end: str) -> None:
    data = end.join(["Begin", *lines]).encode()
    document = read_document(data, "a", kind="text")
    assert document.translated([unit.source for unit in document.units]) == data
    check_theorem(data, "a", shown, skeleton, "text")
