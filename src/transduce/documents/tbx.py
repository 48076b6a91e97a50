"""TBX, term bases (ISO 30042): concepts with terms in several languages, as DCA or DCT, or of version 2 (TBX-Basic)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from transduce.documents import languages
from transduce.documents.xml import Element, element_of, read_xml, tokens_of
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
    """Whether it is deprecated or superseded."""


def concepts_of_tbx(data: bytes, name: str, source: str, target: str) -> Iterator[tuple[list[Term], list[Term]]]:
    """The terms of each concept in two languages, which xml:lang names; concepts that lack one are left out.

    Raises InputError for what is no TBX, or has no term in a language.
    """
    seen: set[str] = set()
    count = 0
    for concept in _concepts(data, name):
        sections = [
            (section.attributes.get("xml:lang") or section.attributes.get("lang", ""), section)
            for section in concept.elements
            if section.name in SECTIONS
        ]
        seen |= {code for code, _ in sections}
        found = [languages.find(sections, code) for code in (source, target)]
        terms = [[] if section is None else _terms(section) for section in found]
        if all(terms):
            count += 1
            yield terms[0], terms[1]
    if not count:
        raise InputError(
            f"{name}: no concept has terms in {source!r} and {target!r}; its languages are {', '.join(sorted(seen))}"
        )


def _concepts(data: bytes, name: str) -> Iterator[Element]:
    file = read_xml(data, name)
    tokens = tokens_of(file)
    is_tbx = False
    for token in tokens:
        if token.kind != "start":
            continue
        if not is_tbx and token.name not in ROOTS:
            raise InputError(f"{name}: is no TBX but begins with <{token.value[:40]}>")
        is_tbx = True
        if token.name in CONCEPTS:
            yield element_of(token, tokens)


def _terms(section: Element) -> list[Term]:
    terms = []
    for entry in (one for one in section.elements if one.name in TERMS):
        term = entry.find("term") or ((group := entry.find("termGrp")) and group.find("term"))
        if not term or not (text := " ".join(_text(term).split())):
            continue
        status = " ".join(_statuses(entry))
        terms.append(Term(text, "preferred" in status, "deprecated" in status or "superseded" in status))
    return terms


def _statuses(entry: Element) -> Sequence[str]:
    """What is said of how a term may be used: by an attribute (DCA) or an element's name (DCT), wherever it is."""
    found: list[str] = []
    for element in entry.elements:
        if STATUS in (element.name, element.attributes.get("type")):
            found.append(_text(element).strip())
        found += _statuses(element)
    return found


def _text(element: Element) -> str:
    return "".join(_text(one) if isinstance(one, Element) else one.value for one in element.content if _is_text(one))


def _is_text(piece: object) -> bool:
    return isinstance(piece, Element) or getattr(piece, "kind", "") == "text"
