"""The table of document formats: their names, the endings of their files, and the functions that read them."""

import codecs
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from pathlib import PurePath
from typing import Literal

from docsegments.document import Document, Languages, TextFile
from docsegments.endings import (
    ARCHIVE,
    HEAD,
    OTHER,
    RefusedFiles,
    ending_of,
    is_packed,
    refused_by_content,
    refused_by_ending,
)
from docsegments.messages.tables import Columns
from docsegments.segment import depth
from docsegments.tagged_text import Tags, read_tagged
from docsegments.user_errors import InputError

DEEPEST = 200  # tags within each other in a segment

Read = Callable[..., Document]
"""A reader of documents: takes bytes, a name and languages; for CSV also columns."""


@dataclass(frozen=True)
class Format:
    """A line of the table."""

    title: str
    endings: tuple[str, ...]
    """Endings of its files; none for a format that must be asked for."""
    place: str
    """Module and name of its reader."""
    is_archive: bool = False
    """True if files of the format are ZIP archives, which no terminal shows."""

    @property
    def read(self) -> Read:
        """Reads a file's bytes; its name is for messages."""
        module, _, name = self.place.partition(":")
        read: Read = getattr(import_module(f"docsegments.{module}"), name)
        return read


FORMATS = {
    "text": Format("plain text in paragraphs", (), "plain:read_text"),
    "markdown": Format("Markdown", (".md", ".markdown", ".mdx", ".qmd", ".rmd"), "markdown.reader:read_markdown"),
    "html": Format("HTML", (".html", ".htm", ".xhtml"), "html.html_page:read_html"),
    "tmx": Format("TMX", (".tmx",), "messages.tmx:read_tmx"),
    "xliff": Format("XLIFF", (".xlf", ".xliff"), "messages.xliff:read_xliff"),
    "po": Format("gettext PO", (".po", ".pot"), "messages.po:read_po"),
    "srt": Format("SRT subtitles", (".srt",), "subtitles:read_srt"),
    "vtt": Format("WebVTT subtitles", (".vtt",), "subtitles:read_vtt"),
    "json": Format("JSON file of messages", (".json",), "messages.json_messages:read_json"),
    "arb": Format("ARB file of Flutter", (".arb",), "messages.json_messages:read_arb"),
    "xcstrings": Format("string catalogue of Xcode", (".xcstrings",), "messages.xcstrings:read_string_catalogue"),
    "yaml": Format("YAML file of messages", (".yaml", ".yml"), "messages.yaml_messages:read_yaml"),
    "properties": Format("file of Java's properties", (".properties",), "messages.properties:read_properties"),
    "strings": Format("file of Apple's strings", (".strings",), "messages.apple_strings:read_strings"),
    "android": Format("file of Android's strings", (".xml",), "messages.android:read_android"),
    "csv": Format("table (CSV, TSV)", (".csv", ".tsv"), "messages.tables:read_csv"),
    "pptx": Format("PowerPoint (PPTX)", (".pptx", ".pptm", ".ppsx", ".potx"), "office.pptx:read_pptx", is_archive=True),
    "xlsx": Format("Excel (XLSX)", (".xlsx", ".xlsm", ".xltx"), "office.xlsx:read_xlsx", is_archive=True),
    "odt": Format("OpenDocument text (ODT)", (".odt", ".ott"), "office.odt:read_odt", is_archive=True),
    "docx": Format("Word (DOCX)", (".docx", ".docm", ".dotx"), "office.docx:read_docx", is_archive=True),
}


def format_of(name: str) -> str | None:
    """Returns the format of a file by its name's ending; None for any other file."""
    ending = PurePath(name).suffix.lower()
    return next((kind for kind, format in FORMATS.items() if ending in format.endings), None)


def refusal_of(name: str) -> RefusedFiles | None:
    """Returns the reason to refuse a file that is neither a document nor lines, by its ending; None for others."""
    ending = ending_of(name)
    if is_packed(name) and (known := next((format for format in FORMATS.values() if ending in format.endings), None)):
        return RefusedFiles(f"compressed {known.title}", ending, "unpack it first")
    return refused_by_ending(name)


def read_document(
    data: bytes,
    name: str,
    languages: Languages | None = None,
    kind: str | None = None,
    encoding: str | None = None,
    columns: Columns | None = None,
) -> Document:
    """Reads a document of a format of the table.

    Args:
        data: its bytes.
        name: its file's name, for messages.
        languages: those to translate between.
        kind: the format, by its name in the table (default: that of the name's ending).
        encoding: the encoding of its characters (default: as the document says, else UTF-8).
        columns: which columns of a CSV file are translated.

    Raises InputError for other formats, and for what is damaged, in other languages, or not in the format it should be.
    """
    chosen = kind or format_of(name)
    if chosen not in FORMATS:
        if kind:
            raise InputError(f"{name}: no format '{kind}'; there are {', '.join(FORMATS)}")
        if (refused := refusal_of(name)) is not None:
            raise InputError(f"{name}: {refused.what} cannot be translated; {refused.advice}")
        endings = ", ".join(ending for format in FORMATS.values() for ending in format.endings)
        raise InputError(f"{name}: is of no format that can be translated as a document; there are {endings}")
    if columns is not None and chosen != "csv":
        raise InputError(f"{name}: only CSV has columns; leave them out (columns)")
    if not data.strip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0"):
        raise InputError(f"{name}: is empty")
    _check_content(data, name, FORMATS[chosen])
    read = FORMATS[chosen].read if columns is None else partial(FORMATS[chosen].read, columns=columns)
    if encoding is not None:
        read = _in_encoding(encoding, read)
    return _checked(read(data, name, languages or Languages()), name)


def read_marked_up(data: bytes, name: str, kind: Literal["xml", "html"], tags: Tags) -> Document:
    """Reads XML or HTML that is part of a request; of the settings, HTML knows the elements whose text stays.

    Raises InputError for what is not XML or HTML.
    """
    if kind == "xml":
        return _checked(read_tagged(data, name, tags), name)
    return _checked(FORMATS["html"].read(data, name, Languages(), held=tags.ignored), name)


def _checked(document: Document, name: str) -> Document:
    for unit in document.units:
        if depth(unit.source.marks) > DEEPEST:
            raise InputError(f"{name}: {unit.where}: more than {DEEPEST} tags in each other")
    return document


def _check_content(data: bytes, name: str, format: Format) -> None:
    """Raises InputError for data whose first bytes are of another format."""
    refused = refused_by_content(data[:HEAD])
    if refused is None or refused is OTHER or (format.is_archive and refused is ARCHIVE):
        return  # text, or a file that the format's own reader checks better
    raise InputError(f"{name}: is no {format.title} but {refused.what}; {refused.advice}")


def _in_encoding(encoding: str, read: Read) -> Read:
    """Returns a reader that decodes a file by a given encoding, not by the one that the file names."""

    def read_decoded(data: bytes, name: str, languages: Languages) -> Document:
        if data.startswith(b"PK\3\4"):
            raise InputError(f"{name}: is an archive, which has no encoding of its own; leave it out (encoding)")
        file = TextFile.read(data, name, encoding)
        document = read(codecs.BOM_UTF8 + file.text.encode(), name, languages)
        return replace(document, save=lambda edits: file.encode(document.save(edits).decode("utf-8-sig")))

    return read_decoded
