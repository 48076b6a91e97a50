"""All that people said in a project, in one SQLite file: each call is on the disk when it returns.

Nothing is deleted, only taken back, so the revision of a project is a count. Each commit goes on into the file itself,
since SQLite leaves out silently what follows damage in a -wal file.
"""

import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import InputError, TransduceError
from transduce.base.files import status
from transduce.text.glossary import Entry

APPLICATION = 0x7464_7031
"""SQLite's application_id of a project's file ("tdp1")."""
VERSION = 2
"""2 knows the source before a segment; a file of version 1 gets that column when it is opened."""
PATIENCE = 2.0
"""Seconds for which a call waits while another process writes, and for another call before that."""
MOST_PAGES = 2**30 // 4096
"""The most pages of 4,096 bytes of a file."""
TABLES = """
create table segments (
    id integer primary key autoincrement, source text not null, machine text not null, target text not null,
    confirmed real not null, origin text not null, taken_back real, before text not null default ''
) strict;
create index segments_by_source on segments (source);
create index segments_taken_back on segments (taken_back) where taken_back is not null;
create table file_units (
    file text not null, unit text not null, target text not null, primary key (file, unit)
) strict, without rowid;
create table imported (source text primary key, target text not null) strict;
create table imports (number integer not null) strict;
insert into imports values (0);
create table terms (position integer primary key, entry text not null) strict;
create table events (id integer primary key autoincrement, kind text not null, at real not null, facts text not null)
strict;
"""
SEGMENT = "select id, source, machine, target, confirmed, origin, before from segments"


class StoreError(TransduceError):
    """A project's file cannot be read or written now, as when the disk is full."""


class UnknownSegmentError(TransduceError):
    """A segment is not in the project, or was taken back."""


@dataclass(frozen=True)
class ConfirmedSegment:
    """A translation that a person confirmed."""

    id: int
    """Number of the segment, from 1 in the order of confirmation."""
    source: str
    machine: str
    """Translation that the person was shown; "" if there was none, as for a segment that came in a file."""
    target: str
    confirmed: float
    """Seconds since 1970."""
    origin: str = "api"
    """Kind of the door that it came by: "api", or the format of a file, such as "po" or "tmx"."""
    before: str = ""
    """Source of the segment before it in its document; "" if there is none or it is not known."""


@dataclass(frozen=True)
class ProjectEvent:
    """Something that happened to a project, such as an update that was undone."""

    id: int
    kind: str
    at: float
    """Seconds since 1970."""
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class FileUnit:
    """A final unit of a translated file."""

    name: str
    """Name of the unit that stays when its translation changes."""
    source: str
    target: str
    before: str = ""
    """Source of the unit before it; "" if there is none or it is not known."""


