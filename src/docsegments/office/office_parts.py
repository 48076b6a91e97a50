"""The common parts of Office documents: paragraphs, charts, properties and labels in files of an archive."""

from collections.abc import Callable, Collection, Iterator
from importlib.resources import files

from docsegments.document import TextFile, Unit, Untranslated
from docsegments.office.archive import Archive
from docsegments.office.paragraphs import paragraphs_in
from docsegments.segment import Segment
from docsegments.text.placeholders import hold
from docsegments.xml import element_of, escape, text_unit, tokens_of

PROPERTIES = frozenset(["title", "subject"])
"""Properties of a document that programs show."""
CACHES = frozenset(["strCache", "strDim", "txData"])
"""Elements of charts with texts copied from a table."""
TABLE_STAYS = "the table of the chart keeps its own text"
BESIDE = "it is a field, or beside the text of its paragraph"
"""Reason for leaving a text of a paragraph, such as how a word is read (ruby)."""
_TABLE = files(__package__).joinpath("attributes.tsv").read_text("utf-8").splitlines()[1:]
ATTRIBUTES = {name: reason for reason, names in (line.split("\t") for line in _TABLE) for name in names.split(", ")}
"""Attributes that readers see, and the reasons why they stay.

Their names are those of element and attribute (`docPr descr`), or those of any element's attribute with its prefix.
"""


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
            units.append(Unit(paragraph.segment, paragraph.write, where, notes=paragraph.notes, id=paragraph.id))
        left += [Untranslated(where, text, BESIDE) for text in paragraph.left]
    if any(name in file.text for name in CACHES):
        units += texts_of(file, ("v", "pt"), CACHES, notes)
    return units, [*left, *attributes_of(file)]


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


def attributes_of(file: TextFile) -> Iterator[Untranslated]:
    """Yields texts of a file that are attributes, each once."""
    if not any(name.split()[0] in file.text for name in ATTRIBUTES):
        return
    seen: set[str] = set()
    for token in tokens_of(file):
        for key, value in token.attributes.items():
            reason = ATTRIBUTES.get(key) or ATTRIBUTES.get(f"{token.name} {key.rpartition(':')[2]}")
            if reason and sum(map(str.isalpha, value)) > 1 and value not in seen:
                seen.add(value)
                yield Untranslated(file.where(token.start), value, reason)
