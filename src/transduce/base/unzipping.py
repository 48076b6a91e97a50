"""Models in ZIP files, unpacked into a temporary folder while the program runs; nothing is written elsewhere."""

import atexit
import shutil
import stat
import tempfile
import threading
import zipfile
from pathlib import Path, PurePosixPath

from transduce.base.errors import CheckpointError

DENSEST, SMALL = 50, 2**26
"""Maximum ratio of a ZIP file's content to its size, if the content exceeds this many bytes: weights hardly
compress."""
MOST_FILES = 10_000
BESIDE = ("__MACOSX", ".DS_Store")
"""Names of files and folders that systems put beside a user's files."""

_unpacked: dict[tuple[Path, int, int], Path] = {}
_lock = threading.Lock()


def is_zipped(path: str | Path) -> bool:
    """Returns True if a file is a ZIP file, or is named as one: it should hold a model."""
    return Path(path).is_file() and (Path(path).suffix.lower() == ".zip" or zipfile.is_zipfile(path))


def unzipped(path: Path) -> Path:
    """Unpacks a ZIP file and returns the folder of its content, or, if all of it is in one folder there, that folder.

    Raises CheckpointError for content that is damaged, encrypted, too large for the limit or the disk, or outside its
    folder.
    """
    status = path.stat()
    key = (path.resolve(), status.st_mtime_ns, status.st_size)
    with _lock:
        if key not in _unpacked:
            _unpacked[key] = _unpack(path)
        return _unpacked[key]


def is_unzipped(folder: Path) -> bool:
    """Returns True if a folder is in the temporary one of a ZIP file, which goes with the program."""
    with _lock:
        return any(folder.is_relative_to(unpacked) for unpacked in _unpacked.values())


def _unpack(path: Path) -> Path:
    folder = Path(tempfile.mkdtemp(prefix="transduce-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
            _check(path, entries, shutil.disk_usage(folder).free)
            for entry in entries:
                archive.extract(entry, folder)
    except CheckpointError:
        raise
    except Exception as error:  # zipfile and zlib raise many kinds
        shutil.rmtree(folder, ignore_errors=True)
        raise CheckpointError(f"{path}: is no ZIP file of a model, or damaged ({str(error)[:80]})") from None
    while len(inner := [child for child in folder.iterdir() if child.name not in BESIDE]) == 1 and inner[0].is_dir():
        folder = inner[0]
    return folder


def _check(path: Path, entries: list[zipfile.ZipInfo], free: int) -> None:
    total = sum(entry.file_size for entry in entries)
    if len(entries) > MOST_FILES or (total > SMALL and total > DENSEST * path.stat().st_size):
        raise CheckpointError(f"{path}: would be {total:,} bytes in {len(entries):,} files, which no model is")
    if total > free:
        raise CheckpointError(f"{path}: would be {total:,} bytes, but {free:,} are free for temporary files (TMPDIR)")
    for entry in entries:
        name, mode = entry.filename, entry.external_attr >> 16
        if entry.flag_bits & 1:
            raise CheckpointError(f"{path}: is encrypted; save it without a password")
        if name.startswith("/") or ".." in PurePosixPath(name.replace("\\", "/")).parts:
            raise CheckpointError(f"{path}: {name[:80]!r} in it is a path outside of its folder")
        if stat.S_IFMT(mode) not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise CheckpointError(f"{path}: {name[:80]!r} in it is a link, which a model has not")
