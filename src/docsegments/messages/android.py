"""Android's resources of strings (strings.xml): texts, lists of texts and plural forms, with their tags and escapes."""

import re
from collections.abc import Iterator, Sequence

from docsegments.document import Document, Edit, Languages, TextFile, Unit
from docsegments.messages.message import plural_notes
from docsegments.messages.no_text import kind_of_no_text
from docsegments.segment import Mark, Part, Segment, divided_by
from docsegments.text.elements import BLOCKS
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold, mark_tags
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError
from docsegments.xml import CDATA, Element, Token, as_written, content_edit, element_of, read_xml, tokens_of

_LISTS = frozenset(["string-array", "array", "plurals"])
_REFERENCE = re.compile(r"\s*+[@?](?:\+?[\w.]++:)?[\w.]++/[\w.]++\s*+|\s*+@(?:null|empty)\s*+")
_PIECE = re.compile(r'\\u(?P<code>[0-9A-Fa-f]{4})|\\(?P<other>.)|(?P<quote>")|(?P<blanks>[ \t\n\r]++)', re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t"}
_WRITTEN = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_UNSEEN = re.compile("[\u00a0\u00ad\u200b-\u200f\u202a-\u202e\u2060\ufeff\ud800-\udfff]")


def read_android(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts of all strings, except those that are not translatable or refer to others.

    Raises InputError for XML that is something else.
    """
    file = read_xml(data, name)
    tokens = tokens_of(file)
    root = next(token for token in tokens if token.kind == "start")
    if root.value != "resources":
        raise InputError(
            f"{name}: begins with <{root.value[:40]}>; of XML files those of Android are read, which begin with "
            "<resources>, and XLIFF and TMX by their own endings"
        )
    units: list[Unit] = []
    for token in tokens:
        if token.kind == "start":
            units += _units(file, element_of(token, tokens), wanted)
    return Document(units, file.save)


def _units(file: TextFile, element: Element, wanted: Languages) -> Iterator[Unit]:
    if element.attributes.get("translatable") == "false":
        return
    name = element.attributes.get("name", "")
    if element.name == "string" or (element.name == "item" and element.attributes.get("type") == "string"):
        yield from _unit(file, element, name)
    elif element.name in _LISTS:
        items = [item for item in element.elements if item.name == "item"]
        forms = [item.attributes.get("quantity", "") for item in items]
        for number, (item, form) in enumerate(zip(items, forms, strict=True)):
            notes = plural_notes(form, forms, wanted.target) if form else ()
            yield from _unit(file, item, f"{name}.{form}" if form else f"{name}[{number}]", notes)


def _unit(file: TextFile, element: Element, id: str, notes: tuple[str, ...] = ()) -> Iterator[Unit]:
    text = _AndroidText(file, element)
    plain = "".join(part if isinstance(part, str) else part.shown for part in text.parts)
    raw = file.text[element.inner_start : element.inner_end]
    if not plain.strip() or _REFERENCE.fullmatch(raw):
        return
    is_no_text = len(text.parts) == 1 and kind_of_no_text(plain)
    source = Segment((Mark(raw, shown=plain),)) if is_no_text else text.segment()
    escape = program_text(source, is_xml=not text.is_cdata, escape=text.escape)

    def write(segment: Segment) -> list[Edit]:
        content = segment.written(escape)
        return [content_edit(element, file, f"\\{content}" if content.startswith(("@", "?")) else content)]

    yield Unit(source, write, file.where(element.start), notes=notes, id=id)


class _AndroidText:
    """A string as Android reads it: escapes are characters, and unquoted white space is one blank."""

    def __init__(self, file: TextFile, element: Element) -> None:
        self.file = file
        self.quotes = 0
        self.is_quoted: str | None = None
        """The name of the pair of quotation marks that is open."""
        self.is_cdata = _is_cdata(element.content)
        """True if the whole string is in a CDATA section, which needs escapes only."""
        self.parts = list(self._parts(element))

    def segment(self) -> Segment:
        """Returns the string with marks for its tags, placeholders and lines."""
        return Segment.of(mark_layout(hold(mark_tags(self.parts, self.escape), self.escape), self.escape))

    def escape(self, text: str) -> str:
        """Writes characters for the file."""
        text = "".join(_WRITTEN.get(character, character) for character in text)
        text = _UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
        return text.replace("]]>", "]]]]><![CDATA[>") if self.is_cdata else as_written(text)

    def _parts(self, element: Element) -> Iterator[Part]:
        for child in element.content:
            raw = self.file.text[child.start : child.end]
            if isinstance(child, Token):
                if child.kind == "text":
                    yield from self._text(child.value)
                elif child.value != CDATA or self.is_cdata:
                    yield Mark(raw)
            elif child.tag == "xliff:g" or child.attributes.get("translatable") == "false":
                yield Mark(raw, shown=child.text)
            elif child.inner_end == child.end:
                yield Mark(raw, shown=" ", breaks=True) if child.name in BLOCKS else Mark(raw)
            else:
                opening, closing = child.tags(self.file)
                pair, is_break = f"{child.name} {child.start}", child.name in BLOCKS
                yield Mark(opening, shown=" ", breaks=True) if is_break else Mark(opening, "open", pair)
                yield from self._parts(child)
                yield Mark(closing, shown=" ", breaks=True) if is_break else Mark(closing, "close", pair)

    def _text(self, text: str) -> Iterator[Part]:
        for piece in divided_by(_PIECE, text):
            if isinstance(piece, str):
                yield piece
            elif piece["quote"]:
                yield self._quote()
            elif piece[0] == " ":
                yield " "
            elif piece["blanks"]:  # outside quotation marks one blank, even at line ends
                raw = piece[0] if self.is_cdata else piece[0].replace("\r", "&#13;")  # which the file spells so
                yield Mark(raw, shown=" ", breaks=self.is_quoted is not None and "\n" in piece[0])
            elif piece["code"]:
                character = chr(int(piece["code"], 16))
                yield character if character.isprintable() and character != " " else Mark(piece[0], shown=character)
            else:
                yield _ESCAPES.get(piece["other"], piece["other"])

    def _quote(self) -> Mark:
        if self.is_quoted is None:
            self.quotes += 1
            self.is_quoted = f"quoted {self.quotes}"
            return Mark('"', "open", self.is_quoted)
        name, self.is_quoted = self.is_quoted, None
        return Mark('"', "close", name)


def _is_cdata(content: Sequence[Element | Token]) -> bool:
    inner = [child for child in content if isinstance(child, Element) or child.kind != "text" or child.value.strip()]
    signs = [isinstance(child, Token) and child.kind == "other" and child.value == CDATA for child in inner]
    return signs.count(True) == 2 and signs[0] and signs[-1]
