"""Java's .properties files of messages: keys and values on lines that a backslash continues."""

import codecs
import re
from collections.abc import Iterator

from docsegments.document import Document, Languages, TextFile, Unit
from docsegments.messages.message import Message, PluralForms, in_ascii, joined_halves, message_segment
from docsegments.segment import Mark, Part, Segment, divided_by
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold, mark_tags
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError

_BLANK = r"[ \t\f]"
_CONTINUED = rf"\\(?:\r\n|\n|\r){_BLANK}*+"
_LINE = re.compile(
    rf"""
    {_BLANK}*+ (?: [\#!][^\r\n]*+
      | (?P<key>(?:[^\\=:\ \t\f\r\n]++ | \\(?:\r\n|\n|\r){_BLANK}*+ | \\. )*+)
        (?:{_BLANK}|{_CONTINUED})*+ (?:[=:](?:{_BLANK}|{_CONTINUED})*+)?+
        (?P<value>(?:[^\\\r\n]++ | \\(?:\r\n|.|\Z))*+)
    ) (?:\r\n|\n|\r|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(rf"{_CONTINUED}|\\(?:u(?P<code>[0-9A-Fa-f]{{4}})|(?P<other>.)|\Z)", re.DOTALL)
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_WRITTEN = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
_ARGUMENT = re.compile(r"\{\d{1,3}[},]")
_QUOTED = re.compile(r"'(?P<text>'|[{}#|]++'|\{[^'{}]*+\}')?+")


def read_properties(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the values of all keys. A file that is not UTF-8 is ISO 8859-1; in that, and in ASCII, other characters are
    written as `\\uXXXX`, which every Java reads."""
    file = _read(data, name)
    entries = list(_entries(file))
    forms = PluralForms((tuple(entry.key.split(".")) for entry in entries), wanted.target)
    return Document([_unit(file, entry, forms) for entry in entries if entry.value.strip()], file.save)


def _read(data: bytes, name: str) -> TextFile:
    if data.isascii():
        return TextFile(name, data.decode("ascii"), "ascii", errors="java")
    try:
        return TextFile.read(data, name)
    except InputError:
        if _NO_TEXT.search(data):
            raise
        return TextFile(name, data.decode("iso8859-1"), "iso8859-1", errors="java")


def _as_escapes(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return in_ascii(error.object[error.start : error.end]), error.end


codecs.register_error("java", _as_escapes)


def _entries(file: TextFile) -> Iterator[Message]:
    offset = 0
    while offset < len(file.text):
        line = _LINE.match(file.text, offset)
        assert line is not None  # every text is such lines
        offset = max(line.end(), offset + 1)
        if line["key"] or line["value"]:
            start, end = line.span("value")
            key = _decoded(file, line["key"], line.start("key"))
            yield Message(key, _decoded(file, line["value"], start), start, end)


def _decoded(file: TextFile, raw: str, start: int) -> str:
    """Returns the text of a key or a value; InputError for an invalid escape."""

    def character(match: re.Match[str]) -> str:
        if match["code"]:
            return chr(int(match["code"], 16))
        if match["other"] == "u":
            where = file.where(start + match.start())
            raise InputError(f"{file.name}: {where}: \\u needs four digits of a character's number, such as \\u00e4")
        other = match["other"] or ""
        return _ESCAPES.get(other, other.strip("\r\n"))

    try:
        return joined_halves(_ESCAPE.sub(character, raw))
    except UnicodeDecodeError:
        raise InputError(f"{file.name}: {file.where(start)}: half of a character (\\ud800 to \\udfff)") from None


def _unit(file: TextFile, entry: Message, forms: PluralForms) -> Unit:
    raw = file.text[entry.start : entry.end]
    kept = {match["other"] for match in _ESCAPE.finditer(raw) if match["other"] and match["other"] in ":=#!'\""}
    is_ascii = raw.isascii() and not entry.value.isascii()

    def encode(text: str) -> str:
        written = "".join(_WRITTEN.get(c) or (f"\\{c}" if c in kept else c) for c in text)
        written = f"\\{written}" if written[:1] == " " else written
        return in_ascii(written) if is_ascii else written

    of_format = _format_segment(entry.value)
    source = message_segment(entry.value) if of_format is None else of_format
    escape = program_text(source, "" if of_format is None else "doubled")
    notes = forms.notes(tuple(entry.key.split(".")))
    return file.unit(entry.start, entry.end, source, encode, escape, notes=notes, id=entry.key)


def _format_segment(text: str) -> Segment | None:
    """Returns a message of Java's MessageFormat, in which apostrophes are doubled and quote braces; else None."""
    if _ARGUMENT.search(text) is None:
        return None
    parts: list[Part] = []
    for piece in divided_by(_QUOTED, text):
        if isinstance(piece, str):
            parts.append(piece)
        elif (quoted := piece["text"]) is None:
            return None  # a text with a plain apostrophe
        else:
            parts.append("'" if quoted == "'" else Mark(piece[0], shown=quoted[:-1]))
    return Segment.of(mark_layout(hold(mark_tags(parts, _doubled), _doubled)))


def _doubled(text: str) -> str:
    return text.replace("'", "''")
