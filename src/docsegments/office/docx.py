"""Word documents (DOCX): paragraphs in the XML files of an archive, in which only texts and their runs change."""

from collections.abc import Iterator

from docsegments.document import Document, Languages, Unit, Untranslated
from docsegments.office.archive import Archive
from docsegments.office.office_parts import attributes_of, read_part, read_properties

MAIN = "word/document.xml"
"""The file with the text, where the archive names none."""
_TEXTS = "chart chartEx chartUserShapes comments diagramData diagramDrawing endnotes footer footnotes header"
TEXTS = frozenset(_TEXTS.split())
"""Relations to files with text that a reader of the document sees."""


def read_docx(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the paragraphs of a document, its headers, footers, notes, comments, diagrams and charts.

    Raises InputError for what is not such an archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "Word document", wanted)
    main = MAIN if MAIN in archive and "_rels/.rels" not in archive else archive.main_part
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path in _paths(archive, main, left):
        more, others = read_part(archive, path)
        units += more
        left += others
    units += read_properties(archive)
    return Document(units, archive.pack, left)


def _paths(archive: Archive, main: str, left: list[Untranslated]) -> Iterator[str]:
    """Yields the files with text, from the main one on as they refer to each other."""
    seen = {main}
    waiting = [main]
    for path in waiting:
        yield path
        for relation in archive.relations_of(path):
            if relation.path in seen:
                continue
            seen.add(relation.path)
            if relation.kind in TEXTS:
                waiting.append(relation.path)
            elif relation.kind == "aFChunk":
                left.append(Untranslated(path, relation.path, "it is a document within the document"))
            elif relation.kind == "numbering":
                left += attributes_of(archive.xml(relation.path))
