"""XML with the offsets of all its pieces, read by expat: no entities that a file declares, nothing from elsewhere."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NoReturn, cast
from xml.parsers import expat
from xml.sax.saxutils import escape as _escape

from docsegments.document import Edit, TextFile, Unit
from docsegments.segment import Mark, Part, Segment, divided_by
from docsegments.user_errors import InputError

BLOCK = 2**16  # bytes given to the parser at a time
DEEPEST = 200  # elements within each other
_DECLARED = re.compile(rb"""\A\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']""")
_ATTRIBUTE = re.compile(r"""(?P<before>(?<!\s)\s++(?P<name>[^\s=<>/"']++)\s*+=\s*+)(?:"[^"]*+"|'[^']*+')""")
_REFERENCE = re.compile(r"&(?:#x(?P<hex>[0-9A-Fa-f]++)|#(?P<code>[0-9]++)|(?P<name>amp|lt|gt|quot|apos));")
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
"""A character that XML cannot hold, not even by its number."""

LAYOUT = frozenset("\t\n\r\x85\u2028\u2029")
"""Characters written as references so that no program takes them for formatting of the file."""
CDATA = "cdata"
"""Value of the token that begins a CDATA section, and of the one that ends it."""

Attributes = Mapping[str, str]
Kind = Literal["start", "end", "text", "other"]
_Event = tuple[int, Kind, str | list[str], Attributes]
_NONE: Attributes = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of a file; all of them together are the file."""

    kind: Kind
    start: int
    end: int
    value: str = ""
    """The name of an element as it is written, or a text as it is read."""
    attributes: Attributes = field(default_factory=lambda: _NONE)

    @property
    def name(self) -> str:
        """The name without its prefix."""
        return self.value.rpartition(":")[2]


@dataclass(slots=True)
class Element:
    """An element from `start` to `end`, its content from `inner_start` to `inner_end`."""

    name: str
    """Name without a prefix."""
    tag: str
    """Name with its prefix."""
    attributes: Attributes
    start: int
    inner_start: int
    inner_end: int = 0
    end: int = 0
    content: list["Element | Token"] = field(default_factory=list)

    @property
    def elements(self) -> list["Element"]:
        """Elements directly within."""
        return [child for child in self.content if isinstance(child, Element)]

    def descendants(self) -> Iterator["Element"]:
        """Yields all elements within, in the order of their start tags."""
        waiting = self.elements[::-1]
        while waiting:
            element = waiting.pop()
            yield element
            waiting += reversed(element.elements)

    def find(self, name: str) -> "Element | None":
        """Returns the first element of that name directly within."""
        return next((element for element in self.elements if element.name == name), None)

    @property
    def own_text(self) -> str:
        """The text directly within, as it is read."""
        return "".join(child.value for child in self.content if isinstance(child, Token) and child.kind == "text")

    def outermost(self, is_wanted: Callable[["Element"], bool]) -> Iterator["Element"]:
        """Yields elements within that are wanted, but none within another that is."""
        for element in self.elements:
            if is_wanted(element):
                yield element
            else:
                yield from element.outermost(is_wanted)

    @property
    def text(self) -> str:
        """All text within, that of other elements included."""
        return "".join(
            child.text if isinstance(child, Element) else child.value * (child.kind == "text") for child in self.content
        )

    @property
    def has_text(self) -> bool:
        """True if there is more within than blanks."""
        return any(isinstance(child, Element) or child.value.strip() for child in self.content)

    def tags(self, file: TextFile) -> tuple[str, str]:
        """Returns the start tag and the end tag as the file writes them; the latter is "" for an empty element."""
        return file.text[self.start : self.inner_start], file.text[self.inner_end : self.end]


def read_xml(data: bytes, name: str) -> TextFile:
    """Reads the characters of an XML file; InputError for those that its encoding does not allow."""
    declared = _DECLARED.search(data[:1024])
    encoding = declared[1].decode() if declared else None
    if data.startswith(b"<\0?\0"):
        encoding = "utf-16-le"
    elif data.startswith(b"\0<\0?"):
        encoding = "utf-16-be"
    return replace(TextFile.read(data, name, encoding), errors="xmlcharrefreplace")


def tokens_of(file: TextFile) -> Iterator[Token]:
    """Yields all pieces of a file; InputError for what is not well-formed, or declares entities or attributes."""
    data = file.text.encode()
    parser = expat.ParserCreate("utf-8")  # not as the file declares
    parser.buffer_text = False
    events: list[_Event] = []
    depth = 0

    def start(tag: str, attributes: Attributes) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            refuse(f"more than {DEEPEST} elements in each other")
        events.append((parser.CurrentByteIndex, "start", tag, attributes or _NONE))

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        events.append((parser.CurrentByteIndex, "end", tag, _NONE))

    def text(value: str) -> None:
        if events and (last := events[-1])[1] == "text":  # expat gives each line, and each entity, by itself
            cast(list[str], last[2]).append(value)
        else:
            events.append((parser.CurrentByteIndex, "text", [value], _NONE))

    def other(value: str) -> None:
        events.append((parser.CurrentByteIndex, "other", value, _NONE))

    def refuse(problem: str) -> NoReturn:
        raise InputError(f"{file.name}: line {parser.CurrentLineNumber}: {problem}")

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = text
    parser.DefaultHandlerExpand = lambda _: other("")  # comments and processing instructions, too
    parser.StartCdataSectionHandler = parser.EndCdataSectionHandler = lambda: other(CDATA)
    parser.EntityDeclHandler = lambda name, *_: refuse(
        f"it declares the entity {name[:40]!r}, which is not read; write out what it stands for"
    )
    parser.AttlistDeclHandler = lambda name, *_: refuse(
        f"it declares attributes of {name[:40]!r}, which are not read; take the declaration out"
    )
    parser.SkippedEntityHandler = lambda name, *_: refuse(f"unknown entity &{name[:40]};")
    done = offset = begin = 0  # bytes that are tokens, the characters that they are, and bytes that are parsed
    size = BLOCK
    while True:
        is_last = begin + size >= len(data)
        try:
            parser.Parse(data[begin : begin + size], is_last)
        except expat.ExpatError as error:
            raise InputError(
                f"{file.name}: line {error.lineno}: not well-formed XML ({expat.ErrorString(error.code)})"
            ) from None
        begin += size
        size = BLOCK if len(events) > 1 else 2 * size  # expat may read an unfinished piece anew with every block
        whole = events if is_last else events[:-1]
        ends = [event[0] for event in events[1:]] + ([len(data)] if is_last else [])
        for (_, kind, value, attributes), stop in zip(whole, ends, strict=True):
            stop = max(stop, done)
            until = offset + len(data[done:stop].decode())
            yield Token(kind, offset, until, value if isinstance(value, str) else "".join(value), attributes)
            done, offset = stop, until
        if is_last:
            return
        del events[: len(whole)]


def element_of(start: Token, tokens: Iterator[Token]) -> Element:
    """Returns the element that begins with a token; takes its other tokens from those that follow."""
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


def checked_root(file: TextFile, kind: str, *names: str) -> Token:
    """Returns the start tag of a file's root; InputError if its name is none of those of a kind of document."""
    root = next(token for token in tokens_of(file) if token.kind == "start")
    if root.name not in names:
        raise InputError(f"{file.name}: is no {kind} but begins with <{root.value[:40]}>")
    return root


