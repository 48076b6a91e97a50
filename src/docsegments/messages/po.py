"""gettext PO: polib reads the messages, and each is located in the text, so that nothing else changes."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from gettext import c2py
from typing import Any

from docsegments import language_codes
from docsegments.document import Document, Languages, TextFile, Unit
from docsegments.extras import require
from docsegments.segment import Mark, Part, Segment
from docsegments.text.layout import mark_layout
from docsegments.text.placeholder_families import families_for, with_literals
from docsegments.text.placeholders import hold, mark_tags
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError

MOST_LINES = 10_000
"""Most lines of a string: polib's time grows with their square."""
WIDTH = 77  # of a folded line within quotation marks, as in gettext's own tools
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
    if not language_codes.is_same(language, wanted.source):
        language_codes.check(name, "language (in its header)", language, wanted.target)
    form_of_one = _FormOfOne.read(header.get("Plural-Forms", ""))
    units = [unit for entry, message in entries for unit in _units(file, entry.flags, message, form_of_one)]
    if not units:
        raise InputError(f"{name}: no messages")
    return Document(units, file.save)


def language_of_po(data: bytes, name: str) -> str:
    """Returns the language that the header names; "" if none."""
    return _read(_decoded(data, name))[1].get("Language", "")


def _decoded(data: bytes, name: str) -> TextFile:
    charset = _CHARSET.search(data[:4096])
    return TextFile.read(data, name, charset[1].decode() if charset and charset[1] != b"CHARSET" else None)


@dataclass(frozen=True)
class _Literal:
    """A text as the file writes it: one or several strings, from the first quotation mark to after the last."""

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

    texts: dict[str, _Literal] = field(default_factory=dict)
    """Texts by keyword: `msgctxt`, `msgid` and `msgid_plural`, as far as it has them."""
    translations: dict[int, _Literal] = field(default_factory=dict)
    """Translations by plural form; 0 where there are none."""


def _read(file: TextFile) -> tuple[list[tuple[Any, _Message]], dict[str, str]]:
    """Returns each message as polib and as our own reading have it, and the header.

    InputError where polib and our own reading differ.
    """
    polib = require("polib", "documents")
    if "msgid" not in file.text:
        raise InputError(f"{file.name}: is no PO catalogue; it has no msgid")
    _check_length(file)
    try:
        # polib would open a text that is the name of a file; one that begins with a comment is none.
        catalogue = polib.pofile("#\n" + file.text)
    except (OSError, ValueError, IndexError, UnicodeError) as error:
        details = str(error).rpartition("(line ")[2]  # before which polib repeats the file
        line = re.match(r"(\d{1,9})\)", details)
        reason = details[line.end() :].strip(": \n") if line else ""
        where = f"line {int(line[1]) - 1}: " if line else ""
        raise InputError(f"{file.name}: {where}not a PO catalogue ({reason or 'syntax error'})") from None

    def value(literal: _Literal | None) -> str:
        return "".join(map(polib.unescape, literal.strings)) if literal else ""

    ours, messages = list(_messages(file)), [entry for entry in catalogue if not entry.obsolete]
    if ours and not value(ours[0].texts.get("msgid")) and "" not in (entry.msgid for entry in messages):
        ours = ours[1:]
    if [entry.msgid for entry in messages] != [value(message.texts.get("msgid")) for message in ours]:
        raise InputError(f"{file.name}: its messages cannot be distinguished; check it with msgfmt -c")
    for entry, message in zip(messages, ours, strict=True):
        values = dict(entry.msgstr_plural) if entry.msgid_plural else {0: entry.msgstr}
        if values != {number: value(literal) for number, literal in message.translations.items()}:
            raise InputError(
                f"{file.name}: the translation of {entry.msgid[:40]!r} cannot be read; check it with msgfmt"
            )
    return list(zip(messages, ours, strict=True)), dict(catalogue.metadata)


