"""HTML: an HTML5 parser tells what is text and in which elements; only characters of texts are ever changed."""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.libraries import require
from transduce.documents.placeholders import hold, pair_tags, tag_mark
from transduce.documents.segment import Mark, Part, Segment
from transduce.errors import InputError

_INLINE = (
    "a abbr acronym b bdi bdo big cite data del dfn em font i img ins label mark nobr picture q rp rt ruby s small "
    "source span strike strong sub sup time u wbr"
)
_SKIPPED = (
    "audio canvas embed iframe listing noembed noframes noscript object plaintext pre script style template textarea "
    "video xmp"
)
INLINE = frozenset(_INLINE.split())
"""Elements that a sentence goes on through; all others end it."""
CODE = frozenset(["code", "kbd", "samp", "tt", "var", "math", "svg"])
"""Elements of a sentence whose content is held."""
SKIPPED = frozenset(_SKIPPED.split())
"""Elements whose content is no text to translate."""
_META = re.compile(rb"""<meta[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_TAG = re.compile(
    r"""<!--(?:>|->|.*?(?:-->|--!>|\Z))
    | <(?P<close>/)?(?P<name>[A-Za-z][^\s/>]*+)(?>=\s*+"[^"]*"|=\s*+'[^']*'|[^>])*?(?P<alone>/)?>
    | <[!/?][^>]*>""",
    re.VERBOSE | re.DOTALL,
)
_OTHER = re.compile(r"(?P<close>)(?P<alone>)(?P<name>.)[^<]*", re.DOTALL)
_UNENDED = re.compile(r"(?P<close>)(?P<alone>)(?P<name>.).*", re.DOTALL)
_MARKUP = re.compile(r"<[A-Za-z/!?]")
_VOID = frozenset(["img", "source", "wbr"])  # inline ones without an end


def read_html(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of a page, a segment for each paragraph, heading, cell and the like."""
    meta = _META.search(data[:1024])
    encoding = meta[1].decode() if meta else None
    if encoding and encoding.lower() in ("iso-8859-1", "latin1", "ascii", "us-ascii"):
        encoding = "windows-1252"  # which browsers take it for
    if encoding and encoding.lower().startswith("utf-16"):
        encoding = None  # as the standard has it: what can be read as ASCII is not
    file = TextFile.read(data, name, encoding)
    file = TextFile(name, file.text, file.encoding, file.mark, lambda character: f"&#{ord(character)};")
    if "\0" in file.text:
        raise InputError(f"{name}: is no HTML; it holds zero bytes")
    return Document([_unit(file, *found) for found in _segments(file.text)], file.save)


@dataclass(frozen=True)
class _Text:
    """A run of characters that the parser takes for text."""

    start: int
    end: int
    is_code: bool


def _unit(file: TextFile, parts: list[Part], start: int, end: int) -> Unit:
    def write(segment: Segment) -> list[Edit]:
        return [Edit(start, end, "".join(p.raw if isinstance(p, Mark) else _escape(p) for p in segment.parts))]

    return Unit(Segment.of(pair_tags(parts)), write, f"line {file.line_of(start)}")


def _escape(text: str) -> str:
    return html.escape(text, quote=False)


def _segments(text: str) -> Iterator[tuple[list[Part], int, int]]:
    """The parts of each segment, and the characters that they are."""
    parts: list[Part] = []
    begin = done = 0
    for run in [*_texts(text), _Text(len(text), len(text), False)]:
        for place, end, tag in _tags(text, done, run.start):
            name = (tag["name"] or "").lower()
            if not name or name in INLINE or name in CODE:  # a comment, too
                parts.append(tag_mark(text[place:end], tag) if name and name not in _VOID else Mark(text[place:end]))
            elif name == "br":
                parts.append(Mark(text[place:end], shown=" ", breaks=True))
            else:
                if any(_is_text(part) for part in parts):
                    yield parts, begin, place
                parts, begin = [], end
        written = text[run.start : run.end]
        plain = html.unescape(written)
        if run.is_code:
            parts.append(Mark(written, shown=plain))
        else:
            parts += hold([plain], _escape)
        done = run.end
    if any(_is_text(part) for part in parts):
        yield parts, begin, len(text)


def _is_text(part: Part) -> bool:
    return isinstance(part, str) and bool(part.strip())


def _tags(text: str, start: int, end: int) -> Iterator[tuple[int, int, re.Match[str]]]:
    """All markup between two texts; whatever is none ends the segment, as a tag of no inline element would."""
    while start < end:
        found = _TAG.match(text, start, end)
        if found is None:  # the content of a script, or a tag without an end, of which all that follows is a part
            found = (_UNENDED if _MARKUP.match(text, start, end) else _OTHER).match(text, start, end)
            assert found is not None
        yield start, found.end(), found
        start = found.end()


def _texts(text: str) -> list[_Text]:
    """The texts to translate, or to hold, in their order."""
    justhtml = require("justhtml")
    root = justhtml.JustHTML(text, sanitize=False, track_node_locations=True).root
    found: dict[int, _Text] = {}
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        node, is_code = stack.pop()
        if node.name == "#text":
            if (run := _run(text, node, is_code)) is not None:
                found[run.start] = run
            continue
        attributes = getattr(node, "attrs", None) or {}
        if node.name in SKIPPED:
            continue
        held = node.name in CODE or attributes.get("translate") == "no" or "notranslate" in _classes(attributes)
        stack += [(child, is_code or held) for child in reversed(getattr(node, "children", None) or [])]
    runs, done = [], 0
    for start in sorted(found):
        if start >= done:
            runs.append(found[start])
            done = found[start].end
    return runs


def _run(text: str, node: Any, is_code: bool) -> _Text | None:
    """Where a text of the parser's stands; None for one that is put together otherwise than it is written."""
    start = node.origin_offset
    if start is None:
        return None
    if node.parent is not None and node.parent.name == "title":
        end = _end_of(re.compile(r"</title", re.IGNORECASE), text, start)
    else:
        end = _end_of(_MARKUP, text, start)
    read = html.unescape(text[start:end]).replace("\r\n", "\n").replace("\r", "\n")
    if read != node.data:
        if not read.startswith(node.data):
            return None
        end = start + len(node.data)  # the parser has put what follows into another place
        if text[start:end] != node.data:
            return None
    return _Text(start, end, is_code)


def _end_of(pattern: re.Pattern[str], text: str, start: int) -> int:
    found = pattern.search(text, start)
    return found.start() if found else len(text)


def _classes(attributes: dict[str, str | None]) -> list[str]:
    return (attributes.get("class") or "").split()
