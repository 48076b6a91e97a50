"""Writes files and folders atomically: a crash, a kill or a full disk never leaves half of one."""

import errno
import hashlib
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, TypeVar

from transduce.base.errors import DataError, InputError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

T = TypeVar("T")
WINDOWS = sys.platform == "win32"
FAR = 2**31 - 2
"""The byte that Windows locks in place of a file, which others can read so; its function takes no larger number."""
DAMAGED = (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError)
"""Errors of reading what is missing, was damaged, or was written by another version."""
LOCK_SECONDS = 0.05
"""Seconds between two tries to lock a file on Windows."""


ABANDONED = 3600.0
"""Seconds without a write after which an unfinished folder counts as left by a process that was killed."""


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Makes a folder to fill, which is synced and becomes `path` when the block succeeds, replacing an older one; if it
    fails, nothing is left, nor any parent folder made for it."""
    with made_parents(path):
        building = unique_folder(path.parent, f".{path.name}-")
        old = building.with_name(f"{building.name}.old")
        try:
            yield building
            for file in building.rglob("*"):
                sync(file)
            sync(building)
            if path.exists():
                path.rename(old)  # removing it in place would leave half a folder there for a while
            building.rename(path)
            sync(path.parent)
            remove(old)
        finally:
            shutil.rmtree(building, ignore_errors=True)


def found_or_made(folder: Path, read: Callable[[Path], T | None], make: Callable[[Path], None]) -> T:
    """Returns what a folder of a cache holds, which is made by one process, while others that want it wait.

    `read` returns None, or raises one of DAMAGED, for a folder that is missing or damaged; then `make` fills a new one.
    Where the file system has no locks, several may make the same.

    Raises DataError if nothing is found in what was just made.
    """
    if (found := _read_whole(folder, read)) is not None:
        return found
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _lock_file(folder.with_name(f".{folder.name}.lock")) as file:
        is_locked = _lock_if_possible(file)
        if (found := _read_whole(folder, read)) is not None:  # another process has made it meanwhile
            return found
        for unfinished in folder.parent.glob(".*-????????"):  # by a process that was killed
            is_of_this = is_locked and unfinished.name.startswith(f".{folder.name}-")
            if is_of_this or _seconds_since_a_write(unfinished) > ABANDONED:
                remove(unfinished)
        with new_folder(folder) as new:
            make(new)
        found = _read_whole(folder, read)
    if found is None:
        raise DataError(f"{folder}: reading back what was just written failed; check the disk")
    return found


def _read_whole(folder: Path, read: Callable[[Path], T | None]) -> T | None:
    try:
        return read(folder)
    except DAMAGED:
        return None


def _lock_file(path: Path) -> IO[bytes]:
    """Opens a file to lock, also that of another user."""
    try:
        return path.open("wb")
    except PermissionError:
        return path.open("rb")


def _lock_if_possible(file: IO[bytes]) -> bool:
    """Waits for a lock; returns False where the file system has none."""
    try:
        lock(file, wait=True)
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS):
            raise
        return False
    return True


def _seconds_since_a_write(folder: Path) -> float:
    try:
        return time.time() - max(path.stat().st_mtime for path in (folder, *folder.iterdir()))
    except OSError:  # its process has just finished
        return 0.0


@contextmanager
def made_parents(path: Path) -> Iterator[None]:
    """Makes missing parent folders of a path; if the block fails, empty ones are removed again."""
    missing = [folder for folder in path.parents if not folder.exists()]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for folder in missing:
            with suppress(OSError):  # another process may have put something there
                folder.rmdir()
        raise


def check_absent(path: Path, advice: str = "choose another folder") -> None:
    """Raises InputError if a path exists, or if a dangling link or a file is in place of a parent folder."""
    if path.exists():
        raise InputError(f"{path} exists; remove it or {advice}")
    for ancestor in (path, *path.parents):
        if ancestor.is_dir():
            return
        if ancestor.is_symlink():
            raise InputError(
                f"{ancestor} is a link to {ancestor.readlink()}, which does not exist; remove it or {advice}"
            )
        if ancestor.exists():
            raise InputError(f"{ancestor} is not a folder; {advice}")


def remove(path: Path) -> None:
    """Removes a folder or a file, as far as the system allows; does nothing if it is missing."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def unique_folder(parent: Path, prefix: str) -> Path:
    """Makes a new folder with a unique name; the umask decides who may read it, whereas tempfile's are private."""
    folder = parent / f"{prefix}{uuid.uuid4().hex[:8]}"
    folder.mkdir()
    return folder


@contextmanager
def new_file(path: Path) -> Iterator[Path]:
    """Opens a file to write, which is synced and becomes `path` when the block succeeds, replacing an older one."""
    beside = path.with_name(f".{path.name}.new")
    try:
        yield beside
        sync(beside)
        beside.replace(path)
        sync(path.parent)
    finally:
        beside.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Writes a text file atomically."""
    with new_file(path) as new:
        new.write_text(text, encoding="utf-8", newline="\n")


def sha256(path: Path) -> str:
    """Returns the SHA-256 of a file, read in pieces."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def locked(folder: Path, wait: bool = True) -> Iterator[None]:
    """Locks a folder against other processes that lock it; BlockingIOError if it is locked and `wait` is False."""
    with (folder / ".lock").open("wb") as file:
        lock(file, wait)
        yield


def lock(file: IO[Any], wait: bool = False) -> None:
    """Locks an open file against other processes that lock it, until it is closed.

    Raises BlockingIOError if it is locked and `wait` is False, and OSError where the file system has no locks.
    """
    if not WINDOWS:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        return
    position = file.tell()
    file.seek(FAR)
    try:
        while not _try_lock(file.fileno()):
            if not wait:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
            time.sleep(LOCK_SECONDS)
    finally:
        file.seek(position)


def _try_lock(descriptor: int) -> bool:
    try:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
    except PermissionError:
        return False
    return True


def status(path: Path) -> os.stat_result | None:
    """Returns the system's facts about a file; None if there is none."""
    try:
        return path.stat()
    except OSError:
        return None


def sync(path: Path) -> None:
    """Waits until a file, or the names in a folder, are on the disk, as far as the system offers it."""
    is_folder = path.is_dir()
    if is_folder and WINDOWS:  # which opens no folders
        return
    descriptor = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)  # Windows syncs what is open for writing
    try:
        os.fsync(descriptor)
    except OSError as error:  # some network file systems sync no folders
        if not is_folder or error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def check_temporary_folder() -> None:
    """Raises InputError if no folder takes temporary files."""
    try:
        tempfile.gettempdir()
    except FileNotFoundError:
        raise InputError(
            "there is no folder for temporary files: neither TMPDIR nor /tmp takes any; free some space "
            "there, or set TMPDIR to a folder that does"
        ) from None
