"""Files that are not documents to translate, by their endings or first bytes, with advice on what to do instead."""

import codecs
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import PurePath

PACKED = (".gz", ".xz", ".zst", ".bz2")
"""Endings of single compressed files; the ending before it is that of the content."""


@dataclass(frozen=True)
class RefusedFiles:
    """Files that are not translated as they are."""

    what: str
    """Kind of file, for messages: `a PDF`."""
    endings: str
    """Endings, separated by blanks."""
    advice: str
    """Advice on what to do instead."""
    has_lines: bool = False
    """True if files of this ending are text, whose lines can be translated as they are on request."""

    first_bytes: tuple[bytes, ...] = ()
    """Bytes that such files may begin with."""

    @staticmethod
    def read(line: str) -> "RefusedFiles":
        """Reads a line of the table."""
        what, endings, advice, lines, first_bytes = line.split("\t")
        return RefusedFiles(what, endings, advice, lines == "lines", tuple(map(bytes.fromhex, first_bytes.split())))


_TABLE = files(__package__).joinpath("refused.tsv").read_text("utf-8")
REFUSED = tuple(map(RefusedFiles.read, _TABLE.splitlines()[1:]))
"""All refused kinds of files; text files of other endings are translated line by line."""
_BY_ENDING = {ending: kind for kind in REFUSED for ending in kind.endings.split()}
ARCHIVE = next(kind for kind in REFUSED if b"PK\3\4" in kind.first_bytes)
OTHER = RefusedFiles("what is no text", "", "it holds zero bytes")
_MARKUP = RefusedFiles("XML or HTML", "", "give it the ending of its format, such as .html or .xlf", True)
_CODE = RefusedFiles(
    "what looks like code or data",
    "",
    "take its texts out, one a line, into a .txt file; such a file is never taken for code",
    True,
)
_LINES = files(__package__).joinpath("code_lines.tsv").read_text("utf-8").splitlines()[1:]
_CODE_LINE = re.compile("|".join(f"(?:{line.partition(chr(9))[2]})" for line in _LINES))
"""A line, without blanks about it, that is not text for people."""
MOST_CODE = 0.2
"""Largest share of such lines in a text."""
_BEGINS_MARKUP = ("<?xml", "<!doctype", "<html", "<svg")
HEAD = 2**16
"""Bytes at the beginning of a file that decide whether it is text."""


def ending_of(name: str) -> str:
    """Returns the ending of a file's name in small letters; of a compressed file, that of its content."""
    path = PurePath(name)
    if path.suffix.lower() in PACKED:
        path = path.with_suffix("")
    return path.suffix.lower()


def is_packed(name: str) -> bool:
    """Returns True if a file is compressed, by its ending."""
    return PurePath(name).suffix.lower() in PACKED


def refused_by_ending(name: str) -> RefusedFiles | None:
    """Returns the reason to refuse a file by its ending; None for any other file."""
    return _BY_ENDING.get(ending_of(name))


def refused_by_content(data: bytes) -> RefusedFiles | None:
    """Returns the reason to refuse data that is not text by its first bytes or a zero byte; None for text."""
    refused = next((kind for kind in REFUSED if data.startswith(kind.first_bytes)), None)
    if refused is not None or not data:
        return refused
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE))
    return OTHER if b"\0" in data[:HEAD] and not is_wide else None


def refused_as_lines(data: bytes, name: str = "") -> RefusedFiles | None:
    """Returns the reason to refuse data as lines: it is markup, code or no text at all; None for text.

    A file whose name ends in `.txt` is text, whatever its lines look like.
    """
    start = data[:200].removeprefix(codecs.BOM_UTF8).lstrip().lower()
    if start.startswith(tuple(sign.encode() for sign in _BEGINS_MARKUP)):
        return _MARKUP
    lines = list(filter(None, map(str.strip, data.decode(errors="replace").splitlines())))
    if ending_of(name) != ".txt" and sum(_CODE_LINE.fullmatch(line) is not None for line in lines) > MOST_CODE * len(
        lines
    ):
        return _CODE
    return refused_by_content(data)
