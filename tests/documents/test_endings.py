"""What is code or data is no text, whatever its ending; what people wrote is text."""

import inspect
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import docsegments.endings as endings
from docsegments.document_formats import FORMATS, refusal_of
from docsegments.endings import refused_as_lines

CODE = {
    "python": inspect.getsource(endings),
    "typescript": 'export default {\n  dog: "The dog runs.",\n  cat: `Hello ${name}, a man`,\n};\n',
    "calendar": "BEGIN:VCALENDAR\r\nUID:1@a\r\nDTSTART;TZID=X:20240101\r\nSUMMARY:The dog\r\nEND:VCALENDAR\r\n",
    "latex": "\\documentclass{article}\n\\begin{document}\nThe dog runs.\n\\end{document}\n",
    "go": 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfmt.Println("The dog")\n}\n',
    "ruby": "class Dog\n  def bark\n    puts 'The dog'\n  end\nend\n",
    "r": "x <- c(1, 2)\nplot(x, y)\n# The dog\n",
    "sql": "SELECT * FROM dogs;\n",
    "shell": "#!/bin/sh\ncp dog cat\n",
    "settings": "[dogs]\nname = The dog\nage=3\n",
    "json": json.dumps({"dog": ["The dog", {"cat": "The cat"}]}, indent=1),
    "xml": '<a>\n<b c="d">The dog</b>\n</a>\n',
}
PROSE = st.sampled_from(
    [
        "The dog runs.", "the cat, who sleeps; and sings", 'Ann: "Hello," she said.', "ANN: Who is it?", "(Applause)",
        "a(s)", "1. One", "- two;", "[Music]", "for example:", "if you want:", "http://a.example/b", "50 %", "#dog",
        "<b>The dog</b> runs", "Hello {name}!", "import taxes rise", "犬が走る。", "return home", "class of 1999",
        "let it be",
    ]
)  # fmt: skip


@pytest.mark.parametrize("code", list(CODE.values()), ids=list(CODE))
def test_code_is_refused(code: str) -> None:
    refused = refused_as_lines(code.encode())
    assert refused is not None
    assert refused.has_lines


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(PROSE, min_size=1, max_size=9), st.sampled_from(["\n", "\r\n", "\n\n"]))
def test_prose_is_no_code(lines: list[str], line_end: str) -> None:
    assert refused_as_lines(line_end.join(lines).encode()) is None


def test_a_file_of_text_by_its_ending_is_no_code() -> None:
    dialogue = '"Well",\n"Who is it?",\n// the end\n'
    assert refused_as_lines(dialogue.encode(), "a.en") is not None
    assert refused_as_lines(dialogue.encode(), "a.txt") is None
    assert refused_as_lines(b"<html>", "a.txt") is not None


def test_text_with_some_code_in_it_is_text() -> None:
    text = "The dog runs.\nThe cat sings.\n" * 20 + "x = 1;\nprint('The dog')\n"
    assert refused_as_lines(text.encode()) is None


def test_no_ending_is_of_a_format_and_refused_too() -> None:
    read = {ending for format in FORMATS.values() for ending in format.endings}
    assert not read.intersection(ending for refused in endings.REFUSED for ending in refused.endings.split())


@pytest.mark.parametrize("name", ["a.ts", "a.ics", "a.py", "a.ipynb", "a.tex", "a.mts"])
def test_endings_of_what_is_no_text_are_refused(name: str) -> None:
    assert refusal_of(name) is not None