class Store:
    """A project's SQLite file (WAL, synchronous=FULL); its methods may be called from several threads.

    Other processes may write the same file: reads see all that was committed.
    """

    def __init__(self, path: str | Path) -> None:
        """Opens a file that `create` made.

        Raises InputError for one that is missing, damaged, or no project's, StoreError if the system refuses.
        """
        self.path = Path(path)
        self._lock = threading.RLock()
        if not self.path.is_file():
            raise InputError(f"{self.path}: no such file; a project's folder holds one")
        beside = [path for path in _beside(self.path) if not path.exists()]
        try:
            self._database = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
            try:
                version = _check(self._database, self.path)
                _set_durable(self._database)
                if version < VERSION:
                    _upgrade(self._database)
                self._identity = _identity(self.path)
            except BaseException:
                self._database.close()
                raise
        except sqlite3.OperationalError as error:
            raise StoreError(f"{self.path} cannot be opened now ({error})") from None
        except sqlite3.DatabaseError as error:
            for new in beside:  # which SQLite leaves beside a damaged file
                new.unlink(missing_ok=True)
            raise InputError(f"{self.path} is damaged or no project's file ({error}); restore it from a copy") from None

    @classmethod
    def create(cls, path: str | Path) -> "Store":
        """Makes an empty file and opens it; InputError if there is one, StoreError if the system refuses."""
        path = Path(path)
        if path.exists():
            raise InputError(f"{path} exists; open it")
        try:
            with closing(sqlite3.connect(path, isolation_level=None)) as database:
                _set_durable(database)
                database.executescript(f"begin; {TABLES} commit;")
                database.execute(f"pragma application_id = {APPLICATION}")
                database.execute(f"pragma user_version = {VERSION}")
        except sqlite3.Error as error:
            raise StoreError(f"{path} cannot be made ({error})") from None
        return cls(path)

    @property
    def is_in_place(self) -> bool:
        """False if the file that is open was removed or replaced, as with a folder that was restored from a copy."""
        return self._identity == _identity(self.path)

    def close(self) -> None:
        """Closes the file; what was answered is on the disk already."""
        with self._lock:
            self._database.close()
            (own, *others), (there, *beside) = self._identity, _identity(self.path)
            for path, was, is_ in zip(_beside(self.path), others, beside, strict=True):
                if there != own and is_ == was:  # SQLite would read it with the file that has taken this one's place
                    path.unlink(missing_ok=True)

    def confirm(
        self, source: str, machine: str, target: str, origin: str = "api", before: str = ""
    ) -> ConfirmedSegment:
        """Adds a segment, with the source before it; InputError for a blank source or target, or text that is not
        Unicode."""
        check_segment(source, machine, target, before)
        with self._writing() as database:
            return _insert(database, source, machine, target, origin, before)

    def take_back(self, id: int) -> None:
        """Takes a segment back, as if it had never come; UnknownSegmentError if there is none."""
        with self._writing() as database:
            taken = database.execute(
                "update segments set taken_back = ? where id = ? and taken_back is null", (time.time(), _number(id))
            )
            if not taken.rowcount:
                raise UnknownSegmentError(f"there is no segment {id}; it may have been taken back already")

    def segments(self, after: int = 0, most: int | None = None) -> list[ConfirmedSegment]:
        """Returns the segments of later ids that were not taken back, in order; at most `most` if given."""
        limit = -1 if most is None else most
        query = f"{SEGMENT} where id > ? and taken_back is null order by id limit ?"
        return [ConfirmedSegment(*row) for row in self._read(query, (_number(after), limit))]

    def revision(self) -> int:
        """Counts changes: each segment confirmed, and each taken back."""
        query = "select ifnull(max(id), 0) + (select count(*) from segments where taken_back is not null) from segments"
        return int(self._read(query)[0][0])

    def count(self) -> int:
        """Counts the segments that were not taken back."""
        query = "select ifnull(max(id), 0) - (select count(*) from segments where taken_back is not null) from segments"
        return int(self._read(query)[0][0])

    def taken_back(self) -> int:
        """Counts the segments that were taken back."""
        return int(self._read("select count(*) from segments where taken_back is not null")[0][0])

    def confirm_units(self, file: str, units: Sequence[FileUnit], origin: str) -> list[ConfirmedSegment]:
        """Adds segments for those units of a file that are new or changed since the file was last given.

        A new unit whose pair is confirmed already, and a changed one whose translation is the newest of its source,
        add nothing. All are added, or none. InputError as `confirm` raises it.
        """
        for unit in units:
            check_segment(unit.source, "", unit.target, unit.before)
        added = []
        with self._writing() as database:
            known = dict(database.execute("select unit, target from file_units where file = ?", (file,)).fetchall())
            for unit in units:
                before = known.get(unit.name)
                if before == unit.target:
                    continue
                known[unit.name] = unit.target
                database.execute("insert or replace into file_units values (?, ?, ?)", (file, unit.name, unit.target))
                query = "select target from segments where source = ? and taken_back is null order by id desc"
                targets = [target for (target,) in database.execute(query, (unit.source,))]
                if unit.target not in (targets if before is None else targets[:1]):
                    added.append(_insert(database, unit.source, "", unit.target, origin, unit.before))
        return added

    def terms(self) -> list[Entry]:
        """Returns the entries of the project's glossary, in their order."""
        rows = self._read("select entry from terms order by position")
        return [msgspec.json.decode(entry, type=Entry) for (entry,) in rows]

    def replace_terms(self, entries: Sequence[Entry]) -> None:
        """Replaces the project's glossary."""
        rows = [(msgspec.json.encode(entry).decode(),) for entry in entries]
        with self._writing() as database:
            database.execute("delete from terms")
            database.executemany("insert into terms (entry) values (?)", rows)

    def imported(self) -> list[tuple[str, str]]:
        """Returns the pairs of the translation memory that was given to the project."""
        return [(source, target) for source, target in self._read("select source, target from imported order by rowid")]

    def replace_imported(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Replaces the translation memory that was given to the project; of a source's pairs, the last stays."""
        with self._writing() as database:
            database.execute("delete from imported")
            database.executemany("insert or replace into imported values (?, ?)", pairs)
            database.execute("update imports set number = number + 1")

    def imports(self) -> int:
        """Counts how often the translation memory was replaced."""
        return int(self._read("select number from imports")[0][0])

    def log(self, kind: str, facts: Mapping[str, Any]) -> None:
        """Adds an event to the project's log, with facts that JSON can hold."""
        with self._writing() as database:
            database.execute(
                "insert into events (kind, at, facts) values (?, ?, ?)",
                (kind, time.time(), msgspec.json.encode(facts).decode()),
            )

    def events(self, after: int = 0, last: int | None = None) -> list[ProjectEvent]:
        """Returns the events of later ids, in order; only the `last` ones if given."""
        query = (
            "select * from (select id, kind, at, facts from events where id > ? order by id desc limit ?) order by id"
        )
        rows = self._read(query, (_number(after), -1 if last is None else last))
        return [ProjectEvent(id, kind, at, msgspec.json.decode(facts)) for id, kind, at, facts in rows]

    def _read(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._refusals():
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Opens a transaction, which is on the disk when the block succeeds, and undone if it fails.

        Raises StoreError also where it is in a file that nobody will read again.
        """
        with self._refusals():
            self._database.execute("begin immediate")
            try:
                yield self._database
                self._database.execute("commit")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("rollback")
                raise
            if not self.is_in_place:
                raise StoreError(f"{self.path} was removed or replaced while it was open; send this again")

    @contextmanager
    def _refusals(self) -> Iterator[None]:
        """Has the file to itself within this process; raises StoreError where others have it for too long."""
        if not self._lock.acquire(timeout=PATIENCE):
            raise StoreError(f"{self.path} cannot be used now (other calls wait for it)")
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.path} cannot be used now ({error})") from None
        finally:
            self._lock.release()


def check_segment(source: str, machine: str, target: str, before: str = "") -> None:
    """Raises InputError for a segment that cannot be confirmed: blank, or with half a character."""
    for name, text in (("source", source), ("target", target)):
        if not text.strip():
            raise InputError(f"a segment's {name} is blank; a confirmed segment has a source and a target")
    try:
        f"{source}{machine}{target}{before}".encode()
    except UnicodeEncodeError:
        raise InputError("a segment holds half of a surrogate pair, which is no character") from None


def _set_durable(database: sqlite3.Connection) -> None:
    """Lets each transaction wait until it is on the disk, in the file itself: of a damaged -wal file, SQLite leaves out
    the rest without an error."""
    database.execute("pragma journal_mode = wal")
    database.execute("pragma synchronous = full")
    database.execute("pragma wal_autocheckpoint = 1")
    database.execute(f"pragma max_page_count = {MOST_PAGES}")


def _beside(path: Path) -> list[Path]:
    """Returns the files that SQLite keeps beside an open one."""
    return [path.with_name(path.name + ending) for ending in ("-wal", "-shm")]


def _identity(path: Path) -> list[tuple[int, int] | None]:
    """Returns which files have the names of a store's: devices and numbers, None for one that is missing."""
    files = [path, *_beside(path)]
    return [(found.st_dev, found.st_ino) if (found := status(file)) else None for file in files]


def _check(database: sqlite3.Connection, path: Path) -> int:
    """Returns a file's version; InputError for another program's file, or a newer version's; sqlite3.Error for a
    damaged one."""
    (application,) = database.execute("pragma application_id").fetchone()
    (version,) = database.execute("pragma user_version").fetchone()
    if application != APPLICATION:
        raise InputError(f"{path} is no project's file: it is empty or another program's; restore it from a copy")
    if version > VERSION:
        raise InputError(f"{path} is of version {version}; this program reads versions up to {VERSION}; update it")
    (state,) = database.execute("pragma quick_check(1)").fetchone()
    if state != "ok":
        raise sqlite3.DatabaseError(state.splitlines()[-1])
    return int(version)


def _upgrade(database: sqlite3.Connection) -> None:
    """Makes a file of version 1 one of this version, unless another process has."""
    database.execute("begin immediate")
    if database.execute("pragma user_version").fetchone() == (1,):
        database.execute("alter table segments add column before text not null default ''")
        database.execute(f"pragma user_version = {VERSION}")
    database.execute("commit")


def _insert(
    database: sqlite3.Connection, source: str, machine: str, target: str, origin: str, before: str
) -> ConfirmedSegment:
    row = (source, machine, target, time.time(), origin, before)
    cursor = database.execute(
        "insert into segments (source, machine, target, confirmed, origin, before) values (?, ?, ?, ?, ?, ?)", row
    )
    assert cursor.lastrowid is not None
    return ConfirmedSegment(cursor.lastrowid, *row)


def _number(value: int) -> int:
    """Returns an id as SQLite can hold it; larger ones are those of no segment."""
    return max(-1, min(value, 2**62))
