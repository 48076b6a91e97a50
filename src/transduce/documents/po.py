"""gettext PO: polib reads the messages, and each is found again in the text, so that nothing else changes."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from gettext import c2py
from typing import Any

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.libraries import require
from transduce.documents.placeholders import hold, mark_lines, mark_tags
from transduce.documents.segment import Mark, Segment
from transduce.errors import InputError

WIDTH = 77  # of a line, within quotation marks, as gettext's own tools fold them
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_STATEMENT = re.compile(r"\s*(?P<word>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<number>\d+)\])?\s*(?=\")")
_STRING = re.compile(r'[ \t]*"((?:[^"\\\n]|\\.)*)"[ \t]*(?:\r?\n|\Z)')
_ESCAPED = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read_po(data: bytes, name: str, wanted: Languages) -> Document:
    """The messages of a catalogue, but for its header and those that are obsolete; InputError for a catalogue in
    another language."""
    charset = _CHARSET.search(data[:4096])
    encoding = charset[1].decode() if charset and charset[1] != b"CHARSET" else None
    file = TextFile.read(data, name, encoding)
    entries, header = _read(file)
    language = header.get("Language", "")
    if not languages.is_same(language, wanted.source):
        languages.check(name, "language (in its header)", language, wanted.target)
    one = _form_of_one(header.get("Plural-Forms", ""))
    units = [unit for entry, message in entries for unit in _units(file, entry.flags, message, one)]
    if not units:
        raise InputError(f"{name}: no messages")
    return Document(units, file.save)


def language_of_po(data: bytes, name: str) -> str:
    """The language that the header names; "" if none."""
    charset = _CHARSET.search(data[:4096])
    file = TextFile.read(data, name, charset[1].decode() if charset and charset[1] != b"CHARSET" else None)
    language: str = _read(file)[1].get("Language", "")
    return language


@dataclass(frozen=True)
class _Place:
    """A `msgstr` in the text: its strings from the first quotation mark to after the last."""

    start: int
    end: int
    strings: Sequence[str]
    """As they are written."""

    @property
    def value(self) -> str:
        """What they say."""
        return "".join(map(_unescape, self.strings))


@dataclass
class _Message:
    """A message that is not obsolete."""

    texts: dict[str, _Place] = field(default_factory=dict)
    """`msgctxt`, `msgid` and `msgid_plural`, as far as it has them."""
    translations: dict[int, _Place] = field(default_factory=dict)
    """By their plural forms; 0 where there are none."""


def _read(file: TextFile) -> tuple[list[tuple[Any, _Message]], dict[str, str]]:
    """Each message as polib has it and as it stands in the text; and the header.

    InputError where polib and our own reading differ.
    """
    polib = require("polib")
    if "msgid" not in file.text:
        raise InputError(f"{file.name}: is no PO catalogue; it has no msgid")
    try:
        # polib opens a text that is the name of a file, which one that begins with a line of comment is not.
        catalogue = polib.pofile("#\n" + file.text)
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        reason = re.sub(r"^Syntax error in po file.*?\(line (\d+)\)|^.*\(line (\d+)\)", "", str(error)).strip(": ")
        line = re.search(r"line (\d+)", str(error))
        where = f"line {int(line[1]) - 1}: " if line else ""
        raise InputError(f"{file.name}: {where}not a PO catalogue ({reason or 'syntax error'})") from None

    def value(place: _Place | None) -> str:
        return "".join(map(polib.unescape, place.strings)) if place else ""

    ours, messages = list(_messages(file)), [entry for entry in catalogue if not entry.obsolete]
    if ours and not value(ours[0].texts.get("msgid")) and "" not in (entry.msgid for entry in messages):
        ours = ours[1:]
    if [entry.msgid for entry in messages] != [value(one.texts.get("msgid")) for one in ours]:
        raise InputError(f"{file.name}: its messages cannot be told apart; check it with msgfmt -c")
    for entry, one in zip(messages, ours, strict=True):
        values = dict(entry.msgstr_plural) if entry.msgid_plural else {0: entry.msgstr}
        if values != {number: value(place) for number, place in one.translations.items()}:
            raise InputError(
                f"{file.name}: the translation of {entry.msgid[:40]!r} cannot be read; check it with msgfmt"
            )
    return list(zip(messages, ours, strict=True)), dict(catalogue.metadata)


def _messages(file: TextFile) -> Iterator[_Message]:
    found = _Message()
    place = 0
    while place < len(file.text):
        statement = _STATEMENT.match(file.text, place)
        if statement is None:
            place = (file.text.find("\n", place) + 1) or len(file.text)
            continue
        strings = []
        place = end = start = statement.end()
        while string := _STRING.match(file.text, place):
            strings.append(string[1])
            end = string.end(1) + 1
            place = string.end()
        if not strings:
            raise InputError(f"{file.name}: line {file.line_of(start)}: a string does not end on its line")
        if beyond := next(
            (one[0] for string in strings for one in _ESCAPED.finditer(string) if _code(one) > 127), None
        ):
            raise InputError(f"{file.name}: line {file.line_of(start)}: write the character itself for {beyond}")
        if statement["word"] in ("msgctxt", "msgid") and found.translations:
            yield found
            found = _Message()
        if statement["word"] == "msgstr":
            found.translations[int(statement["number"] or 0)] = _Place(start, end, strings)
        else:
            found.texts[statement["word"]] = _Place(start, end, strings)
    if found.translations:
        yield found


def _units(file: TextFile, flags: Sequence[str], message: _Message, one: int | None) -> Iterator[Unit]:
    """One for each form of a message: that of the number 1 is translated from the singular, all others from the
    plural."""
    singular, plural, places = message.texts["msgid"], message.texts.get("msgid_plural"), message.translations
    for number, place in sorted(places.items()):
        is_plural = plural is not None and (number != one or len(places) == 1)
        source = (plural if is_plural and plural else singular).value
        notes = ("plural form: see whether it fits all its numbers",) if is_plural and len(places) > 2 else ()
        target = _segment(place.value) if any(place.strings) else None
        where = f"line {file.line_of(place.start)}"
        is_draft = "fuzzy" in flags
        yield Unit(_segment(source), _writer(file, place), where, True, target, is_draft, notes)


def _writer(file: TextFile, place: _Place) -> Any:
    def write(segment: Segment) -> list[Edit]:
        text = "".join(part.raw if isinstance(part, Mark) else part for part in segment.parts)
        begin = file.text.rfind("\n", 0, place.start) + 1
        line_end = "\r\n" if "\r\n" in file.text else "\n"
        return [Edit(place.start, place.end, _fold(text, place.start - begin, line_end))]

    return write


def _segment(text: str) -> Segment:
    return Segment.of(mark_lines(hold(mark_tags([text]))))


def _form_of_one(header: str) -> int | None:
    """Which plural form the number 1 has; the first where the header does not say."""
    expression = re.search(r"plural\s*=\s*([^;]+)", header)
    if expression is None or "EXPRESSION" in header:
        return 0
    try:
        form: int = c2py(expression[1].strip())(1)
    except (ValueError, RecursionError, ZeroDivisionError):
        return 0
    return form


def _fold(text: str, indent: int, line_end: str) -> str:
    """A string as gettext's tools write it: in one line if it fits and holds no other, else each line by itself."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    alone = f'"{_escape(text)}"'
    if len(lines) <= 1 and indent + len(alone) <= WIDTH + 3:
        return alone
    folded = ['""']
    for line in lines:
        piece = ""
        for word in re.findall(r"\S*\s*", line):
            if piece and len(_escape(piece + word.rstrip(" "))) > WIDTH - 1:
                folded.append(f'"{_escape(piece)}"')
                piece = ""
            piece += word
        folded.append(f'"{_escape(piece)}"')
    return line_end.join(folded)


def _escape(text: str) -> str:
    written = {character: f"\\{letter}" for letter, character in _ESCAPES.items()}
    return re.sub(r'[\x00-\x1f\x7f"\\]', lambda found: written.get(found[0], f"\\{ord(found[0]):03o}"), text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: _ESCAPES.get(found[3], found[0]) if found[3] else chr(_code(found)), text)


def _code(escaped: re.Match[str]) -> int:
    """The number of the character that an escape names by it; 0 for others."""
    return int(escaped[1], 8) if escaped[1] else int(escaped[2] or "0", 16)
