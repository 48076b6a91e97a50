"""The one table of documents: which formats there are, by the endings of files, and what reads each."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePath

from transduce.documents.document import Document, Languages, TextFile
from transduce.documents.segment import depth
from transduce.errors import InputError

DEEPEST = 200  # tags within each other in a segment

Read = Callable[[bytes, str, Languages], Document]


@dataclass(frozen=True)
class Format:
    """A line of the table."""

    title: str
    endings: tuple[str, ...]
    """By which files are taken for it; none for one that must be asked for."""
    place: str
    """Module and name of what reads it."""

    @property
    def read(self) -> Read:
        """Reads a file's bytes; its name is for messages."""
        module, _, name = self.place.partition(":")
        read: Read = getattr(import_module(f"transduce.documents.{module}"), name)
        return read


FORMATS = {
    "text": Format("plain text in paragraphs", (), "plain:read_text"),
    "markdown": Format("Markdown", (".md", ".markdown", ".mdx"), "markdown:read_markdown"),
    "html": Format("HTML", (".html", ".htm", ".xhtml"), "html:read_html"),
    "tmx": Format("TMX", (".tmx",), "tmx:read_tmx"),
    "xliff": Format("XLIFF", (".xlf", ".xliff"), "xliff:read_xliff"),
    "po": Format("gettext PO", (".po", ".pot"), "po:read_po"),
    "srt": Format("SRT subtitles", (".srt",), "subtitles:read_srt"),
    "vtt": Format("WebVTT subtitles", (".vtt",), "subtitles:read_vtt"),
    "docx": Format("Word (DOCX)", (".docx",), "docx:read_docx"),
}


def format_of(name: str) -> str | None:
    """The format of a file by its name's ending; None for any other file."""
    ending = PurePath(name).suffix.lower()
    return next((kind for kind, one in FORMATS.items() if ending in one.endings), None)


def read_document(
    data: bytes,
    name: str,
    languages: Languages | None = None,
    kind: str | None = None,
    encoding: str | None = None,
) -> Document:
    """Read a document of a format of the table.

    Args:
        data: its bytes.
        name: its file's name, for messages.
        languages: those to translate between.
        kind: the format, by its name in the table (default: that of the name's ending).
        encoding: the encoding of its characters (default: as the document says, else UTF-8).

    Raises InputError for other formats, and for what is damaged, in other languages, or not in the format it should be.
    """
    chosen = kind or format_of(name)
    if chosen not in FORMATS:
        endings = ", ".join(ending for one in FORMATS.values() for ending in one.endings)
        raise InputError(
            f"{name}: no format '{kind}'; there are {', '.join(FORMATS)}"
            if kind
            else f"{name}: is of no format that can be translated as a document; there are {endings}"
        )
    if not data.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0"):
        raise InputError(f"{name}: is empty")
    read = FORMATS[chosen].read if encoding is None else _in_encoding(encoding, FORMATS[chosen].read)
    document = read(data, name, languages or Languages())
    for unit in document.units:
        if depth(unit.source.marks) > DEEPEST:
            raise InputError(f"{name}: {unit.where}: more than {DEEPEST} tags in each other")
    return document


def _in_encoding(encoding: str, read: Read) -> Read:
    """The same for a file in an encoding that is given, whatever the file says."""

    def read_decoded(data: bytes, name: str, languages: Languages) -> Document:
        if data.startswith(b"PK\3\4"):
            raise InputError(f"{name}: is an archive, which has no encoding of its own; leave it out (encoding)")
        file = TextFile.read(data, name, encoding)
        document = read(codecs.BOM_UTF8 + file.text.encode(), name, languages)
        return replace(document, save=lambda edits: file.encode(document.save(edits).decode("utf-8-sig")))

    return read_decoded
