"""What Office documents have in common (DOCX, PPTX, XLSX): paragraphs, charts and properties in files of an archive."""

from collections.abc import Callable, Collection, Iterator, Sequence

from transduce.documents.archive import Archive
from transduce.documents.document import Edit, TextFile, Unit, Untranslated
from transduce.documents.inline import written
from transduce.documents.packaging import relations_of
from transduce.documents.paragraphs import paragraphs_in, whole_edits
from transduce.documents.placeholders import hold
from transduce.documents.segment import Segment
from transduce.documents.xml import Element, content_edit, element_of, escape, tokens_of

PROPERTIES = frozenset(["title", "subject"])
"""Properties of a document that programs show with it."""
CACHES = frozenset(["strCache", "strDim", "txData"])
"""Elements of charts with texts of the table that the chart was made of."""
TABLE_STAYS = "the table of the chart keeps its own text"


def read_part(
    archive: Archive,
    path: str,
    is_kept: Callable[[int], bool] = lambda place: False,
    notes: tuple[str, ...] = (TABLE_STAYS,),
) -> tuple[list[Unit], list[Untranslated]]:
    """The paragraphs of a file and the texts of its charts, and what of it cannot be translated.

    Args:
        archive: the document.
        path: its file.
        is_kept: whether the paragraph at a place of the file stays as it is.
        notes: what a person should know of a chart's texts.
    """
    file = archive.xml(path)
    units: list[Unit] = []
    left: list[Untranslated] = []
    for number, paragraph in enumerate(paragraphs_in(file, path), 1):
        if is_kept(paragraph.start):
            continue
        where = f"paragraph {number} of {path}"
        if paragraph.segment.text.strip():
            units.append(Unit(paragraph.segment, paragraph.write, where, id=paragraph.id))
        left += [Untranslated(where, text, "it is beside the text of its paragraph") for text in paragraph.left]
    if any(name in file.text for name in CACHES):
        units += texts_of(file, path, ("v", "pt"), CACHES, notes)
    return units, left


def read_properties(archive: Archive) -> list[Unit]:
    """What programs show as the document's title and subject."""
    return [
        unit
        for relation in relations_of(archive, "")
        if relation.kind == "core-properties"
        for unit in texts_of(archive.xml(relation.path), relation.path, PROPERTIES)
    ]


def texts_of(
    file: TextFile,
    path: str,
    names: Collection[str],
    within: frozenset[str] = frozenset(),
    notes: tuple[str, ...] = (),
) -> Iterator[Unit]:
    """Elements that are nothing but text, by their names, and by elements that they must be in, if any."""
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
            text = "".join(child.value for child in element.content if not isinstance(child, Element))
            if not element.elements and any(map(str.isalpha, text)):
                where = f"line {file.line_of(element.start)} of {path}"
                yield Unit(Segment.of(hold([text], escape)), text_writer(element, file, path), where, notes=notes)


def text_writer(element: Element, file: TextFile, path: str) -> Callable[[Segment], list[Edit]]:
    """What gives an element that is nothing but text another one."""

    def write(segment: Segment) -> list[Edit]:
        edit = content_edit(element, file, written(segment))
        return [Edit(edit.start, edit.end, edit.text, path)]

    return write


def pack(archive: Archive, edits: Sequence[Edit]) -> bytes:
    """The archive with edits made, those within paragraphs that have been written anew included."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.part, []).append(edit)
    return archive.pack([edit for path, some in by_path.items() for edit in whole_edits(archive.xml(path), some)])
