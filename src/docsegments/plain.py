"""Plain text in paragraphs, separated by empty lines; each line that begins with a bullet is a paragraph."""

import re
from collections.abc import Iterator

from docsegments.document import Document, Languages, TextFile, Unit
from docsegments.orthography.characters import Span
from docsegments.segment import Segment
from docsegments.text.placeholders import hold
from docsegments.user_errors import InputError

_BULLET = re.compile(r"[ \t]*+(?:[-*•–—]|\d++[.)])[ \t]++")
_LINE = re.compile(r"[^\r\n]*+(?:\r\n?|\n)|[^\r\n]++")


def read_text(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the paragraphs of a text; the lines of each are joined to one."""
    file = TextFile.read(data, name)
    if "\0" in file.text:
        raise InputError(f"{name}: is no text; it holds zero bytes")
    return Document([_unit(file, *span) for span in _paragraphs(file.text)], file.save)


def _unit(file: TextFile, start: int, end: int) -> Unit:
    text = " ".join(line.strip(" \t\r\n") for line in _LINE.findall(file.text, start, end))
    return file.unit(start, end, Segment.of(hold([text])))


def _paragraphs(text: str) -> Iterator[Span]:
    """Yields spans of the paragraphs, without bullets and blanks about them."""
    start: int | None = None
    end = offset = 0
    for line in _LINE.findall(text):
        bullet = _BULLET.match(line)
        if start is not None and (bullet or not line.strip()):
            yield start, end
            start = None
        if line.strip():
            if start is None:
                blank = bullet.end() if bullet else len(line) - len(line.lstrip())
                start = offset + blank
            end = offset + len(line.rstrip())
        offset += len(line)
    if start is not None:
        yield start, max(start, end)
