"""TBX, term bases (ISO 30042): concepts with terms in several languages, as DCA or DCT, or of version 2 (TBX-Basic)."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from transduce.documents import languages
from transduce.documents.document import Languages
from transduce.documents.xml import Element, by_language, checked_root, elements_in, escape, quoted, read_xml
from transduce.errors import InputError

ROOTS = ("tbx", "martif")
CONCEPTS, SECTIONS, TERMS = ("conceptEntry", "termEntry"), ("langSec", "langSet"), ("termSec", "tig", "ntig")
STATUS = "administrativeStatus"


@dataclass(frozen=True)
class Term:
    """A term of a concept in one language."""

    text: str
    is_preferred: bool = False
    is_banned: bool = False
    """True if the term is deprecated or superseded."""


def concepts_of_tbx(data: bytes, name: str, source: str, target: str) -> Iterator[tuple[list[Term], list[Term]]]:
    """Yields the terms of each concept in two languages, named by xml:lang; skips concepts that lack one.

    Raises InputError for what is no TBX, or has no term in a language.
    """
    seen: set[str] = set()
    count = 0
    file = read_xml(data, name)
    checked_root(file, "TBX", *ROOTS)
    for concept in elements_in(file, *CONCEPTS):
        sections = by_language(section for section in concept.elements if section.name in SECTIONS)
        seen |= {code for code, _ in sections}
        chosen = [languages.find(sections, code) for code in (source, target)]
        terms = [[] if section is None else _terms(section) for section in chosen]
        if all(terms):
            count += 1
            yield terms[0], terms[1]
    if not count:
        raise InputError(
            f"{name}: no concept has terms in {source!r} and {target!r}; its languages are {', '.join(sorted(seen))}"
        )


def _terms(section: Element) -> list[Term]:
    terms = []
    for entry in (child for child in section.elements if child.name in TERMS):
        term = entry.find("term") or ((group := entry.find("termGrp")) and group.find("term"))
        if not term or not (text := " ".join(term.text.split())):
            continue
        # given by an attribute (DCA) or an element's name (DCT)
        statuses = (child for child in entry.descendants() if STATUS in (child.name, child.attributes.get("type")))
        status = " ".join(child.text for child in statuses)
        terms.append(Term(text, "preferred" in status, "deprecated" in status or "superseded" in status))
    return terms


def write_tbx(terms: Iterable[tuple[str, str, bool]], wanted: Languages) -> bytes:
    """Returns a TBX-Basic file (DCA) of terms, their translations, and True for a translation that is deprecated."""
    lines = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        f'<tbx type="TBX-Basic" style="dca" xml:lang={quoted(wanted.source)} xmlns="urn:iso:std:iso:30042:ed-2">',
        "<tbxHeader><fileDesc><sourceDesc><p>transduce</p></sourceDesc></fileDesc></tbxHeader>",
        "<text><body>",
    ]
    deprecated = f'<termNote type="{STATUS}">deprecatedTerm-admn-sts</termNote>'
    for number, (source, target, is_deprecated) in enumerate(terms, 1):
        sides = ((wanted.source, source, ""), (wanted.target, target, deprecated if is_deprecated else ""))
        sections = (
            f"<langSec xml:lang={quoted(code)}><termSec><term>{escape(text)}</term>{note}</termSec></langSec>"
            for code, text, note in sides
        )
        lines.append(f'<conceptEntry id="c{number}">{"".join(sections)}</conceptEntry>')
    return "\n".join([*lines, "</body></text>", "</tbx>", ""]).encode()
