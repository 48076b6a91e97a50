"""A document as segments, and their translations written into its own text, whose other characters stay."""

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from pathlib import Path
from typing import Any

from docsegments.orthography.characters import Span
from docsegments.segment import Segment
from docsegments.user_errors import InputError

MARKS_OF_ORDER = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

NO_CHARSETS = frozenset(["idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape", "utf-7"])
"""Python's codecs that no file is written in; some take very long for texts made to slow them down."""


@dataclass(frozen=True)
class Edit:
    """A replacement of characters by texts and pieces of the original text; other edits are made within pieces."""

    start: int
    end: int
    pieces: tuple[str | Span, ...]
    part: str = ""
    """Name of the edited file, in a document that is an archive."""


Write = Callable[[Segment], Sequence[Edit]]
"""The edits that put a translation of a segment into its document."""


@dataclass(frozen=True)
class Unit:
    """A segment of a document."""

    source: Segment
    write: Write
    where: str
    """Line, for a person to find it: `line 7`."""
    is_bilingual: bool = False
    """True if the document holds the translation beside the source; else the translation replaces the source."""
    target: Segment | None = None
    """The translation that the document has; None where it has none."""
    is_draft: bool = False
    """True if that translation is not finished: filling gaps then replaces it."""
    needs_review: bool = False
    """True if the document says that a person has still to look at that translation."""
    notes: tuple[str, ...] = ()
    """Notes for a person."""
    id: str = ""
    """The segment's name in the document, such as an XLIFF unit's id or a message's key; "" where it has none."""
    longest: int = 0
    """Most characters that the document allows in the translation; 0 where it does not say."""
    begins: bool = False
    """True for the first segment of a text that does not continue the one before it."""
    before: str = ""
    """Text of the segment before it where it was translated, as a translation memory knows it; "" where not."""


@dataclass(frozen=True)
class Untranslated:
    """A text that readers of the document see, and that stays in the source language."""

    where: str
    """Line, for a person to find it: `line 7`."""
    text: str
    reason: str
    """Reason for leaving the text."""


@dataclass(frozen=True)
class Document:
    """Units in the order of the document."""

    units: Sequence[Unit]
    save: Callable[[Sequence[Edit]], bytes]
    """The document's bytes with edits made, which do not overlap."""
    untranslated: Sequence[Untranslated] = ()
    """Texts that belong to no unit though they are shown, for the log to name."""

    def translated(self, translations: Sequence[Segment | None]) -> bytes:
        """Returns the document with a translation of each unit; None or an unchanged text leaves it as it is."""
        edits: list[Edit] = []
        for unit, translation in zip(self.units, translations, strict=True):
            if translation is not None and translation != (unit.target if unit.is_bilingual else unit.source):
                edits += unit.write(translation)
        return self.save(edits)


@dataclass(frozen=True)
class Languages:
    """Codes of the languages that a document is translated between; "" where one is not known."""

    source: str = ""
    target: str = ""


NO_LANGUAGES = Languages()


