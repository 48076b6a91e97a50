"""Apple's .strings and string catalogues: every message is translated, and nothing else changes."""

import json
import re
from typing import Any

import pytest

from docsegments.document import Languages
from docsegments.document_formats import read_document
from documents.chance import said, tags
from documents.theorem import in_capitals
from transduce.base.errors import InputError

pytest.importorskip("openstep_plist")
properties = pytest.importorskip("translate.storage.properties")


def entries(data: bytes) -> list[tuple[str, str]]:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = data.decode(encoding).replace("\r\n", "\n")
    found = re.findall(r'^("(?:[^"\\]|\\.)*")\s*=\s*("(?:[^"\\]|\\.)*");', without_comments(text), re.M | re.S)
    return [(json.loads(key.replace("\n", "\\n")), json.loads(value.replace("\n", "\\n"))) for key, value in found]


def without_comments(text: str) -> str:
    return re.sub(r"^/\*.*?\*/|^//.*?$", "", text, flags=re.M | re.S)


def shown(data: bytes) -> list[str]:
    return [said(value) for _, value in entries(data)]


def skeleton(data: bytes) -> Any:
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    comments = re.findall(r"^(?:/\*.*?\*/|//[^\r\n]*)", text, re.M | re.S)
    return [(key, tags(value)) for key, value in entries(data)], comments, data[:2]


def test_another_program_reads_the_same_messages() -> None:
    data = '/* c */\n"a" = "The \\"dog\\" & %@\\n";\n"b" = "the cat";\n'.encode("utf-16")
    store = properties.stringsfile()
    store.parse(in_capitals(data, "a.strings").data)
    assert [(unit.name, unit.source) for unit in store.units if unit.name] == [
        ("a", 'THE "DOG" & %@\n'),
        ("b", "THE CAT"),
    ]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a = b;", 'a = "B";'),
        ('"the dog";', '"the dog" = "THE DOG";'),
        ('"a" = "\\U00e4 \\344 x";', '"a" = "\\U00c4 \\U00ce X";'),
        ("'a' = 'the \\'dog\\'';", "'a' = \"THE 'DOG'\";"),
    ],
)
def test_what_is_written(before: str, after: str) -> None:
    assert in_capitals(before.encode(), "a.strings").data.decode() == after


def values(found: Any) -> list[str]:
    if not isinstance(found, dict):
        return []
    return (
        [found["stringUnit"]["value"]] if "stringUnit" in found else [t for one in found.values() for t in values(one)]
    )


def paths(found: Any, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    if not isinstance(found, dict) or "stringUnit" in found:
        return [path]
    return [inner for key, one in found.items() for inner in paths(one, (*path, key))]


def shown_xcstrings(data: bytes) -> list[str]:
    """Each string's texts in the target language, or else in the source language, or else its key."""
    texts = []
    for key, entry in json.loads(data)["strings"].items():
        found = entry.get("localizations", {})
        texts += values(found.get("de", found.get("en"))) or [key]
    return texts


def skeleton_xcstrings(data: bytes) -> Any:
    """All but the texts in the target language, which are for the same forms as those in the source language."""
    found = json.loads(data)
    forms = []
    for entry in found["strings"].values():
        localizations = entry.pop("localizations", {})
        forms.append(paths(localizations.pop("de", localizations.get("en"))))
        forms.append(localizations)
    return found, forms


def test_translations_that_a_catalogue_has_stay() -> None:
    entry = {"stringUnit": {"state": "translated", "value": "Der Hund"}}
    new = {"stringUnit": {"state": "new", "value": "x"}}
    strings = {"the cat": {"localizations": {"de": new}}, "the dog": {"localizations": {"de": entry}}}
    data = json.dumps({"sourceLanguage": "en", "strings": strings, "version": "1.0"}).encode()
    after = json.loads(in_capitals(data, "a.xcstrings").data)["strings"]
    assert after["the dog"] == strings["the dog"]
    assert after["the cat"]["localizations"]["de"]["stringUnit"] == {"state": "needs_review", "value": "THE CAT"}
    again = json.loads(in_capitals(data, "a.xcstrings", retranslate=True).data)["strings"]
    assert again["the dog"]["localizations"]["de"]["stringUnit"] == {"state": "needs_review", "value": "THE DOG"}


def test_a_catalogue_needs_a_target_language() -> None:
    data = b'{"sourceLanguage": "en", "strings": {"a b": {}}, "version": "1.0"}'
    with pytest.raises(InputError, match="target language is not known"):
        read_document(data, "a.xcstrings", Languages("en", ""))
