"""Word documents (DOCX): paragraphs in the XML files of an archive, of which only texts and their runs are changed."""

import re
from collections.abc import Callable, Iterator, Sequence

from transduce.documents.archive import Archive
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.inline import written
from transduce.documents.packaging import main_part, relations_of
from transduce.documents.paragraphs import paragraphs_in, whole_edits
from transduce.documents.placeholders import hold
from transduce.documents.segment import Segment
from transduce.documents.xml import Element, content_edit, element_of, escape, tokens_of

MAIN = "word/document.xml"
"""The file that the text is in, where the archive does not say."""
_TEXTS = "chart chartEx chartUserShapes comments diagramData diagramDrawing endnotes footer footnotes header"
TEXTS = frozenset(_TEXTS.split())
"""Relations to files with text that a reader of the document sees."""
PROPERTIES = frozenset(["title", "subject"])
"""Properties of a document that programs show with it."""
_CACHES = frozenset(["strCache", "strDim", "txData"])  # in charts, of texts in the table that a chart was made of
_ATTRIBUTES = {"textpath": "string", "listEntry": "val"}  # that are texts, by their elements
_LETTERS = re.compile(r"[^\W\d_]{2}")


def read_docx(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs of a document, its headers, footers, notes and comments, of its diagrams and charts.

    Raises InputError for what is no such archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "Word document")
    main = MAIN if MAIN in archive and "_rels/.rels" not in archive else main_part(archive)
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path in _paths(archive, main, left):
        file = archive.xml(path)
        for number, paragraph in enumerate(paragraphs_in(file, path), 1):
            where = f"paragraph {number} of {path}"
            if paragraph.segment.text.strip():
                units.append(Unit(paragraph.segment, paragraph.write, where, id=paragraph.id))
            left += [Untranslated(where, text, "it is beside the text of its paragraph") for text in paragraph.left]
        if any(name in file.text for name in _CACHES):
            units += _texts(file, path, ("v", "pt"), _CACHES, ("the table of the chart keeps its own text",))
        if any(name in file.text for name in _ATTRIBUTES):
            left += _drawn(file, path)
    for relation in relations_of(archive, ""):
        if relation.kind == "core-properties":
            units += _texts(archive.xml(relation.path), relation.path, PROPERTIES)
    return Document(units, lambda edits: archive.pack(_outer(archive, edits)), left)


def _paths(archive: Archive, main: str, left: list[Untranslated]) -> Iterator[str]:
    """The files with text, from the main one on as they refer to each other."""
    seen = {main}
    waiting = [main]
    for path in waiting:
        yield path
        for relation in relations_of(archive, path):
            if relation.path in seen:
                continue
            seen.add(relation.path)
            if relation.kind in TEXTS:
                waiting.append(relation.path)
            elif relation.kind == "aFChunk":
                left.append(Untranslated(path, relation.path, "it is a document within the document"))
            elif relation.kind == "numbering":
                left += _labels(archive.xml(relation.path), relation.path)


def _texts(
    file: TextFile,
    path: str,
    names: Sequence[str] | frozenset[str],
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
                yield Unit(Segment.of(hold([text], escape)), _writer(element, file, path), where, notes=notes)


def _writer(element: Element, file: TextFile, path: str) -> Callable[[Segment], list[Edit]]:
    def write(segment: Segment) -> list[Edit]:
        edit = content_edit(element, file, written(segment))
        return [Edit(edit.start, edit.end, edit.text, path)]

    return write


def _drawn(file: TextFile, path: str) -> Iterator[Untranslated]:
    """Texts that are drawn, such as a watermark, and those that a list of choices shows, which are attributes."""
    for token in tokens_of(file):
        name = _ATTRIBUTES.get(token.name) if token.kind == "start" else None
        text = next((value for key, value in token.attributes.items() if key.rpartition(":")[2] == name), "")
        if any(map(str.isalpha, text)):
            what = "it is drawn as a picture" if name == "string" else "it is a choice of a form"
            yield Untranslated(f"line {file.line_of(token.start)} of {path}", text, what)


def _labels(file: TextFile, path: str) -> Iterator[Untranslated]:
    """Words in the numbers of headings and lists, such as `Chapter %1`."""
    seen = set()
    for token in tokens_of(file):
        if token.kind == "start" and token.name == "lvlText":
            text = next((value for key, value in token.attributes.items() if key.endswith(":val")), "")
            if _LETTERS.search(text) and text not in seen:
                seen.add(text)
                yield Untranslated(f"line {file.line_of(token.start)} of {path}", text, "it is part of a number")


def _outer(archive: Archive, edits: Sequence[Edit]) -> list[Edit]:
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.part, []).append(edit)
    return [edit for path, some in by_path.items() for edit in whole_edits(archive.xml(path), some)]
