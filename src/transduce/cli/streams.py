"""Standard input as it arrives, files as they are, and output that is whole or not there."""

import queue
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TextIO

from transduce.errors import InputError
from transduce.inference.translator import LINES_AT_ONCE
from transduce.text.formats import read_lines


def lines_of(path: str) -> Iterator[list[str]]:
    """Lines in groups: of a file as many as are held at once; of standard input those that have arrived."""
    if path == "-":
        yield from _lines_arriving()
        return
    lines = read_lines(path)
    while group := list(islice(lines, LINES_AT_ONCE)):
        yield group


def _lines_arriving() -> Iterator[list[str]]:
    arrived: queue.Queue[str | BaseException | None] = queue.Queue(maxsize=LINES_AT_ONCE)

    def read() -> None:
        try:
            for line in read_lines("-"):
                arrived.put(line)
            arrived.put(None)
        except BaseException as error:  # handed to the main thread
            arrived.put(error)

    threading.Thread(target=read, daemon=True).start()
    while True:
        group = []
        while isinstance(item := arrived.get(), str):
            group.append(item)
            if arrived.empty() or len(group) == LINES_AT_ONCE:
                break
        if group:
            yield group
        if isinstance(item, BaseException):
            raise item
        if item is None:
            return


@contextmanager
def text_output(path: str) -> Iterator[TextIO]:
    """UTF-8 with \\n ends: standard output, or a new file that gets its name only when all is written."""
    if path == "-":
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
        yield sys.stdout
        return
    final = Path(path)
    if final.exists():
        raise InputError(f"{path} exists; remove it or choose another name")
    partial = final.with_name(f".{final.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        partial.replace(final)
    except FileNotFoundError:
        raise InputError(f"{path}: its folder does not exist") from None
    finally:
        partial.unlink(missing_ok=True)
