"""Writes text to standard output, or to a file that appears when it is complete; one process at a time."""

import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TextIO, cast

from transduce.apps.cli.failures import descriptor_of, is_closed
from transduce.base.errors import InputError
from transduce.base.files import WINDOWS, check_absent, lock, new_file, sync
from transduce.corpora.compression import PACKERS


@contextmanager
def text_output(path: str) -> Iterator[TextIO]:
    """Opens UTF-8 with \\n ends: standard output, a device or a pipe, or a new file that gets its name only when all is
    written, compressed if its name ends in .gz, .xz or .zst."""
    if not is_new_file(path):
        with open_stream(path) as stream:
            yield stream
        return
    with new_output(Path(path)) as file:
        text = io.TextIOWrapper(cast(IO[bytes], file), "utf-8", newline="\n", write_through=True)
        yield text  # kept by its name until the file is whole: it would close the file


def write_bytes(path: str, data: bytes) -> None:
    """Writes all bytes of an output, as `text_output` opens it."""
    if is_new_file(path):
        with new_output(Path(path)) as file:
            file.write(data)
    else:
        with open_stream(path) as stream:
            stream.buffer.write(data)
            stream.buffer.flush()


@contextmanager
def new_output(final: Path) -> Iterator[io.BufferedRandom]:
    """Opens a new file that gets its name, and is compressed by its ending, only when all is written."""
    with open_partial(final) as file:
        if not is_empty(file):
            raise InputError(f"{partial_of(final)} is left of an earlier command; remove it or choose another name")
        try:
            yield file
            publish(file, final)
        finally:
            remove_partial(file, final)


def is_new_file(path: str) -> bool:
    """Returns True for a path of a file or folder, or of nothing; False for standard output, /dev/null or a pipe."""
    file = Path(path)
    return path != "-" and (not file.exists() or file.is_file() or file.is_dir())


@contextmanager
def open_stream(path: str) -> Iterator[TextIO]:
    """Opens an output that is not a new file."""
    if path != "-":
        with Path(path).open("w", encoding="utf-8", newline="\n") as stream:
            yield stream
        return
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")  # type: ignore[union-attr]
    if (descriptor := descriptor_of(sys.stdout)) is not None and is_closed(descriptor):
        raise InputError("standard output is closed; name a file with -o")
    yield sys.stdout


def partial_of(final: Path) -> Path:
    """Returns the path of a file while it is written, before it gets its name."""
    return final.with_name(f"{final.name}.partial")


@contextmanager
def open_partial(final: Path) -> Iterator[io.BufferedRandom]:
    """Opens the file that `partial_of` names, existing or new, at its beginning and locked against other processes.

    Raises InputError if the final file exists, cannot be made, or is being written by another process.
    """
    check_new_file(final)
    partial = partial_of(final)
    try:
        file = os.fdopen(os.open(partial, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666), "r+b")
    except FileNotFoundError:
        raise InputError(f"{final}: its folder does not exist") from None
    except OSError as error:
        raise InputError(f"{final}: cannot be written ({error.strerror})") from None
    with file:
        if not _is_ours(file, partial):
            raise InputError(f"{final}: another process is writing it; wait for that one or choose another name")
        try:
            check_new_file(final)  # the process that was writing it may have come to its end just now
        except InputError:
            remove_partial(file, final)
            raise
        yield file


def is_empty(file: io.BufferedRandom) -> bool:
    """Returns True if nothing has been written to an open file."""
    return os.fstat(file.fileno()).st_size == 0


def publish(file: io.BufferedRandom, final: Path) -> None:
    """Renames the file that `open_partial` opened to its final name, compressed by its ending."""
    file.flush()
    sync(partial_of(final))
    check_new_file(final)
    if final.suffix not in PACKERS:
        _give_free(file)
        partial_of(final).rename(final)
        return
    file.seek(0)
    with new_file(final) as packed, packed.open("wb") as raw, PACKERS[final.suffix](raw) as stream:
        shutil.copyfileobj(file, stream)
    remove_partial(file, final)


def remove_partial(file: io.BufferedRandom, final: Path) -> None:
    """Removes the file that `open_partial` opened, if it is still there."""
    _give_free(file)
    partial_of(final).unlink(missing_ok=True)


def _give_free(file: io.BufferedRandom) -> None:
    """Closes a file where an open one cannot be renamed or removed; elsewhere it stays locked meanwhile."""
    if WINDOWS:
        file.close()


def check_new_file(final: Path) -> None:
    """Raises InputError if something is at the path of a file that is to be made."""
    if final.is_dir():
        raise InputError(f"{final} is a folder; expected the name of a file to write")
    check_absent(final, "choose another name")


def _is_ours(file: io.BufferedRandom, partial: Path) -> bool:
    """Locks the file until this process closes it; returns False if another process is writing it."""
    try:
        lock(file)
    except BlockingIOError:
        return False
    except OSError as error:  # some file systems know no locks
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
            raise
    try:
        return os.path.samestat(partial.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:  # that one has just ended
        return False
