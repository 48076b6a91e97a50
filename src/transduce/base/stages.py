"""Stages of long work: a folder whose files come from certain inputs and settings, where one process works at a time.

Files get their names when they are complete, so a stage that was stopped makes only the missing ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import InputError, TransduceError
from transduce.base.files import check_absent, locked, remove, write_text
from transduce.base.verification import read_json

RECORD = ".transduce.json"
"""The file in a stage's folder that says what its files come from."""
INPUTS = "texts"
"""The key of the inputs in a record; all others are settings."""
MOST_BYTES = 1 << 28  # of a record: a hash for each input
LOCK = ".lock"


@dataclass(frozen=True)
class Stage:
    """A folder of files, and all that the files depend on."""

    folder: Path
    settings: Mapping[str, Any]
    """All that the files depend on except inputs; by names for people, of values that JSON can hold."""
    inputs: Sequence[tuple[str, str]] = ()
    """The name of each input, and a hash of its content."""
    advice: str = "choose another folder (out)"
    """The user's way out where the folder has files of another stage."""

    def is_begun(self) -> bool:
        """Returns True if the folder has files of this stage, some or all; hidden ones do not count.

        Raises InputError for files of another stage or of none, CheckpointError for a damaged record.
        """
        if not has_files(self.folder):
            return False
        path = self.folder / RECORD
        if not path.exists():
            raise InputError(f"{self.folder} holds other files; {self.advice}")
        record = read_json(path, dict[str, Any], self.advice, MOST_BYTES)
        before = record | record.get("others", {})  # where earlier versions keep some settings
        begun, known = f"{self.folder} was begun with other", before.get(INPUTS, [])
        if len(known) != len(self.inputs):
            raise InputError(f"{begun} texts; name the same to go on, or {self.advice}")
        for (_, content), (name, now) in zip(known, self.inputs, strict=True):
            if content != now:
                raise InputError(
                    f"{name}: the contents have changed since {self.folder} was begun; restore them, or {self.advice}"
                )
        settings = msgspec.json.decode(msgspec.json.encode(self.settings))
        if changed := [name for name in settings if before.get(name) != settings[name]]:
            raise InputError(f"{begun} {changed[0]}; use the same to go on, or {self.advice}")
        return True

    def record(self, folder: Path) -> None:
        """Writes what the files come from into a folder that is, or will be, the stage's."""
        inputs = {INPUTS: self.inputs} if self.inputs else {}
        write_text(folder / RECORD, msgspec.json.encode({**inputs, **self.settings}).decode())

    @contextmanager
    def begun(self) -> Iterator[bool]:
        """Makes the folder with its record, unless it is begun; gives `is_begun`. A mistake before any file is finished
        leaves no folder."""
        is_begun = self.is_begun()
        self.folder.mkdir(exist_ok=True)
        before = set(self.folder.iterdir())
        if not is_begun:
            self.record(self.folder)
        try:
            yield is_begun
        except TransduceError:
            if not has_files(self.folder):
                for path in set(self.folder.iterdir()) - before:
                    remove(path)
                with suppress(OSError):  # others' hidden files, or the lock
                    self.folder.rmdir()
            raise


@contextmanager
def alone_in(folder: Path, advice: str = "choose another folder (out)") -> Iterator[None]:
    """Makes a folder and locks it against other processes; where nothing is written into it, all is left as it was.

    Raises InputError if another process works there, or if there is a file in place of the folder.
    """
    if not folder.is_dir():
        check_absent(folder, advice)
    new = [each for each in (folder, *folder.parents) if not each.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(folder, wait=False))
        except BlockingIOError:
            raise InputError(f"another process is working in {folder}; wait until it has ended, or {advice}") from None
        try:
            yield
        finally:
            if [path.name for path in folder.iterdir()] == [LOCK]:
                (folder / LOCK).unlink()
                with suppress(OSError):  # another process may have put something there
                    for each in new:
                        each.rmdir()


def has_files(folder: Path) -> bool:
    """Returns True if a folder holds anything that is not hidden."""
    return folder.is_dir() and not all(path.name.startswith(".") for path in folder.iterdir())
