"""Edit rates of machine translations that people corrected, and files of past corrections."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import msgspec

from transduce.apps.projects.project import Project
from transduce.apps.projects.project_store import ConfirmedSegment
from transduce.base.errors import DataError, InputError
from transduce.corpora.lines import file_kind, read_lines, read_objects

COLUMNS = ("source", "machine", "target")


@dataclass(frozen=True)
class PastEdit:
    """A source, its machine translation, and what a person made of it."""

    source: str
    machine: str
    target: str


Edited = PastEdit | ConfirmedSegment


def read_edits(path: str | Path) -> list[PastEdit]:
    """Reads past edits from a project's folder, a .tsv of source, machine translation and edited text, or a .jsonl of
    objects with these under "source", "machine" and "target".

    Raises InputError for another kind of file, DataError, with the line, for one without three texts, and as
    `Project.open` does for a folder.
    """
    path = Path(path)
    if path.is_dir():
        with closing(Project.open(path)) as project:
            return [PastEdit(segment.source, segment.machine, segment.target) for segment in project.store.segments()]
    kind = file_kind(path).lower()
    if not path.is_file() or kind not in (".tsv", ".jsonl"):
        reason = (
            "no such file or folder" if not path.exists() else "past edits are in a project, or a .tsv or .jsonl file"
        )
        raise InputError(f"{path}: {reason}")
    edits = list(_of_objects(path) if kind == ".jsonl" else _of_table(path))
    if not edits:
        raise InputError(f"{path}: it has no edits")
    return edits


def content_of(edits: Iterable[Edited]) -> str:
    """Returns a hash of edits, in their order."""
    return hashlib.sha256(msgspec.json.encode([[e.source, e.machine, e.target] for e in edits])).hexdigest()


def _of_table(path: Path) -> Iterator[PastEdit]:
    for number, line in enumerate(read_lines(path), 1):
        cells = line.split("\t")
        if not line.strip():
            continue
        if len(cells) != len(COLUMNS):
            raise DataError(f"{path}: line {number} has {len(cells)} columns; expected {', '.join(COLUMNS)}")
        if number > 1 or tuple(cell.strip().lower() for cell in cells) != COLUMNS:
            yield PastEdit(*cells)


def _of_objects(path: Path) -> Iterator[PastEdit]:
    for number, row in read_objects(path, ' such as {"source": ..., "machine": ..., "target": ...}'):
        if missing := [name for name in COLUMNS if not isinstance(row.get(name), str)]:
            raise DataError(f"{path}: line {number} has no text under '{missing[0]}'; it has {', '.join(row)}")
        yield PastEdit(*(row[name] for name in COLUMNS))
