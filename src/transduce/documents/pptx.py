"""PowerPoint presentations (PPTX): paragraphs of slides, notes and comments, tables, charts and diagrams."""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator
from itertools import accumulate

from transduce.documents.archive import Archive
from transduce.documents.document import Document, Languages, TextFile, Unit, Untranslated
from transduce.documents.office import pack, read_part, read_properties, texts_of
from transduce.documents.packaging import main_part, relations_of
from transduce.documents.xml import tokens_of

TEXTS = frozenset(["chart", "chartEx", "chartUserShapes", "comments", "diagramData", "diagramDrawing", "notesSlide"])
"""Relations of a slide to files with text that belongs to it."""
DESIGNS = frozenset(["slideLayout", "slideMaster"])
"""Relations to files that slides are drawn upon."""
EMBEDDED = frozenset(["oleObject", "package"])
"""Relations to documents within the document."""


def read_pptx(data: bytes, name: str, wanted: Languages) -> Document:
    """The paragraphs of a presentation, slide by slide, and then of what all slides are drawn upon.

    Raises InputError for what is no such archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "PowerPoint presentation")
    units: list[Unit] = []
    left: list[Untranslated] = []
    for path, is_design in _paths(archive, left):
        file = archive.xml(path)
        more, others = read_part(archive, path, _prompts(file) if is_design else lambda place: False)
        units += more
        left += [one for one in others if any(map(str.isalpha, one.text))]
        if "cmLst>" in file.text[-100:]:  # comments as they were before 2021
            units += texts_of(file, path, ("text",))
    units += read_properties(archive)
    return Document(units, lambda edits: pack(archive, edits), left)


def _paths(archive: Archive, left: list[Untranslated]) -> Iterator[tuple[str, bool]]:
    """The files with text, the slides in their order, and whether each is part of the design."""
    main = main_part(archive)
    slides = {one.id: one.path for one in relations_of(archive, main) if one.kind == "slide"}
    order = [number for number in _slide_ids(archive.xml(main)) if number in slides]
    waiting = deque(slides[number] for number in dict.fromkeys([*order, *slides]))
    seen = set(waiting)
    designs: set[str] = set()
    while waiting:
        path = waiting.popleft()
        yield path, path in designs
        more: list[str] = []
        for relation in relations_of(archive, path):
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


def _slide_ids(file: TextFile) -> Iterator[str]:
    """By which the presentation names its slides, in their order."""
    for token in tokens_of(file):
        if token.kind == "start" and token.name == "sldId":
            yield next((value for key, value in token.attributes.items() if key.endswith(":id")), "")


def _prompts(file: TextFile) -> Callable[[int], bool]:
    """Whether a place is in a placeholder of a design, whose text only those who edit slides see."""
    spans: list[tuple[int, int]] = []
    opened: list[tuple[int, bool]] = []  # shapes, and whether each is a placeholder
    for token in tokens_of(file):
        if token.name in ("sp", "pic", "graphicFrame") and token.kind == "start":
            opened.append((token.start, False))
        elif token.name == "ph" and token.kind == "start" and opened:
            opened[-1] = (opened[-1][0], True)
        elif token.name in ("sp", "pic", "graphicFrame") and token.kind == "end":
            start, is_placeholder = opened.pop()
            if is_placeholder:
                spans.append((start, token.end))
    spans.sort()
    ends = list(accumulate((end for _, end in spans), max))  # of all that begin so far, which may be in each other
    starts = [start for start, _ in spans]

    def is_prompt(place: int) -> bool:
        number = bisect_right(starts, place) - 1
        return number >= 0 and place < ends[number]

    return is_prompt
