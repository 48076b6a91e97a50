"""The common parts of Office documents: paragraphs, charts, properties and labels in files of an archive."""

from collections.abc import Callable, Collection, Iterator, Mapping

from transduce.documents.document import TextFile, Unit, Untranslated
from transduce.documents.office.archive import Archive
from transduce.documents.office.paragraphs import paragraphs_in
from transduce.documents.segment import Segment
from transduce.documents.text.placeholders import hold
from transduce.documents.xml import element_of, escape, text_unit, tokens_of

PROPERTIES = frozenset(["title", "subject"])
"""Properties of a document that programs show."""
CACHES = frozenset(["strCache", "strDim", "txData"])
"""Elements of charts with texts copied from a table."""
TABLE_STAYS = "the table of the chart keeps its own text"
BESIDE = "it is a field, or beside the text of its paragraph"
"""Reason for leaving a text of a paragraph, such as how a word is read (ruby)."""
_FORM, _PICTURE, _LINK = "it belongs to a field or a form", "it describes a picture or a table", "it explains a link"
ATTRIBUTES = {
    "lvlText val": "it is part of a number",
    "textpath string": "it is drawn as a picture",
    **dict.fromkeys(("docPr descr", "docPr title", "cNvPr descr", "cNvPr title"), _PICTURE),
    **dict.fromkeys(("tblCaption val", "tblDescription val", "tblPr descr", "tblPr title"), _PICTURE),
    **dict.fromkeys(("hyperlink tooltip", "hlinkClick tooltip", "hlinkHover tooltip"), _LINK),
    **dict.fromkeys(("listEntry val", "listItem displayText", "alias val"), _FORM),
    **dict.fromkeys(("helpText val", "statusText val", "default val"), _FORM),
    **dict.fromkeys((f"dataValidation {name}" for name in ("promptTitle", "prompt", "errorTitle", "error")), _FORM),
}
"""Attributes that readers of Office documents see, see `attributes_of`."""


def read_part(
    archive: Archive,
    path: str,
    is_kept: Callable[[int], bool] = lambda offset: False,
    notes: tuple[str, ...] = (TABLE_STAYS,),
) -> tuple[list[Unit], list[Untranslated]]:
    """Reads the paragraphs of a file and the texts of its charts, and what of it cannot be translated.

    Args:
        archive: the document.
        path: its file.
        is_kept: returns True if the paragraph at an offset of the file stays as it is.
        notes: notes for a person on a chart's texts.
    """
    file = archive.xml(path)
    units: list[Unit] = []
    left: list[Untranslated] = []
    for number, paragraph in enumerate(paragraphs_in(file), 1):
        if is_kept(paragraph.start):
            continue
        where = f"paragraph {number} of {path}"
        if paragraph.segment.text.strip():
            units.append(Unit(paragraph.segment, paragraph.write, where, id=paragraph.id))
        left += [Untranslated(where, text, BESIDE) for text in paragraph.left]
    if any(name in file.text for name in CACHES):
        units += texts_of(file, ("v", "pt"), CACHES, notes)
    return units, [*left, *attributes_of(file, ATTRIBUTES)]


def read_properties(archive: Archive) -> Iterator[Unit]:
    """Yields title and subject of the document, which programs show."""
    for relation in archive.relations_of(""):
        if relation.kind == "core-properties":
            yield from texts_of(archive.xml(relation.path), PROPERTIES)


def texts_of(
    file: TextFile, names: Collection[str], within: frozenset[str] = frozenset(), notes: tuple[str, ...] = ()
) -> Iterator[Unit]:
    """Yields elements that are nothing but text, by their names, and by elements that they must be in, if any."""
    outer: list[str] = []
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind == "end":
            outer.pop()
        if token.kind != "start":
            continue
        if token.name not in names or (within and within.isdisjoint(outer)):
            outer.append(token.name)
            continue
        waiting = [element_of(token, tokens)]
        for element in waiting:
            waiting += element.elements
            if not element.elements and any(map(str.isalpha, element.own_text)):
                yield text_unit(element, file, Segment.of(hold([element.own_text], escape)), notes=notes)


def attributes_of(file: TextFile, shown: Mapping[str, str]) -> Iterator[Untranslated]:
    """Yields texts that are attributes, each once.

    Args:
        file: a file of the document.
        shown: reasons for leaving attributes, by names of element and attribute (`docPr descr`), or of any element's
            attribute with its prefix (`form:label`).
    """
    if not any(name.split()[0] in file.text for name in shown):
        return
    seen: set[str] = set()
    for token in tokens_of(file):
        for key, value in token.attributes.items():
            reason = shown.get(key) or shown.get(f"{token.name} {key.rpartition(':')[2]}")
            if reason and sum(map(str.isalpha, value)) > 1 and value not in seen:
                seen.add(value)
                yield Untranslated(file.where(token.start), value, reason)