@dataclass(frozen=True)
class TextFile:
    """The characters of a file, and how they are written: encoding and byte order mark."""

    name: str
    text: str
    encoding: str = "utf-8"
    mark: bytes = b""
    errors: str = "strict"
    """Python's error handler for characters that the encoding lacks; "strict" raises an error."""
    part: str = ""
    """Name of the file in its archive, for edits."""

    @staticmethod
    def read(data: bytes, name: str, encoding: str | None = None) -> "TextFile":
        """Decodes a file by its byte order mark, else by the given encoding, else as UTF-8; InputError if that
        fails."""
        for mark, marked_encoding in MARKS_OF_ORDER:
            if data.startswith(mark):
                return TextFile(name, _decode(data[len(mark) :], name, marked_encoding), marked_encoding, mark)
        if encoding is not None:
            try:
                encoding = codecs.lookup(encoding).name
                "".encode(encoding)
                if encoding.replace("_", "-") in NO_CHARSETS:
                    raise LookupError
            except (LookupError, ValueError):
                raise InputError(f"{name}: unknown encoding {encoding[:40]!r}; convert the file to UTF-8") from None
        return TextFile(name, _decode(data, name, encoding or "utf-8"), encoding or "utf-8")

    def where(self, offset: int) -> str:
        """Returns the line of a character for a person to find it: `line 7`, in an archive with the file's name."""
        line = bisect_left(self._line_ends, offset) + 1
        return f"line {line} of {self.part}" if self.part else f"line {line}"

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.end() - 1 for match in re.finditer(r"\r\n|\r|\n", self.text)]

    @cached_property
    def line_end(self) -> str:
        """CR LF where every line of the file ends so, else LF."""
        return "\r\n" if "\r\n" in self.text and not re.search(r"(?<!\r)\n", self.text) else "\n"

    def edit(self, start: int, end: int, *pieces: str | Span) -> Edit:
        """Makes an edit of this file."""
        return Edit(start, end, pieces, self.part)

    def unit(
        self,
        start: int,
        end: int,
        source: Segment,
        encode: Callable[[str], str] = str,
        escape: Callable[[str], str] = str,
        where: str = "",
        **about: Any,
    ) -> Unit:
        """Makes a unit whose translation replaces some characters.

        Args:
            start: the first of the characters.
            end: the one after the last.
            source: the segment that the characters are.
            encode: writes the whole translation for the file.
            escape: writes its texts, beside marks, before the whole is encoded.
            where: the line for a person (default: that of the first character).
            about: other fields of the unit.
        """

        def write(segment: Segment) -> list[Edit]:
            return [self.edit(start, end, encode(segment.written(escape)))]

        return Unit(source, write, where or self.where(start), **about)

    def save(self, edits: Sequence[Edit], finish: Callable[[str], str] = str) -> bytes:
        """Returns the file with edits made, and then what a function makes of its text.

        An edit within another is made if a piece of that holds its characters.
        """
        ordered = sorted(edits, key=attrgetter("start", "end"))
        starts = [edit.start for edit in ordered]

        def text_of(piece: str | Span) -> str:
            return piece if isinstance(piece, str) else edited(*piece)

        def edited(start: int, end: int) -> str:
            pieces, done = [], start
            number = bisect_left(starts, start)
            while number < len(ordered) and starts[number] < end:
                after = bisect_right(starts, starts[number], number)
                widest = next((edit for edit in reversed(ordered[number:after]) if edit.end <= end), None)
                if widest is not None:
                    pieces += [self.text[done : widest.start], *map(text_of, widest.pieces)]
                    done = widest.end
                number = after if widest is None else bisect_left(starts, widest.end, after)
            return "".join([*pieces, self.text[done:end]])

        return self.encode(finish(edited(0, len(self.text) + 1)))

    def encode(self, text: str) -> bytes:
        """Encodes a text as the file is, with its byte order mark; InputError for what its encoding lacks."""
        try:
            return self.mark + text.encode(self.encoding, self.errors)
        except UnicodeEncodeError as error:
            raise InputError(
                f"{self.name}: its encoding, {self.encoding}, has no {error.object[error.start]!r}, which the "
                "translation needs; convert the file to UTF-8"
            ) from None


def bytes_of(path: str | Path) -> bytes:
    """Reads a file; InputError where it cannot be opened."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from None


def _decode(data: bytes, name: str, encoding: str) -> str:
    try:
        text = data.decode(encoding)
        if text.encode(encoding) == data:
            return text
    except UnicodeDecodeError as error:
        offset = error.start
        raise InputError(
            f"{name}: line {data.count(bytes([10]), 0, offset) + 1} is not {encoding.upper()} (byte "
            f"0x{data[offset]:02x}); name its encoding (encoding), or convert the file to UTF-8, for example with iconv"
        ) from None
    except ValueError:
        pass
    raise InputError(f"{name}: its {encoding} cannot be written back as it is; convert the file to UTF-8")
