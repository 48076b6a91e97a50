"""XLIFF 1.2 and 2: texts to be translated beside their translations."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.segment import Segment
from transduce.documents.xml import (
    Element,
    InlineKind,
    Token,
    blanks_before,
    content_edit,
    element_of,
    escape,
    read_xml,
    segment_of,
    tokens_of,
    written,
)
from transduce.errors import InputError

UNTRANSLATED = frozenset(["new", "needs-translation", "initial"])
"""States in which what stands in <target> is no translation yet."""


def read_xliff(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts that are to be translated; InputError for languages that are not those wanted."""
    file = read_xml(data, name)
    units = []
    root: Token | None = None
    for found in _entries(file):
        root = found.root
        languages.check(name, "source language", found.languages.source, wanted.source)
        languages.check(name, "target language", found.languages.target, wanted.target)
        if (unit := _unit(file, found)) is not None:
            units.append(unit)
    if not units:
        raise InputError(f"{name}: no texts to translate")
    assert root is not None
    lacks_language = not root.attributes["version"].startswith("1") and "trgLang" not in root.attributes
    if lacks_language and wanted.target:  # XLIFF 2 has none where there are no translations yet, but needs it then
        place = file.text[root.start : root.end].rstrip(">").rstrip("/").rstrip()
        code = escape(wanted.target).replace('"', "&quot;")
        new = Edit(root.start + len(place), root.start + len(place), f' trgLang="{code}"')
        return Document(units, lambda edits: file.save([*edits, new] if edits else edits))
    return Document(units, file.save)


def languages_of_xliff(data: bytes, name: str) -> list[str]:
    """Source and target language, as far as they are named."""
    for entry in _entries(read_xml(data, name)):
        return [code for code in (entry.languages.source, entry.languages.target) if code]
    return []


@dataclass(frozen=True)
class _Entry:
    """A <trans-unit> of XLIFF 1, or a <segment> of XLIFF 2."""

    root: Token
    languages: Languages
    number: str
    element: Element


def _entries(file: TextFile) -> Iterator[_Entry]:
    tokens = tokens_of(file)
    root: Token | None = None
    found = Languages()
    skipped: list[bool] = []  # whether each element that is open keeps what is in it from being translated
    for token in tokens:
        if token.kind == "end":
            skipped.pop()
        if token.kind != "start":
            continue
        if root is None:
            root = _checked(token, file.name)
            found = Languages(token.attributes.get("srcLang", ""), token.attributes.get("trgLang", ""))
        if token.name == "file" and "source-language" in token.attributes:
            found = Languages(token.attributes["source-language"], token.attributes.get("target-language", ""))
        is_skipped = (
            (skipped[-1] if skipped else False)
            if "translate" not in token.attributes
            else (token.attributes["translate"] == "no")
        )
        if token.name not in ("trans-unit", "unit"):
            skipped.append(is_skipped)
            continue
        element = element_of(token, tokens)
        if is_skipped:
            continue
        number = element.attributes.get("id", "")
        segments = [element] if element.name == "trans-unit" else [e for e in element.elements if e.name == "segment"]
        for segment in segments:
            yield _Entry(root, found, number, segment)


def _checked(root: Token, name: str) -> Token:
    if root.name != "xliff":
        raise InputError(f"{name}: is no XLIFF but begins with <{root.value[:40]}>")
    version = root.attributes.get("version", "")
    if not version.startswith(("1.", "2.")):
        raise InputError(f"{name}: XLIFF of version {version[:20]!r}; supported are 1.2 and 2.0")
    return root


def _unit(file: TextFile, entry: _Entry) -> Unit | None:
    element = entry.element
    source = element.find("seg-source") or element.find("source")
    if source is None:
        return None
    before, target = source, element.find("target")

    def write(segment: Segment) -> list[Edit]:
        if target is not None:
            return [content_edit(target, file, written(segment))]
        tag = before.tag.removesuffix(before.name) + "target"
        new = f"{blanks_before(before.start, file)}<{tag}>{written(segment)}</{tag}>"
        return [Edit(before.end, before.end, new)]

    found, state = None, ""
    if target is not None and target.has_text:
        found = segment_of(target, file, _inline)
        state = target.attributes.get("state", element.attributes.get("state", ""))
    unit = Unit(segment_of(source, file, _inline), write, f"line {file.line_of(source.start)}", True, found)
    return replace(unit, is_draft=True) if state in UNTRANSLATED else unit


def _inline(element: Element) -> tuple[InlineKind, str]:
    attributes = element.attributes
    if element.name == "mrk" and (attributes.get("translate") == "no" or attributes.get("mtype") == "protected"):
        return "held", ""
    number = attributes.get("rid") or attributes.get("startRef") or attributes.get("id", "")
    match element.name:
        case "g" | "mrk" | "pc":
            return "pair", element.name
        case "bx" | "bpt" | "sc" | "sm":
            return "open", f"{element.name[0]} {number}"
        case "ex" | "ept" | "ec" | "em":
            opening = {"ex": "b", "ept": "b", "ec": "s", "em": "s"}[element.name]
            return "close", f"{opening} {number}"
    return "alone", ""
