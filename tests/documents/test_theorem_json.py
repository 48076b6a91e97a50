"""JSON and ARB: every message is translated, and nothing else changes."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents.chance import said, tags
from documents.theorem import in_capitals


def loaded(data: bytes) -> Any:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    return json.loads(data.decode(encoding), object_pairs_hook=list)


def leaves(found: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(found, list):
        yield path, type(found)
        for number, inner in enumerate(found):
            if isinstance(inner, tuple):
                yield from leaves(inner[1], (*path, number, inner[0]))
            else:
                yield from leaves(inner, (*path, number))
    else:
        yield path, found


def shown(data: bytes) -> list[str]:
    return [said(text) for path, text in leaves(loaded(data)) if isinstance(text, str) and "@" not in str(path)]


def skeleton(data: bytes) -> Any:
    found = loaded(data)
    kept = [
        (path, tags(leaf) if isinstance(leaf, str) and "@" not in str(path) else leaf) for path, leaf in leaves(found)
    ]
    return kept, data[:2]


def test_languages_in_a_file_become_the_target_language() -> None:
    for before, after in (
        ({"en": {"a": "the dog"}}, {"de": {"a": "THE DOG"}}),
        ({"en-US": {"a": "the dog"}, "fr": {"a": "le chien"}}, {"de": {"a": "THE DOG"}, "fr": {"a": "le chien"}}),
        ({"@@locale": "en_US", "a": "the dog"}, {"@@locale": "de", "a": "THE DOG"}),
        ({"locale": "en", "translations": {"a": "the dog"}}, {"locale": "de", "translations": {"a": "THE DOG"}}),
        ({"title": {"a": "the dog"}}, {"title": {"a": "THE DOG"}}),
    ):
        translated = in_capitals(json.dumps(before).encode(), "a.json")
        assert json.loads(translated.data) == after
        told = [one.source for one in translated.segments if one.origin == "untranslated"]
        assert told == (["le chien"] if "fr" in before else [])


def test_only_messages_of_objects_about_messages_are_translated() -> None:
    chrome = {"a": {"message": "the $DOG$ runs", "description": "x", "placeholders": {"dog": {"content": "$1"}}}}
    assert json.loads(in_capitals(json.dumps(chrome).encode(), "messages.json").data) == {
        "a": chrome["a"] | {"message": "THE $DOG$ RUNS"}
    }
    react = [{"id": "a", "defaultMessage": "the dog", "description": "x"}]
    assert json.loads(in_capitals(json.dumps(react).encode(), "a.json").data) == [
        react[0] | {"defaultMessage": "THE DOG"}
    ]


def test_objects_about_messages_stay() -> None:
    wiki = {"@metadata": {"authors": ["the man"]}, "a": "the dog", "@b": "the cat"}
    wanted = wiki | {"a": "THE DOG", "@b": "THE CAT"}
    assert json.loads(in_capitals(json.dumps(wiki).encode(), "de.json").data) == wanted


def test_messages_have_names_and_lines() -> None:
    document = read_document(b'{"a": {"b": ["x y",\n "the dog"]}, "c": "z"}', "a.json", Languages("en", "de"))
    assert [(unit.id, unit.where) for unit in document.units] == [
        ("a.b[0]", "line 1"),
        ("a.b[1]", "line 2"),
        ("c", "line 2"),
    ]


def test_halves_of_characters_stay_and_are_named() -> None:
    translated = in_capitals(rb'{"a": "the \ud83d dog", "b": "the \ud83d\ude00"}', "a.json")
    assert translated.data == b'{"a": "the \\ud83d dog", "b": "THE \\ud83d\\ude00"}'
    assert [one.origin for one in translated.segments] == ["model", "untranslated"]


@pytest.mark.parametrize("language", ["ru", "ja", "fr"])
def test_plural_forms_that_a_language_has_beside_are_named(language: str) -> None:
    data = b'{"dogs_one": "{{count}} dog", "dogs_other": "{{count}} dogs", "other": "the other dog"}'
    notes = [unit.notes for unit in read_document(data, "a.json", Languages("en", language)).units]
    wanted = ("ru has further plural forms, which the file lacks: few, many",) if language == "ru" else ()
    assert notes == [(), wanted, ()]
