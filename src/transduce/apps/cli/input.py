"""Reads text: standard input as it arrives, files as they are."""

import errno
import os
import select
import sys
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from docsegments.endings import refused_by_content
from transduce.apps.cli.failures import descriptor_of
from transduce.base.errors import InputError
from transduce.base.files import WINDOWS
from transduce.corpora.lines import decode_line, read_lines
from transduce.inference.translator import LINES_AT_ONCE

BLOCK = 2**16  # bytes, as many as a pipe holds
MORE_IS_NEAR = 0.05  # seconds to wait for more after a full block


def lines_of(path: str) -> Iterator[list[str]]:
    """Yields lines in groups: from a file up to LINES_AT_ONCE; from standard input those that have arrived."""
    if path == "-" and (descriptor := descriptor_of(sys.stdin)) is not None:
        yield from _lines_arriving(descriptor)
        return
    lines = read_lines(path)
    while group := list(islice(lines, LINES_AT_ONCE)):
        yield group


def count_lines(path: str) -> int | None:
    """Counts and checks the lines of a file; returns None for a stream, which can be read only once."""
    return sum(1 for _ in read_lines(path)) if Path(path).is_file() else None


def read_input(path: str) -> bytes:
    """Reads all bytes of a file, or of standard input."""
    try:
        if path != "-":
            return Path(path).read_bytes()
        descriptor = descriptor_of(sys.stdin)
        return (
            sys.stdin.buffer.read() if descriptor is None else b"".join(iter(lambda: os.read(descriptor, BLOCK), b""))
        )
    except IsADirectoryError:
        raise InputError(f"{path} is a folder; expected a document") from None
    except OSError as error:
        if error.errno == errno.EBADF:
            raise InputError("standard input is closed; give a file, or pipe text to it") from None
        raise InputError(f"{path}: cannot be opened ({error.strerror})") from None


def check_read_once(**names: str | list[str] | None) -> None:
    """Raises InputError if more than one of these names, by their uses, is `-`, standard input."""
    given = [(use, name) for use, one in names.items() for name in (one if isinstance(one, list) else [one])]
    uses = [use for use, name in given if name == "-"]
    if len(uses) > 1:
        raise InputError(f"{' and '.join(uses)} are both -, but standard input can be read only once; name a file")


def _lines_arriving(descriptor: int) -> Iterator[list[str]]:
    arriving = _Arriving(descriptor)
    number = 0
    for line in arriving:
        group = [_decoded(line, number := number + 1)]
        while len(group) < LINES_AT_ONCE and arriving.is_ready():
            group.append(_decoded(next(arriving), number := number + 1))
        yield group


def _decoded(line: bytes, number: int) -> str:
    """Decodes a line; InputError for one that is not text, or begins a document of another format."""
    refused = refused_by_content(line) if number == 1 or b"\0" in line else None
    if refused is not None:
        raise InputError(
            f"-: line {number}: {refused.what} cannot be translated line by line; {refused.advice}, or name its format "
            "with --format"
        )
    return decode_line(line, number, "-")


class _Arriving:
    """Lines as bytes, read without a thread, which would delay Ctrl-C and the end of the program."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lines: deque[bytes] = deque()
        self._begun: list[bytes] = []  # of a line whose end has not arrived
        self._has_ended = False

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        while not self._lines:
            if self._has_ended:
                raise StopIteration
            self._read()
        return self._lines.popleft()

    def is_ready(self) -> bool:
        """Returns True if another line has arrived."""
        if WINDOWS:  # which can wait for sockets alone
            return bool(self._lines)
        wait = 0.0
        while not self._lines and not self._has_ended and select.select([self._descriptor], [], [], wait)[0]:
            wait = MORE_IS_NEAR if self._read() == BLOCK else 0.0
        return bool(self._lines)

    def _read(self) -> int:
        """Waits for bytes, and returns their number."""
        try:
            block = os.read(self._descriptor, BLOCK)
        except BlockingIOError:  # another program has left it in non-blocking mode
            select.select([self._descriptor], [], [])
            return 0
        except OSError as error:
            if error.errno != errno.EBADF:
                raise
            raise InputError("standard input is closed; give a file, or pipe text to it") from None
        first, *others = block.split(b"\n")
        self._begun.append(first)
        for other in others:
            self._lines.append(b"".join(self._begun))
            self._begun = [other]
        if not block:
            self._has_ended = True
            if last := b"".join(self._begun):
                self._lines.append(last)
        return len(block)
