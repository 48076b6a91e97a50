"""Apple's .strings files: keys and values as openstep_plist reads them, each found again in the text."""

import re
from collections.abc import Iterator

from transduce.documents.document import Document, Languages, TextFile, Unit, require
from transduce.documents.messages.message import Message, in_ascii, joined_halves, message_segment
from transduce.errors import InputError

_STRING = r""""(?:[^"\\]++|\\.)*+"|'(?:[^'\\]++|\\.)*+'|[A-Za-z0-9_$/:.-]++"""
_SPACE = r"(?:\s++|/\*(?:[^*]++|\*(?!/))*+\*/|//[^\r\n\u2028\u2029]*+)*+"
_GAP = re.compile(_SPACE)
_ENTRY = re.compile(
    rf"(?P<key>{_STRING}){_SPACE}(?P<rest>=(?P<before>{_SPACE})(?P<value>{_STRING}){_SPACE})?+;", re.DOTALL
)
_WRITTEN = {'"': '\\"', "\\": "\\\\", "\t": "\\t", "\r": "\\r", "\0": "\\0"}


def read_strings(data: bytes, name: str, wanted: Languages) -> Document:
    """The values of all keys, and the keys that have none and are texts themselves; InputError for a compiled file."""
    if data.startswith((b"bplist", b"<?xml", b"<plist")):
        raise InputError(f"{name}: is a property list, which is compiled or XML; translate the .strings it was made of")
    file = _read(data, name)
    entries = list(_entries(file))
    plist = require("openstep_plist")
    try:
        known = plist.loads(file.text)
    except Exception as error:  # its ParseError and those of Python's own types
        raise InputError(f"{name}: is no .strings file ({' '.join(str(error).split())[:100]})") from None
    ours = {entry.key: entry.value for entry in entries}
    if known != ours and (known or ours):
        raise InputError(f"{name}: its keys and values cannot be told apart; check it with plutil -lint")
    return Document([_unit(file, entry) for entry in entries if entry.value.strip()], file.save)


def _read(data: bytes, name: str) -> TextFile:
    """Decodes by the byte order mark, as UTF-16 where every other byte is zero, else as UTF-8."""
    head = data[:200]
    encoding = None
    if len(head) > 1 and not data.startswith((b"\xff\xfe", b"\xfe\xff")) and b"\0" in head:
        encoding = "utf-16-le" if head[1:2] == b"\0" else "utf-16-be"
    return TextFile.read(data, name, encoding)


def _entries(file: TextFile) -> Iterator[Message]:
    place = _after_gap(file, 0)
    while place < len(file.text):
        found = _ENTRY.match(file.text, place)
        if found is None:
            what = file.text[place : place + 30].splitlines()[0]
            raise InputError(f'{file.name}: {file.where(place)}: expected "key" = "value"; and found {what!r}')
        key, value = _decoded(file, found["key"], place), found["value"]
        if value is None:
            yield Message(key, key, found.end("key"), found.end("key"))
        else:
            yield Message(key, _decoded(file, value, found.start("value")), *found.span("value"))
        place = _after_gap(file, found.end())


def _after_gap(file: TextFile, place: int) -> int:
    found = _GAP.match(file.text, place)
    return place if found is None else found.end()


def _decoded(file: TextFile, raw: str, start: int) -> str:
    """Text of a string; InputError for an escape that is none."""
    if raw[0] not in "\"'":
        return raw
    if "\\" not in raw:
        return raw[1:-1]
    try:
        text: str = require("openstep_plist").loads(raw)
        return joined_halves(text)
    except Exception as error:  # its ParseError, and half of a character
        what = " ".join(str(error).split())[:100]
        raise InputError(f"{file.name}: {file.where(start)}: {raw[:40]} cannot be read ({what})") from None


def _unit(file: TextFile, entry: Message) -> Unit:
    raw = file.text[entry.start : entry.end]
    is_ascii = raw.isascii() and not entry.value.isascii()
    written = _WRITTEN | ({} if "\n" in raw or "\r" in raw else {"\n": "\\n"})

    def encode(text: str) -> str:
        text = "".join(written.get(character, character) for character in text)
        text = text.replace("\\r\n", "\r\n") if "\r\n" in raw else text  # a line of the file ends there
        text = in_ascii(text, "\\U") if is_ascii else text
        return f'"{text}"' if raw else f' = "{text}"'

    return file.unit(entry.start, entry.end, message_segment(entry.value), encode, id=entry.key)
