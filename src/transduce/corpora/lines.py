"""Reads lines of text files, plain or compressed, one segment or one JSON object a line."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from transduce.base.errors import DataError
from transduce.corpora.compression import COMPRESSED, DAMAGED, open_compressed

DOCUMENTS = {
    ending: kind
    for kind, endings in {
        "subtitles": (".srt", ".vtt", ".ass", ".ssa", ".sbv"),
        "a catalogue of messages": (".po", ".pot"),
        "a translation memory": (".tmx",),
        "a file of translation units": (".xlf", ".xliff", ".sdlxliff"),
        "a page with markup": (".html", ".htm", ".xhtml", ".xml"),
        "a document": (".doc", ".docx", ".odt", ".rtf", ".pdf", ".epub", ".ppt", ".pptx", ".odp"),
        "a table of cells": (".xls", ".xlsx", ".ods"),
    }.items()
    for ending in endings
}
"""Names of the kinds of files whose lines are not their text, by ending."""


def open_bytes(path: str | Path) -> IO[bytes]:
    """Opens the decompressed bytes of a file (.gz, .xz, .zst, or plain); `-` is standard input."""
    if str(path) == "-":
        return sys.stdin.buffer
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder; expected a text file")
    if kind := DOCUMENTS.get(file_kind(path).lower()):
        raise DataError(f"{path}: {kind} is not supported; convert it to plain text with one segment per line")
    return open_compressed(path)


def read_lines(path: str | Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file without their ends: only \\n ends a line, a \\r before it goes, as does a mark
    at the file's beginning. Raises DataError with file and line for bytes that are not UTF-8."""
    with open_bytes(path) as stream:
        yield from lines_in(stream, path)


def lines_in(stream: Iterable[bytes], path: str | Path) -> Iterator[str]:
    """Yields the lines of an open file as `read_lines` does."""
    number = 0
    try:
        for number, line in enumerate(stream, 1):
            yield decode_line(line, number, path)
    except DAMAGED as error:
        raise DataError(f"{path}: damaged after line {number} ({error}); it may have been cut off") from None


def decode_line(line: bytes, number: int, path: str | Path) -> str:
    """Returns the text of a file's line, numbered from 1, as `read_lines` gives it."""
    try:
        text = line.decode("utf-8").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path}: line {number} is not UTF-8 (byte 0x{error.object[error.start]:02x} at position {error.start + 1})"
            "; convert the file, for example with iconv"
        ) from None
    if number > 1:
        return text
    if text.count("\0") > len(text) // 3:
        raise DataError(f"{path}: line 1 is not UTF-8 but UTF-16; convert the file, for example with iconv")
    return text.removeprefix("\ufeff")


def read_objects(
    path: str | Path, such: str = ', such as {"text": ..., "label": ...}', skips_blank: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the JSON objects of a file, one a line, with their line numbers; raises DataError, which says what is
    expected, for other lines."""
    for number, line in enumerate(read_lines(path), 1):
        if skips_blank and not line.strip():
            continue
        try:
            row = as_object(line, such)
        except ValueError as error:
            raise DataError(f"{path}: line {number} {error}") from None
        yield number, row


def as_object(line: str, such: str = "") -> dict[str, Any]:
    """Returns a line's JSON object; raises ValueError, whose text names the expected form, `such`."""
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise ValueError(f"is not JSON ({reason})") from None
    if not isinstance(row, dict):
        raise ValueError(f"is not a JSON object{such}")
    return row


def file_kind(path: str | Path) -> str:
    """Returns the last ending of a file's name, without that of its compression."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix not in COMPRESSED]
    return suffixes[-1] if suffixes else ""
