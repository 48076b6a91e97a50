"""Java's .properties: every message is translated, and nothing else changes."""

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from documents.chance import message, said, tags
from documents.theorem import check_theorem, in_capitals
from transduce.documents.document import Languages
from transduce.documents.formats import read_document

javaproperties = pytest.importorskip("javaproperties")


def written(random: Random) -> bytes:
    """A file in one of the ways that people and programs write them."""
    encoding = random.choice(["ascii", "utf-8", "iso8859-1", "utf-8-sig"])
    lines = []
    for number in range(random.randint(1, 5)):
        lines.append(random.choice(["# the dog = x", "! the cat \\", "", "   "]))
        key = random.choice(["title", "a\\ b", "\\#c", "d\\:e", "größe" if encoding != "ascii" else "g"]) + str(number)
        value = escaped(random, message(random, lines=("\n", "\t", "\r\n")), encoding)
        lines.append(random.choice(["", "  ", "\t"]) + key + random.choice(["=", ":", " = ", " ", "\t: "]) + value)
    end = random.choice(["\n", "\r\n", "\r"])
    return (end.join(lines) + random.choice(["", end])).encode(encoding)


def escaped(random: Random, text: str, encoding: str) -> str:
    pieces = []
    for place, character in enumerate(text):
        if character in "\n\t\r\\":
            pieces.append({"\n": "\\n", "\t": "\\t", "\r": "\\r", "\\": "\\\\"}[character])
        elif (character == " " and not place) or (character in "#!:='\"" and random.random() < 0.3):
            pieces.append("\\" + character)
        elif character == " " and random.random() < 0.05:
            pieces.append(" \\\n    ")
        elif not can_write(character, encoding) or random.random() < 0.02:
            units = character.encode("utf-16-be")
            pieces += [f"\\u{units[n]:02x}{units[n + 1]:02X}" for n in range(0, len(units), 2)]
        else:
            pieces.append(character)
    return "".join(pieces)


def can_write(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


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


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.randoms(use_true_random=False))
def test_every_message_of_properties_is_translated(random: Random) -> None:
    check_theorem(written(random), "a.properties", shown, skeleton)


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