def _messages(file: TextFile) -> Iterator[_Message]:
    message = _Message()
    offset = 0
    while offset < len(file.text):
        statement = _STATEMENT.match(file.text, offset)
        if statement is None:
            offset = (file.text.find("\n", offset) + 1) or len(file.text)
            continue
        strings = []
        offset = end = start = statement.end()
        while string := _STRING.match(file.text, offset):
            strings.append(string[1])
            end = string.end(1) + 1
            offset = string.end()
        if not strings:
            raise InputError(f"{file.name}: {file.where(start)}: a string does not end on its line")
        beyond = [match[0] for string in strings for match in _ESCAPED.finditer(string) if _code(match) > 127]
        if beyond:
            raise InputError(f"{file.name}: {file.where(start)}: write the character itself for {beyond[0]}")
        if statement["word"] in ("msgctxt", "msgid") and message.translations:
            yield message
            message = _Message()
        if statement["word"] == "msgstr":
            message.translations[int(statement["number"] or 0)] = _Literal(start, end, strings)
        else:
            message.texts[statement["word"]] = _Literal(start, end, strings)
    if message.translations:
        yield message


def _check_length(file: TextFile) -> None:
    lines = 0
    for number, line in enumerate(file.text.split("\n"), 1):
        lines = lines + 1 if line.lstrip("#|~ \t").startswith('"') else 0
        if lines > MOST_LINES:
            raise InputError(f"{file.name}: line {number}: a string of more than {MOST_LINES:,} lines; divide it")


def _units(file: TextFile, flags: Sequence[str], message: _Message, form_of_one: "_FormOfOne") -> Iterator[Unit]:
    """Yields units of a message's forms: that of the number 1 translates the singular, others the plural."""
    singular, plural, translations = message.texts["msgid"], message.texts.get("msgid_plural"), message.translations
    rules, line_end = _Rules(families_for(flags)), "\r\n" if "\r\n" in file.text else "\n"
    context = message.texts.get("msgctxt")
    name = singular.value if context is None else f"{context.value}|{singular.value}"
    for number, translation in sorted(translations.items()):
        is_plural = plural is not None and (number != form_of_one.number or len(translations) == 1)
        if plural is not None and not is_plural and not form_of_one.is_alone:
            is_plural = rules.held(singular.value) != rules.held(plural.value)  # such as "one file" for 1, 21 and 31
        source = (plural if is_plural and plural else singular).value
        notes = ("plural form: see whether it fits all its numbers",) if is_plural and len(translations) > 2 else ()
        target = rules.segment(translation.value) if any(translation.strings) else None
        indent = translation.start - file.text.rfind("\n", 0, translation.start) - 1
        yield file.unit(
            translation.start,
            translation.end,
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
        """Returns a text with marks for what is held."""
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
        program = program_text(self.segment(source))
        return lambda text: with_literals(program(text), self.families, free)

    def held(self, text: str) -> list[str]:
        """Returns the held texts, in alphabetical order."""
        return sorted(mark.shown for mark in self.segment(text).marks if mark.is_held)

    def _parts(self, text: str) -> list[Part]:
        return mark_layout(hold(mark_tags([text]), str, self.families))


def _free(parts: Sequence[Part]) -> str:
    """Returns the text beside marks."""
    return "".join(part for part in parts if isinstance(part, str))


def _has_lone_apostrophe(parts: Sequence[Part]) -> bool:
    """Returns True if an apostrophe is not doubled, so that Java reads the characters after it as text."""
    return "'" in _free(parts).replace("''", "")


def _unescaped(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts with each doubled apostrophe as one, as people read it."""
    return [part if isinstance(part, Mark) else part.replace("''", "'") for part in parts]


def _with_apostrophes_apart(parts: Sequence[Part]) -> list[Part]:
    """Returns the parts with marks for apostrophes, so that nothing is moved across them."""
    pieces: list[Part] = []
    for part in parts:
        pieces += [part] if isinstance(part, Mark) else filter(None, re.split("('+)", part))
    return [p if isinstance(p, Mark) or "'" not in p else Mark(p, shown=" ", breaks=True) for p in pieces]


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
    """Writes a string as gettext's tools do: on one line if it fits and holds no other line, else line by line."""
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
    return re.sub(r'[\x00-\x1f\x7f"\\]', lambda match: written.get(match[0], f"\\{ord(match[0]):03o}"), text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: _ESCAPES.get(match[3], match[0]) if match[3] else chr(_code(match)), text)


def _code(escaped: re.Match[str]) -> int:
    """Returns the number of the character that an escape names by it; 0 for others."""
    return int(escaped[1], 8) if escaped[1] else int(escaped[2] or "0", 16)
