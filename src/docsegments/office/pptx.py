"""PowerPoint presentations (PPTX): paragraphs of slides, notes and comments, tables, charts and diagrams."""

from collections import deque
from collections.abc import Callable, Iterator

from docsegments.document import Document, Languages, TextFile, Unit, Untranslated
from docsegments.office.archive import Archive
from docsegments.office.office_parts import read_part, read_properties, texts_of
from docsegments.text.linked_words import is_taken
from docsegments.xml import elements_in, prefixed

TEXTS = frozenset(["chart", "chartEx", "chartUserShapes", "comments", "diagramData", "diagramDrawing", "notesSlide"])
"""Relations of a slide to files with text that belongs to it."""
DESIGNS = frozenset(["slideLayout", "slideMaster"])
"""Relations to files that slides are drawn upon."""
EMBEDDED = frozenset(["oleObject", "package"])
"""Relations to documents within the document."""


def read_pptx(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the paragraphs of a presentation, slide by slide, and then those of its layouts and masters.

    Raises InputError for what is not such an archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "PowerPoint presentation", wanted)
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path, is_design in _paths(archive, left):
        file = archive.xml(path)
        more, others = read_part(archive, path, _prompts(file) if is_design else lambda offset: False)
        units += more
        left += [other for other in others if any(map(str.isalpha, other.text))]
        if "cmLst>" in file.text[-100:]:  # comments as they were before 2021
            units += texts_of(file, ("text",))
    units += read_properties(archive)
    return Document(units, archive.pack, left)


def _paths(archive: Archive, left: list[Untranslated]) -> Iterator[tuple[str, bool]]:
    """Yields the files with text, the slides in their order, and whether each is part of the design."""
    main = archive.main_part
    slides = {relation.id: relation.path for relation in archive.relations_of(main) if relation.kind == "slide"}
    order = [prefixed(slide.attributes, "id") for slide in elements_in(archive.xml(main), "sldId")]
    waiting = deque(slides[number] for number in dict.fromkeys([*order, *slides]) if number in slides)
    seen = set(waiting)
    designs: set[str] = set()
    while waiting:
        path = waiting.popleft()
        yield path, path in designs
        more: list[str] = []
        for relation in archive.relations_of(path):
            if relation.kind in EMBEDDED and not path.startswith("ppt/charts/"):
                left.append(Untranslated(path, relation.path, "it is a document within the document"))
            if relation.path in seen or relation.kind not in TEXTS | DESIGNS:
                continue
            seen.add(relation.path)
            if relation.kind in DESIGNS:
                designs.add(relation.path)
                waiting.append(relation.path)
            else:
                more.append(relation.path)
        waiting.extendleft(reversed(more))


def _prompts(file: TextFile) -> Callable[[int], bool]:
    """Returns a function that is True for offsets in placeholders of a design, which only editors of slides see."""
    shapes = elements_in(file, "sp", "pic", "graphicFrame")
    spans = [(shape.start, shape.end) for shape in shapes if any(inner.name == "ph" for inner in shape.descendants())]
    return lambda offset: is_taken(spans, offset, offset + 1)
