"""XML with the places of all that it holds, read by expat: no entities of a file's own, nothing from elsewhere."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal
from xml.parsers import expat
from xml.sax.saxutils import escape as _escape

from transduce.documents.document import Edit, TextFile
from transduce.documents.placeholders import hold, mark_lines, mark_tags
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.sentences import ends_sentence
from transduce.errors import InputError

BLOCK = 2**16  # bytes given to the parser at a time
DEEPEST = 200  # elements within each other
_DECLARED = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""")
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")

Attributes = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a file; all of them together are the file."""

    kind: Literal["start", "end", "text", "other"]
    start: int
    end: int
    value: str = ""
    """The name of an element as it is written, or a text as it is read."""
    attributes: Attributes = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name without its prefix."""
        return self.value.rpartition(":")[2]


@dataclass
class Element:
    """An element with its place: from `start` to `end`, its content from `inner_start` to `inner_end`."""

    name: str
    """Without a prefix."""
    tag: str
    """With it."""
    attributes: Attributes
    start: int
    inner_start: int
    inner_end: int = 0
    end: int = 0
    content: list["Element | Token"] = field(default_factory=list)

    @property
    def elements(self) -> list["Element"]:
        """Those directly within."""
        return [one for one in self.content if isinstance(one, Element)]

    def find(self, name: str) -> "Element | None":
        """The first of that name directly within."""
        return next((one for one in self.elements if one.name == name), None)

    @property
    def has_text(self) -> bool:
        """Whether there is more within than blanks."""
        return any(isinstance(one, Element) or one.value.strip() for one in self.content)


def read_xml(data: bytes, name: str) -> TextFile:
    """The characters of an XML file; InputError for those that its encoding does not allow."""
    declared = _DECLARED.search(data[:1024])
    encoding = declared[1].decode() if declared else None
    if data.startswith(b"<\0?\0"):
        encoding = "utf-16-le"
    elif data.startswith(b"\0<\0?"):
        encoding = "utf-16-be"
    file = TextFile.read(data, name, encoding)
    return TextFile(name, file.text, file.encoding, file.mark, lambda character: f"&#{ord(character)};")


def tokens_of(file: TextFile) -> Iterator[Token]:
    """All pieces of a file; InputError for what is not well-formed, or declares entities."""
    data = file.text.encode()
    parser = expat.ParserCreate("utf-8")  # whatever the file declares
    parser.buffer_text = False
    events: list[tuple[int, Literal["start", "end", "text", "other"], str, Attributes]] = []
    depth = 0

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise InputError(
                f"{file.name}: line {parser.CurrentLineNumber}: more than {DEEPEST} elements in each other"
            )
        events.append((parser.CurrentByteIndex, "start", tag, attributes))

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        events.append((parser.CurrentByteIndex, "end", tag, {}))

    def refuse_entity(name: str, *_: object) -> None:
        raise InputError(
            f"{file.name}: line {parser.CurrentLineNumber}: it declares the entity {name[:40]!r}, which is not read; "
            "write out what it stands for"
        )

    def refuse_unknown(name: str, *_: object) -> None:
        raise InputError(f"{file.name}: line {parser.CurrentLineNumber}: unknown entity &{name[:40]};")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = lambda text: events.append((parser.CurrentByteIndex, "text", text, {}))
    parser.DefaultHandlerExpand = lambda text: events.append((parser.CurrentByteIndex, "other", "", {}))
    parser.CommentHandler = lambda text: events.append((parser.CurrentByteIndex, "other", "", {}))
    parser.ProcessingInstructionHandler = lambda *_: events.append((parser.CurrentByteIndex, "other", "", {}))
    parser.StartCdataSectionHandler = lambda: events.append((parser.CurrentByteIndex, "other", "cdata", {}))
    parser.EndCdataSectionHandler = lambda: events.append((parser.CurrentByteIndex, "other", "cdata", {}))
    parser.EntityDeclHandler = refuse_entity
    parser.SkippedEntityHandler = refuse_unknown
    done = place = 0  # bytes, and the characters that they are
    for begin in range(0, max(len(data), 1), BLOCK):
        try:
            parser.Parse(data[begin : begin + BLOCK], begin + BLOCK >= len(data))
        except expat.ExpatError as error:
            raise InputError(
                f"{file.name}: line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
            ) from None
        is_last = begin + BLOCK >= len(data)
        whole = events if is_last else events[:-1]
        ends = [event[0] for event in events[1:]] + ([len(data)] if is_last else [])
        for (_, kind, value, attributes), stop in zip(whole, ends, strict=True):
            stop = max(stop, done)
            until = place + len(data[done:stop].decode())
            yield Token(kind, place, until, value, attributes)
            done, place = stop, until
        del events[: len(whole)]


