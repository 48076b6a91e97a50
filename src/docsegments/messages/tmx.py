"""TMX, translation memories: units with a text in each of several languages."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from docsegments import language_codes
from docsegments.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from docsegments.inline_xml import InlineKind, segment_of
from docsegments.segment import Segment
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError
from docsegments.xml import (
    NOT_XML,
    Element,
    by_language,
    checked_root,
    content_edit,
    element_after,
    elements_in,
    escape,
    quoted,
    read_xml,
)

BEFORE = ("x-context-pre", "prev")
"""Types of the property that holds the source before a unit's: of MateCat and memoQ, and of OmegaT."""


def read_tmx(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the units with a text in the source language; InputError where there are none, or for unknown languages."""
    file = read_xml(data, name)
    units: list[Unit] = []
    left: list[Untranslated] = []
    seen: set[str] = set()
    for unit in _units(file):
        seen |= {code for code, _ in unit.variants}
        source = _variant(unit, wanted.source or unit.source_language)
        if source is None:
            left += _left(file, unit, wanted.source or unit.source_language)
            continue
        target_language = wanted.target or _other(unit, source[0], name)
        others = [(code, variant) for code, variant in unit.variants if variant is not source[1]]
        target = language_codes.find(others, target_language)
        read = _unit(file, unit.id, source, target, target_language)
        units.append(replace(read, before=_before(unit.element, source[1])))
    if not units:
        reason = f"no text in {wanted.source!r}; it has {', '.join(sorted(seen))}" if seen else "no units"
        raise InputError(f"{name}: {reason}")
    return Document(units, file.save, left)


def write_tmx(pairs: Iterable[tuple[str, str]], wanted: Languages) -> bytes:
    """Returns a TMX 1.4 file of sources and their translations; a note names characters that XML cannot hold."""
    source, target = quoted(wanted.source), quoted(wanted.target)
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<tmx version="1.4">',
        f'<header creationtool="transduce" creationtoolversion="1" segtype="sentence" o-tmf="transduce" adminlang="en" '
        f'srclang={source} datatype="plaintext"/>',
        "<body>",
    ]
    for source_text, target_text in pairs:
        variants = ((source, source_text), (target, target_text))
        texts = (f"<tuv xml:lang={code}><seg>{escape(text)}</seg></tuv>" for code, text in variants)
        left = "".join(f" U+{ord(sign):04X}" for sign in dict.fromkeys(NOT_XML.findall(source_text + target_text)))
        note = f"<note>left out, since XML cannot hold it:{left}</note>" if left else ""
        lines.append(f"<tu>{note}{''.join(texts)}</tu>")
    return "\n".join([*lines, "</body>", "</tmx>", ""]).encode()


def languages_of_tmx(data: bytes, name: str) -> list[str]:
    """Returns the codes of all languages, the header's source language first."""
    codes: dict[str, None] = {}
    for unit in _units(read_xml(data, name)):
        if unit.source_language and _variant(unit, unit.source_language) is not None:
            codes.setdefault(unit.source_language.casefold())
        for code, _ in unit.variants:
            codes.setdefault(code.casefold())
    return list(codes)


@dataclass(frozen=True)
class _TranslationUnit:
    element: Element
    id: str
    source_language: str
    """Source language by the unit or the header; "" for any."""
    variants: Sequence[tuple[str, Element]]
    """<tuv> by their languages."""


def _units(file: TextFile) -> Iterator[_TranslationUnit]:
    checked_root(file, "TMX", "tmx")
    source_language = ""
    for unit in elements_in(file, "header", "tu"):
        if unit.name == "header":
            source_language = _language(unit.attributes.get("srclang", ""))
            continue
        variants = by_language(tuv for tuv in unit.elements if tuv.name == "tuv" and tuv.find("seg") is not None)
        number = unit.attributes.get("tuid", "")
        yield _TranslationUnit(unit, number, _language(unit.attributes.get("srclang", source_language)), variants)


def _language(code: str) -> str:
    return "" if code == "*all*" else code


def _before(unit: Element, source: Element) -> str:
    """Returns the source before that of a unit, without tags, by a property of one or the other; "" without it."""
    properties = (each for element in (unit, source) for each in element.elements if each.name == "prop")
    text = next((each.own_text for each in properties if each.attributes.get("type") in BEFORE), "")
    return " ".join(re.sub(r"<[^<>]*+>", "", text).split())


def _variant(unit: _TranslationUnit, language: str) -> tuple[str, Element] | None:
    coded = [(code, (code, variant)) for code, variant in unit.variants]
    return language_codes.find(coded, language) if language else next(iter(unit.variants), None)


def _other(unit: _TranslationUnit, source: str, name: str) -> str:
    codes = sorted({code.casefold() for code, _ in unit.variants if code != source})
    if len(codes) != 1:
        description = f"has {', '.join(codes)}" if codes else "has no other"
        raise InputError(f"{name}: the target language is not known, and a unit {description}; name the languages")
    return codes[0]


def _left(file: TextFile, unit: _TranslationUnit, language: str) -> Iterator[Untranslated]:
    """Yields the text of a unit that has none in the language that is translated."""
    for code, variant in unit.variants[:1]:
        text = segment_of(_seg(variant), file, _inline)
        if text.is_translatable:
            where = file.where(variant.start)
            yield Untranslated(where, text.text.strip(), f"the unit has no text in {language!r} but one in {code!r}")


def _unit(file: TextFile, id: str, source: tuple[str, Element], target: Element | None, language: str) -> Unit:
    variant = source[1]
    source_text, target_text = _seg(variant), None if target is None else _seg(target)
    segment, translation = segment_of(source_text, file, _inline), None
    if target_text is not None and target_text.has_text:
        translation = segment_of(target_text, file, _inline)
    written = program_text(segment, is_xml=True, escape=escape)

    def write(segment: Segment) -> list[Edit]:
        content = segment.written(written)
        if target_text is not None:
            return [content_edit(target_text, file, content)]
        seg = variant.tag.removesuffix(variant.name) + "seg"
        return [element_after(variant, file, "tuv", f"<{seg}>{content}</{seg}>", f" xml:lang={quoted(language)}")]

    return Unit(segment, write, file.where(variant.start), True, translation, id=id)


def _seg(variant: Element) -> Element:
    seg = variant.find("seg")
    assert seg is not None  # see _units
    return seg


def _inline(element: Element) -> tuple[InlineKind, str]:
    match element.name:
        case "bpt" | "ept":
            return ("open" if element.name == "bpt" else "close"), f"i {element.attributes.get('i', '')}"
        case "it" | "ph" | "ut":
            return "alone", ""
    return "pair", element.name  # <hi>, and those of XLIFF that some programs write, such as <g>
