"""Arrays that the processes of a machine share: mapped from files, which the first process that needs them writes."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.base.files import locked, new_folder, remove

Arrays = Mapping[str, NDArray[np.integer]]
ARRAYS = "arrays"
UNUSED = 7 * 24 * 3600.0  # seconds after which arrays of another run are removed


@dataclass(frozen=True)
class SharedArrays:
    """A folder of arrays, named after all that they are made from."""

    folder: Path

    def get(self, name: str, make: Callable[[], Arrays], in_place_of: str | None = None) -> Arrays:
        """Returns arrays, which are made if no process has made them yet, while others that want them wait.

        Those of the name `in_place_of` are then removed; processes that map them still can read them.
        """
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):  # of this name alone: what is made may need others
            arrays = _read(folder / ARRAYS)
            if arrays is not None:
                return arrays
            _remove_unused(self.folder)
            made = make()
            with new_folder(folder / ARRAYS) as new:
                for key, array in made.items():
                    np.save(new / f"{key}.npy", array)
            if in_place_of is not None:
                remove(self.folder / in_place_of)
            return _read(folder / ARRAYS) or made


def _read(folder: Path) -> Arrays | None:
    try:
        return {file.stem: np.load(file, mmap_mode="r") for file in folder.glob("*.npy")} or None
    except (OSError, ValueError):
        return None


def _remove_unused(used: Path) -> None:
    for folder in used.parent.iterdir():
        if folder != used and time.time() - folder.stat().st_mtime > UNUSED:
            remove(folder)