def element_of(start: Token, tokens: Iterator[Token]) -> Element:
    """The element that begins with a token, all of whose others are taken from those that follow."""
    root = Element(start.name, start.value, start.attributes, start.start, start.end)
    opened = [root]
    for token in tokens:
        if token.kind == "start":
            inner = Element(token.name, token.value, token.attributes, token.start, token.end)
            opened[-1].content.append(inner)
            opened.append(inner)
        elif token.kind == "end":
            closed = opened.pop()
            closed.inner_end, closed.end = token.start, token.end
            if not opened:
                return root
        else:
            opened[-1].content.append(token)
    raise AssertionError("expat lets no element stay open")


def escape(text: str) -> str:
    """A text as XML writes it, without the characters that it cannot."""
    return _escape(_NOT_XML.sub("", text), {"\r": "&#13;"})


InlineKind = Literal["open", "close", "alone", "pair", "held"]
Inline = Callable[[Element], tuple[InlineKind, str]]
"""What an element inside a segment is: one half of a pair of that name, alone, itself a pair about text, or about text
that stays."""


def segment_of(element: Element, file: TextFile, inline: Inline) -> Segment:
    """The text and the marks within an element."""
    parts = hold(mark_tags(_parts(element, file, inline), escape), escape)
    return Segment.of(mark_lines(parts, escape, ends_sentence))


def _parts(element: Element, file: TextFile, inline: Inline) -> Iterator[Part]:
    for number, one in enumerate(element.content):
        if isinstance(one, Token):
            if one.kind == "text":
                yield one.value
            elif one.value != "cdata":
                yield Mark(file.text[one.start : one.end])
            continue
        kind, pair = inline(one)
        if kind == "held":
            yield Mark(file.text[one.start : one.end], shown=_plain(one))
        elif kind != "pair":
            yield Mark(file.text[one.start : one.end], kind, pair)
        elif one.inner_end == one.end:  # <g/>
            yield Mark(file.text[one.start : one.end])
        else:
            name = f"{pair} {number} {one.start}"
            yield Mark(file.text[one.start : one.inner_start], "open", name)
            yield from _parts(one, file, inline)
            yield Mark(file.text[one.inner_end : one.end], "close", name)


def _plain(element: Element) -> str:
    """The text within an element, those in it included."""
    return "".join(
        _plain(one) if isinstance(one, Element) else one.value if one.kind == "text" else "" for one in element.content
    )


def written(segment: Segment) -> str:
    """A segment as XML writes it."""
    return "".join(part.raw if isinstance(part, Mark) else escape(part) for part in segment.parts)


def content_edit(element: Element, file: TextFile, content: str) -> Edit:
    """Gives an element other content."""
    if element.inner_end < element.end:
        return Edit(element.inner_start, element.inner_end, content)
    tag = file.text[element.start : element.end].removesuffix("/>").rstrip()
    return Edit(element.start, element.end, f"{tag}>{content}</{element.tag}>")


def blanks_before(place: int, file: TextFile) -> str:
    """The white space that ends there."""
    start = place
    while start > 0 and file.text[start - 1].isspace():
        start -= 1
    return file.text[start:place]
