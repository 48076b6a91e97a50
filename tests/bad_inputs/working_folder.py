"""A copy of a folder that is put back after each use: of what was touched only, a tenth of the work of a new copy."""

import os
import shutil
import stat
from collections.abc import Container, Iterator
from pathlib import Path


class WorkingFolder:
    """The copy; what a file may not show that is written to it, its time of change does."""

    def __init__(self, original: Path, path: Path) -> None:
        self.path = path
        self._original = original
        self._make()

    def restore(self) -> None:
        """Copies again each of its files and folders in which anything is not as it was."""
        try:
            touched = {_top(name) for name, _ in _facts(self.path).items() ^ self._untouched.items()}
            for name in touched:
                _remove(self.path / name)
                if os.path.lexists(self._original / name):
                    _copy(self._original / name, self.path / name)
            kept = {name: facts for name, facts in self._untouched.items() if _top(name) not in touched}
            self._untouched = kept | _facts(self.path, touched)
        except OSError:  # the folder itself is gone, or something in it cannot be removed
            self.path.rename(self.path.with_name(f"{self.path.name}-{os.urandom(4).hex()}"))
            self._make()

    def _make(self) -> None:
        shutil.copytree(self._original, self.path, symlinks=True)
        self._untouched = _facts(self.path)


def states(folder: Path, chosen: Container[str] | None = None) -> Iterator[tuple[str, os.stat_result]]:
    """The paths of all that is in a folder, or of some of it with what they hold, relative to it, and their states."""
    folders = [""]
    while folders:
        inside = folders.pop()
        with os.scandir(folder / inside) as entries:
            for entry in entries:
                if chosen is not None and not inside and entry.name not in chosen:
                    continue
                name = os.path.join(inside, entry.name)  # noqa: PTH118 - for speed
                yield name, entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    folders.append(name)


def _top(name: str) -> str:
    """Returns the first folder or file of a relative path."""
    return name.partition(os.sep)[0]


def _facts(folder: Path, chosen: Container[str] | None = None) -> dict[str, tuple[int, ...]]:
    """All that changes when a file does; of folders, which change with what is in them, only what they are."""
    return {
        name: (state.st_mode, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        if not stat.S_ISDIR(state.st_mode)
        else (state.st_mode, state.st_ino)
        for name, state in states(folder, chosen)
    }


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _copy(source: Path, target: Path) -> None:
    """With its times, which lie in the past, so that any change has another."""
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