def elements_in(file: TextFile, *names: str) -> Iterator[Element]:
    """Yields the outermost elements of some names in a file, in their order."""
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind == "start" and token.name in names:
            yield element_of(token, tokens)


def prefixed(attributes: Attributes, name: str) -> str:
    """Returns the value of an attribute that has a prefix before this name; "" for none."""
    return next((value for key, value in attributes.items() if key.endswith(f":{name}")), "")


def escape(text: str) -> str:
    """Writes a text as XML, without the characters that it cannot hold."""
    return as_written(text).replace("\r", "&#13;")


def as_written(text: str) -> str:
    """Writes a text as XML, with the line ends that the file has."""
    return _escape(NOT_XML.sub("", text))


def characters(raw: str) -> Iterator[Part]:
    """Reads text of a file outside CDATA; references to line ends and tabs are marks, which stay as they are."""
    for piece in divided_by(_REFERENCE, raw):
        if isinstance(piece, str):
            yield piece
            continue
        number = (piece["hex"] or piece["code"] or "").lstrip("0") or "0"
        character = _ENTITIES.get(piece["name"]) or chr(int(number, 16 if piece["hex"] else 10))
        yield Mark(piece[0], shown=character) if character in LAYOUT else character


def content_edit(element: Element, file: TextFile, content: str) -> Edit:
    """Returns the edit that gives an element other content, with the file's line ends, which a parser reads as LF."""
    content = _with_line_ends(content, file)
    if element.inner_end < element.end:
        return file.edit(element.inner_start, element.inner_end, content)
    stop = element.start + len(element.tags(file)[0].removesuffix("/>").rstrip())
    return file.edit(element.start, element.end, (element.start, stop), f">{content}</{element.tag}>")


def text_unit(
    element: Element,
    file: TextFile,
    source: Segment,
    escape_text: Callable[[str], str] = escape,
    where: str = "",
    **about: Any,
) -> Unit:
    """Returns the unit of an element that has only text and marks, whose content a translation becomes."""
    encode, where = partial(_with_line_ends, file=file), where or file.where(element.start)
    return file.unit(element.inner_start, element.inner_end, source, encode, escape_text, where, **about)


def _with_line_ends(content: str, file: TextFile) -> str:
    return re.sub(r"(?<!\r)\n", file.line_end, content)


def tag_edits(element: Element, file: TextFile, attributes: Mapping[str, str | None]) -> Iterator[Edit]:
    """Yields edits that change or remove attributes of an element; none is added."""
    for match in _ATTRIBUTE.finditer(element.tags(file)[0]):
        if match["name"] in attributes:
            value = attributes[match["name"]]
            new = "" if value is None else f"{match['before']}{quoted(value)}"
            yield file.edit(element.start + match.start(), element.start + match.end(), new)


def quoted(value: str) -> str:
    """Writes the value of an attribute as XML, in quotation marks."""
    return f'"{escape(value).replace(chr(34), "&quot;")}"'


def element_after(element: Element, file: TextFile, name: str, content: str, attributes: str = "") -> Edit:
    """Returns the edit that puts an element of another name after one, with its indent, prefix and xml:space."""
    tag, space = element.tag.removesuffix(element.name) + name, element.attributes.get("xml:space")
    attributes += "" if space is None else f" xml:space={quoted(space)}"
    start = element.start
    while start > 0 and file.text[start - 1].isspace():
        start -= 1
    blanks = file.text[start : element.start]
    return file.edit(element.end, element.end, f"{blanks}<{tag}{attributes}>{content}</{tag}>")


def by_language(elements: Iterable[Element]) -> list[tuple[str, Element]]:
    """Returns elements with the codes of their languages, "" for one that names none."""
    return [(element.attributes.get("xml:lang") or element.attributes.get("lang", ""), element) for element in elements]
