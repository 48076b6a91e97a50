"""TBX, term bases (ISO 30042): concepts with terms in several languages, as DCA or DCT, or of version 2 (TBX-Basic)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from docsegments import language_codes
from docsegments.document import Languages
from docsegments.user_errors import InputError
from docsegments.xml import Element, by_language, checked_root, elements_in, escape, quoted, read_xml

ROOTS = ("tbx", "martif")
CONCEPTS, SECTIONS, TERMS = ("conceptEntry", "termEntry"), ("langSec", "langSet"), ("termSec", "tig", "ntig")
STATUS, TYPE = "administrativeStatus", "termType"


@dataclass(frozen=True)
class ConceptTerm:
    """A term of a concept in one language."""

    text: str
    is_preferred: bool = False
    is_banned: bool = False
    """True if the term is deprecated or superseded."""
    is_variant: bool = False
    """True if it is another form of a term beside it."""


def concepts_of_tbx(
    data: bytes, name: str, source: str, target: str
) -> Iterator[tuple[list[ConceptTerm], list[ConceptTerm]]]:
    """Yields the terms of each concept in two languages, named by xml:lang; skips concepts that lack one.

    Raises InputError for what is not TBX, or has no term in a language.
    """
    seen: set[str] = set()
    count = 0
    file = read_xml(data, name)
    checked_root(file, "TBX", *ROOTS)
    for concept in elements_in(file, *CONCEPTS):
        sections = by_language(section for section in concept.elements if section.name in SECTIONS)
        seen |= {code for code, _ in sections}
        chosen = [language_codes.find(sections, code) for code in (source, target)]
        terms = [[] if section is None else _terms(section) for section in chosen]
        if all(terms):
            count += 1
            yield terms[0], terms[1]
    if not count:
        raise InputError(
            f"{name}: no concept has terms in {source!r} and {target!r}; its languages are {', '.join(sorted(seen))}"
        )


def _terms(section: Element) -> list[ConceptTerm]:
    terms = []
    for entry in (child for child in section.elements if child.name in TERMS):
        term = entry.find("term") or ((group := entry.find("termGrp")) and group.find("term"))
        if not term or not (text := " ".join(term.text.split())):
            continue
        status, kind = _note(entry, STATUS), _note(entry, TYPE)
        is_banned = "deprecated" in status or "superseded" in status
        terms.append(ConceptTerm(text, "preferred" in status, is_banned, "variant" in kind))
    return terms


def _note(entry: Element, name: str) -> str:
    """Returns the notes of a name, which an attribute (DCA) or the name of an element gives (DCT)."""
    return " ".join(child.text for child in entry.descendants() if name in (child.name, child.attributes.get("type")))


def write_tbx(concepts: Iterable[tuple[Sequence[ConceptTerm], Sequence[ConceptTerm]]], wanted: Languages) -> bytes:
    """Returns a TBX-Basic file (DCA) of concepts, each with terms in both languages."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<tbx type="TBX-Basic" style="dca" xml:lang={quoted(wanted.source)} xmlns="urn:iso:std:iso:30042:ed-2">',
        "<tbxHeader><fileDesc><sourceDesc><p>transduce</p></sourceDesc></fileDesc></tbxHeader>",
        "<text><body>",
    ]
    for number, sides in enumerate(concepts, 1):
        sections = (
            f"<langSec xml:lang={quoted(code)}>{''.join(map(_section, terms))}</langSec>"
            for code, terms in zip((wanted.source, wanted.target), sides, strict=True)
        )
        lines.append(f'<conceptEntry id="c{number}">{"".join(sections)}</conceptEntry>')
    return "\n".join([*lines, "</body></text>", "</tbx>", ""]).encode()


def _section(term: ConceptTerm) -> str:
    notes = [(STATUS, "deprecatedTerm-admn-sts")] if term.is_banned else []
    notes += [(TYPE, "variant")] if term.is_variant else []
    written = "".join(f'<termNote type="{name}">{value}</termNote>' for name, value in notes)
    return f"<termSec><term>{escape(term.text)}</term>{written}</termSec>"
