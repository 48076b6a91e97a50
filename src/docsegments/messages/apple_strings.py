"""Apple's .strings files: keys and values as openstep_plist reads them, each with its span in the text."""

import re
from collections.abc import Iterator

from docsegments.document import Document, Languages, TextFile, Unit
from docsegments.extras import require
from docsegments.messages.message import Message, in_ascii, joined_halves, message_segment
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError

_STRING = r""""(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|[A-Za-z0-9_$/:.-]++"""
_SPACE = r"(?:\s++|/\*(?:[^*]++|\*(?!/))*+\*/|//[^\r\n\u2028\u2029]*+)*+"
_GAP = re.compile(_SPACE)
_ENTRY = re.compile(
    rf"(?P<key>{_STRING}){_SPACE}(?P<rest>=(?P<before>{_SPACE})(?P<value>{_STRING}){_SPACE})?+;", re.DOTALL
)
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def read_strings(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the values of all keys, and keys without a value, which are texts; InputError for a compiled file."""
    if data.startswith((b"bplist", b"<?xml", b"<plist")):
        raise InputError(f"{name}: is a property list, which is compiled or XML; translate the .strings it was made of")
    file = _read(data, name)
    entries = list(_entries(file))
    plist = require("openstep_plist", "documents")
    try:
        known = plist.loads(file.text)
    except Exception as error:  # its ParseError and those of Python's own types
        raise InputError(f"{name}: is no .strings file ({' '.join(str(error).split())[:100]})") from None
    ours = {entry.key: entry.value for entry in entries}
    if known != ours and (known or ours):
        raise InputError(f"{name}: its keys and values cannot be distinguished; check it with plutil -lint")
    return Document([_unit(file, entry) for entry in entries if entry.value.strip()], file.save)


def _read(data: bytes, name: str) -> TextFile:
    """Decodes by the byte order mark, as UTF-16 where every other byte is zero, else as UTF-8."""
    head = data[:200]
    encoding = None
    if len(head) > 1 and not data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in head:
        encoding = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return TextFile.read(data, name, encoding)


def _entries(file: TextFile) -> Iterator[Message]:
    offset = _after_gap(file, 0)
    while offset < len(file.text):
        match = _ENTRY.match(file.text, offset)
        if match is None:
            excerpt = file.text[offset : offset + 30].splitlines()[0]
            raise InputError(f'{file.name}: {file.where(offset)}: expected "key" = "value"; and found {excerpt!r}')
        key, value = _decoded(file, match["key"], offset), match["value"]
        if value is None:
            yield Message(key, key, match.end("key"), match.end("key"))
        else:
            yield Message(key, _decoded(file, value, match.start("value")), *match.span("value"))
        offset = _after_gap(file, match.end())


def _after_gap(file: TextFile, offset: int) -> int:
    match = _GAP.match(file.text, offset)
    return offset if match is None else match.end()


def _decoded(file: TextFile, raw: str, start: int) -> str:
    """Returns the text of a string; InputError for an invalid escape."""
    if raw[0] not in "\"'":
        return raw
    if "\\" not in raw:
        return raw[1:-1]
    try:
        return joined_halves(require("openstep_plist", "documents").loads(raw))
    except Exception as error:  # its ParseError, and half of a character
        reason = " ".join(str(error).split())[:100]
        raise InputError(f"{file.name}: {file.where(start)}: {raw[:40]} cannot be read ({reason})") from None


def _unit(file: TextFile, entry: Message) -> Unit:
    raw = file.text[entry.start : entry.end]
    is_ascii = raw.isascii() and not entry.value.isascii()
    written = _WRITTEN | ({} if "\n" in raw or "\r" in raw else {"\n": "\\n"})

    def encode(text: str) -> str:
        text = "".join(written.get(character, character) for character in text)
        text = text.replace("\\r\n", "\r\n") if "\r\n" in raw else text  # a line of the file ends there
        text = in_ascii(text, "\\U") if is_ascii else text
        return f'"{text}"' if raw else f' = "{text}"'

    source = message_segment(entry.value)
    return file.unit(entry.start, entry.end, source, encode, program_text(source), id=entry.key)
