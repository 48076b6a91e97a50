"""Files that are no documents to translate: what they are, by their endings or first bytes, and what to do instead."""

import codecs
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

PACKED = (".gz", ".xz", ".zst", ".bz2")
"""Endings of single files that are compressed; what is in them has its own ending before that."""


@dataclass(frozen=True)
class Refused:
    """Files that are not translated as they are."""

    what: str
    """For messages: `a PDF`."""
    endings: str
    """Separated by blanks."""
    advice: str
    """Advice: what to do instead."""
    has_lines: bool = False
    """True if files of this ending are text, whose lines can be translated as they are on request."""

    first_bytes: tuple[bytes, ...] = ()
    """Bytes that such files may begin with."""

    @staticmethod
    def read(line: str) -> "Refused":
        """Reads a line of the table."""
        what, endings, advice, lines, first_bytes = line.split("\t")
        return Refused(what, endings, advice, lines == "lines", tuple(map(bytes.fromhex, first_bytes.split())))


_TABLE = files(__package__).joinpath("refused.tsv").read_text("utf-8")
REFUSED = tuple(map(Refused.read, _TABLE.splitlines()[1:]))
"""All that people may hand over; files of endings in no table are translated line by line if they are text."""
_BY_ENDING = {ending: one for one in REFUSED for ending in one.endings.split()}
ARCHIVE = next(one for one in REFUSED if b"PK\3\4" in one.first_bytes)
OTHER = Refused("what is no text", "", "it holds zero bytes")
_MARKUP = Refused("XML or HTML", "", "give it the ending of its format, such as .html or .xlf", True)
_BEGINS_MARKUP = ("<?xml", "<!doctype", "<html", "<svg")
HEAD = 2**16
"""Bytes of a file that tell whether it is text."""


def ending_of(name: str) -> str:
    """The ending of a file's name, in small letters; where it is compressed, that of what is in it."""
    path = PurePath(name)
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def is_packed(name: str) -> bool:
    """Returns True if a file is compressed, by its ending."""
    return PurePath(name).suffix.lower() in PACKED


def refused_by_ending(name: str) -> Refused | None:
    """Reason to refuse a file by its ending; None for any other file."""
    return _BY_ENDING.get(ending_of(name))


def refused_by_content(data: bytes) -> Refused | None:
    """Reason to refuse data that is no text by its first bytes, or for a zero byte; None for text, UTF-16 too."""
    found = next((one for one in REFUSED if data.startswith(one.first_bytes)), None)
    if found is not None or not data:
        return found
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    return OTHER if b"\0" in data[:HEAD] and not is_wide else None


def refused_as_lines(data: bytes) -> Refused | None:
    """Reason to refuse data as lines, such as markup, by its first bytes; None for text."""
    start = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith(tuple(sign.encode() for sign in _BEGINS_MARKUP)):
        return _MARKUP
    return refused_by_content(data)
