"""Java's .properties: every message is translated, and nothing else changes."""

from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents.chance import said, tags
from documents.theorem import in_capitals

javaproperties = pytest.importorskip("javaproperties")


def entries(data: bytes) -> list[Any]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("iso8859-1")
    return list(javaproperties.parse(text))


def shown(data: bytes) -> list[str]:
    return [said(one.value) for one in entries(data) if isinstance(one, javaproperties.KeyValue)]


def skeleton(data: bytes) -> Any:
    return (
        [
            (one.key, tags(one.value)) if isinstance(one, javaproperties.KeyValue) else one.source.rstrip("\r\n")
            for one in entries(data)
        ],
        data[:3] == b"\xef\xbb\xbf",
        data.isascii(),
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a=it''s {0}, '{'no'}'", "a=IT''S {0}, '{'NO'}'"),
        ("a=don't open {0}", "a=DON'T OPEN {0}"),
        ("a=it's", "a=IT'S"),
        ("a=the \\\n   dog", "a=THE DOG"),
        ("a=\\ the dog ", "a=\\ THE DOG "),
        ("a=the\\u00e4 dog", "a=THE\\u00c4 DOG"),
        ("a=the\\: dog\\=", "a=THE\\: DOG\\="),
        ("a the dog\rb=cat", "a THE DOG\rb=CAT"),
        ("a", "a"),
        ("a=\\", "a=\\"),
    ],
)
def test_what_is_written(before: str, after: str) -> None:
    assert in_capitals(before.encode(), "a.properties").data.decode() == after


def test_an_apostrophe_that_a_translation_adds_is_written_twice_where_java_needs_it() -> None:
    document = read_document(b"a={0} dogs\nb=dogs\n", "a.properties", Languages("en", "fr"))
    edits = [unit.write(unit.source.__class__((*unit.source.parts, " l'"))) for unit in document.units]
    assert document.save([edit for some in edits for edit in some]) == b"a={0} dogs l''\nb=dogs l'\n"
