"""gettext PO: polib reads the messages, and each is found again in the text, so that nothing else changes."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from gettext import c2py
from typing import Any

from transduce.documents import languages
from transduce.documents.document import Document, Languages, TextFile, Unit, require
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.text.families import families_for, with_literals
from transduce.documents.text.layout import mark_layout
from transduce.documents.text.placeholders import hold, mark_tags
from transduce.errors import InputError

MOST_LINES = 10_000
"""Lines of a string: polib's time grows with their square."""
WIDTH = 77  # of a line, within quotation marks, as gettext's own tools fold them
_CHARSET = re.compile(rb"charset=([\w.:-]+)")
_STATEMENT = re.compile(
    r"[ \t]*+(?P<word>msgctxt|msgid_plural|msgid|msgstr)(?:\[(?P<number>\d{1,3})\])?[ \t]*+(?:\r?\n[ \t]*+)?(?=\")"
)
_STRING = re.compile(r'[ \t]*+"((?:[^"\\\n]|\\.)*+)"[ \t]*+(?:\r?\n|\Z)')
_ESCAPED = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


def read_po(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the messages that are not obsolete; InputError for a catalogue in another language."""
    file = _decoded(data, name)
    entries, header = _read(file)
    language = header.get("Language", "")
    if not languages.is_same(language, wanted.source):
        languages.check(name, "language (in its header)", language, wanted.target)
    one = _FormOfOne.read(header.get("Plural-Forms", ""))
    units = [unit for entry, message in entries for unit in _units(file, entry.flags, message, one)]
    if not units:
        raise InputError(f"{name}: no messages")
    return Document(units, file.save)


def language_of_po(data: bytes, name: str) -> str:
    """The language that the header names; "" if none."""
    return _read(_decoded(data, name))[1].get("Language", "")


def _decoded(data: bytes, name: str) -> TextFile:
    charset = _CHARSET.search(data[:4096])
    return TextFile.read(data, name, charset[1].decode() if charset and charset[1] != b"CHARSET" else None)


@dataclass(frozen=True)
class _Place:
    """A `msgstr` in the text: its strings from the first quotation mark to after the last."""

    start: int
    end: int
    strings: Sequence[str]
    """The strings as they are written."""

    @property
    def value(self) -> str:
        """Text of the strings."""
        return "".join(map(_unescape, self.strings))


@dataclass
class _Message:
    """A message that is not obsolete."""

    texts: dict[str, _Place] = field(default_factory=dict)
    """`msgctxt`, `msgid` and `msgid_plural`, as far as it has them."""
    translations: dict[int, _Place] = field(default_factory=dict)
    """Translations by plural form; 0 where there are none."""


def _read(file: TextFile) -> tuple[list[tuple[Any, _Message]], dict[str, str]]:
    """Each message as polib has it and as it stands in the text; and the header.

    InputError where polib and our own reading differ.
    """
    polib = require("polib")
    if "msgid" not in file.text:
        raise InputError(f"{file.name}: is no PO catalogue; it has no msgid")
    _check_length(file)
    try:
        # polib opens a text that is the name of a file, which one that begins with a line of comment is not.
        catalogue = polib.pofile("#\n" + file.text)
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        told = str(error).rpartition("(line ")[2]  # before which polib repeats the file
        line = re.match(r"(\d{1,9})\)", told)
        reason = told[line.end() :].strip(": \n") if line else ""
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
            raise InputError(f"{file.name}: {file.where(start)}: a string does not end on its line")
        beyond = [found[0] for string in strings for found in _ESCAPED.finditer(string) if _code(found) > 127]
        if beyond:
            raise InputError(f"{file.name}: {file.where(start)}: write the character itself for {beyond[0]}")
        if statement["word"] in ("msgctxt", "msgid") and found.translations:
            yield found
            found = _Message()
        if statement["word"] == "msgstr":
            found.translations[int(statement["number"] or 0)] = _Place(start, end, strings)
        else:
            found.texts[statement["word"]] = _Place(start, end, strings)
    if found.translations:
        yield found


def _check_length(file: TextFile) -> None:
    lines = 0
    for number, line in enumerate(file.text.split("\n"), 1):
        lines = lines + 1 if line.lstrip("#|~ \t").startswith('"') else 0
        if lines > MOST_LINES:
            raise InputError(f"{file.name}: line {number}: a string of more than {MOST_LINES:,} lines; divide it")


def _units(file: TextFile, flags: Sequence[str], message: _Message, one: "_FormOfOne") -> Iterator[Unit]:
    """Units of a message's forms: the form of the number 1 is translated from the singular, others from the plural."""
    singular, plural, places = message.texts["msgid"], message.texts.get("msgid_plural"), message.translations
    rules, line_end = _Rules(families_for(flags)), "\r\n" if "\r\n" in file.text else "\n"
    context = message.texts.get("msgctxt")
    name = singular.value if context is None else f"{context.value}|{singular.value}"
    for number, place in sorted(places.items()):
        is_plural = plural is not None and (number != one.number or len(places) == 1)
        if plural is not None and not is_plural and not one.is_alone:
            is_plural = rules.held(singular.value) != rules.held(plural.value)  # such as "one file" for 1, 21 and 31
        source = (plural if is_plural and plural else singular).value
        notes = ("plural form: see whether it fits all its numbers",) if is_plural and len(places) > 2 else ()
        target = rules.segment(place.value) if any(place.strings) else None
        indent = place.start - file.text.rfind("\n", 0, place.start) - 1
        yield file.unit(
            place.start,
            place.end,
            rules.segment(source),
            partial(_fold, indent=indent, line_end=line_end),
            rules.writer(source),
            is_bilingual=True,
            target=target,
            is_draft="fuzzy" in flags,
            notes=notes,
            id=name if plural is None else f"{name}[{number}]",
        )


@dataclass(frozen=True)
class _Rules:
    """Rules by which a message's texts are read and written, from its flags."""

    families: tuple[str, ...]

    def segment(self, text: str) -> Segment:
        """A text with marks for what is held."""
        parts = self._parts(text)
        if "java-format" in self.families:
            parts = _with_apostrophes_apart(parts) if _has_lone_apostrophe(parts) else _unescaped(parts)
        return Segment.of(parts, self.families)

    def writer(self, source: str) -> Callable[[str], str]:
        """Returns a function that writes texts beside marks in a translation of this source."""
        parts = self._parts(source)
        free = _free(_unescaped(parts)).replace("'", "") if "java-format" in self.families else _free(parts)
        if "java-format" in self.families and _has_lone_apostrophe(parts):
            return lambda text: text.replace("'", "’")
        return lambda text: with_literals(text, self.families, free)

    def held(self, text: str) -> list[str]:
        """Held texts, in alphabetical order."""
        return sorted(mark.shown for mark in self.segment(text).marks if mark.is_held)

    def _parts(self, text: str) -> list[Part]:
        return mark_layout(hold(mark_tags([text]), str, self.families))


def _free(parts: Sequence[Part]) -> str:
    """The text beside marks."""
    return "".join(part for part in parts if isinstance(part, str))


def _has_lone_apostrophe(parts: Sequence[Part]) -> bool:
    """Returns True if an apostrophe is not written as two, so that Java takes what follows for text."""
    return "'" in _free(parts).replace("''", "")


def _unescaped(parts: Sequence[Part]) -> list[Part]:
    """The parts, with each apostrophe as one, as people read it."""
    return [part if isinstance(part, Mark) else part.replace("''", "'") for part in parts]


def _with_apostrophes_apart(parts: Sequence[Part]) -> list[Part]:
    """The parts, with marks for apostrophes, which what is before and after must not pass."""
    marked: list[Part] = []
    for part in parts:
        pieces = [part] if isinstance(part, Mark) else re.split("('+)", part)
        marked += [Mark(one, shown=" ", breaks=True) if isinstance(one, str) and "'" in one else one for one in pieces]
    return [part for part in marked if part != ""]


@dataclass(frozen=True)
class _FormOfOne:
    """The plural form that the number 1 has."""

    number: int
    is_alone: bool
    """True if no other number has this form."""

    @staticmethod
    def read(header: str) -> "_FormOfOne":
        """Reads a header; the form is the first where the header does not say."""
        expression = re.search(r"plural\s*=\s*([^;]+)", header)
        if expression is None or "EXPRESSION" in header:
            return _FormOfOne(0, True)
        try:
            form_of = c2py(expression[1].strip())
            forms = [form_of(number) for number in range(201)]
        except (ValueError, RecursionError, ZeroDivisionError, OverflowError, MemoryError):
            return _FormOfOne(0, True)
        return _FormOfOne(forms[1], forms.count(forms[1]) == 1)


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
