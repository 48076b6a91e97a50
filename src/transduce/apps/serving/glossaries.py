"""Clients' glossaries, in an SQLite file: every change is durable when its call returns."""

import re
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

from docsegments.messages.tables import rows_in_direction, rows_of
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.text.glossary import Entry, Glossary

MOST_BYTES_OF_TEXT = 1024
"""The most bytes of a term, and of a glossary's name."""
MOST_ENTRIES = 10_000
"""The most entries of a dictionary."""
MOST_GLOSSARIES = 1000
"""The most glossaries of one owner."""
MOST_BYTES = 64 * 2**20
"""The most bytes of all dictionaries of one owner."""
PATIENCE = 10.0
"""Seconds to wait for another program that has locked the file."""
REMEMBERED = 8
"""The number of glossaries whose entries stay in memory."""
APPLICATION = 0x74644731
"""SQLite's number for the kind of the file."""
VERSION = 1
TABLES = f"""
create table glossaries (
    id text primary key, owner text not null, name text not null, created text not null
) strict;
create table dictionaries (
    glossary text not null references glossaries (id) on delete cascade,
    source text not null, target text not null, entries text not null, count integer not null,
    primary key (glossary, source, target)
) strict;
create index owners on glossaries (owner);
pragma application_id = {APPLICATION};
pragma user_version = {VERSION};
"""

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

Pair = tuple[str, str]
"""The languages of a dictionary, by lower-case codes without regions: source and target."""


@dataclass(frozen=True)
class GlossaryInfo:
    """A glossary without its entries."""

    id: str
    name: str
    created: str
    """The time of its making, in UTC: 2026-11-26T12:00:00.000Z."""
    dictionaries: Mapping[Pair, int]
    """The number of entries of each dictionary."""


class Glossaries:
    """The glossaries in a file; an owner sees its own only."""

    def __init__(self, path: str | Path) -> None:
        """Opens a file, or makes one; InputError for another kind of file, or one that cannot be used."""
        self.path = Path(path)
        with self._open() as database:
            if (
                _number(database, "application_id") == 0
                and not database.execute("select 1 from sqlite_master").fetchone()
            ):
                database.executescript(f"begin immediate; {TABLES} commit;")
            kind, version = _number(database, "application_id"), _number(database, "user_version")
            if kind != APPLICATION:
                raise InputError(f"{self.path} is an SQLite file of something else; name another file (glossaries)")
            if version != VERSION:
                raise InputError(f"{self.path}: version {version} of glossaries is not known; expected {VERSION}")
            if (damage := database.execute("pragma quick_check(1)").fetchone()[0]) != "ok":
                raise InputError(f"{self.path} is damaged ({damage[:80]}); restore it from a backup")

    def create(self, owner: str, name: str, dictionaries: Mapping[Pair, str]) -> GlossaryInfo:
        """Makes a glossary of dictionaries, as `tsv_of` writes them; RefusedError (400, 413) for a bad or large one."""
        id, created = str(uuid.uuid4()), datetime.now(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"
        with self._open() as database:
            database.execute("begin immediate")
            (number,) = database.execute("select count(*) from glossaries where owner = ?", (owner,)).fetchone()
            if number >= MOST_GLOSSARIES:
                raise RefusedError(400, f"There are {number:,} glossaries already; delete one")
            database.execute("insert into glossaries values (?, ?, ?, ?)", (id, owner, checked_name(name), created))
            for pair, entries in dictionaries.items():
                self._put(database, owner, id, pair, entries)
            return self._info(database, owner, id)

    def list(self, owner: str) -> list[GlossaryInfo]:
        """Returns an owner's glossaries, the oldest first."""
        with self._open() as database:
            ids = database.execute("select id from glossaries where owner = ? order by created, rowid", (owner,))
            return [self._info(database, owner, id) for (id,) in ids.fetchall()]

    def info(self, owner: str, id: str) -> GlossaryInfo:
        """Returns a glossary; RefusedError (404) if the owner has none with this id."""
        with self._open() as database:
            return self._info(database, owner, id)

    def entries(self, owner: str, id: str, pair: Pair) -> str:
        """Returns the entries of a dictionary as TSV; RefusedError (404) without it."""
        with self._open() as database:
            self._info(database, owner, id)
            row = self._entries(database, id, pair)
        if row is None:
            raise RefusedError(404, f"The glossary has no dictionary for {pair[0]} to {pair[1]}")
        return row

    def change(
        self, owner: str, id: str, name: str | None, dictionaries: Mapping[Pair, str], replaces: bool = False
    ) -> GlossaryInfo:
        """Renames a glossary, and adds entries to its dictionaries, or replaces those that they have."""
        with self._open() as database:
            database.execute("begin immediate")
            self._info(database, owner, id)
            if name is not None:
                database.execute("update glossaries set name = ? where id = ?", (checked_name(name), id))
            for pair, entries in dictionaries.items():
                before = None if replaces else self._entries(database, id, pair)
                merged = entries if before is None else tsv_of(dict(pairs_of(before)) | dict(pairs_of(entries)))
                self._put(database, owner, id, pair, merged)
            return self._info(database, owner, id)

    def delete(self, owner: str, id: str, pair: Pair | None = None) -> None:
        """Deletes a glossary, or one of its dictionaries; RefusedError (404) without it."""
        with self._open() as database:
            info = self._info(database, owner, id)
            if pair is None:
                database.execute("delete from glossaries where id = ?", (id,))
            elif pair in info.dictionaries:
                database.execute(
                    "delete from dictionaries where glossary = ? and source = ? and target = ?", (id, *pair)
                )
            else:
                raise RefusedError(404, f"The glossary has no dictionary for {pair[0]} to {pair[1]}")

    def _info(self, database: sqlite3.Connection, owner: str, id: str) -> GlossaryInfo:
        row = database.execute(
            "select name, created from glossaries where id = ? and owner = ?", (id, owner)
        ).fetchone()
        if row is None:
            raise RefusedError(404, "Glossary not found")
        rows = database.execute(
            "select source, target, count from dictionaries where glossary = ? order by rowid", (id,)
        ).fetchall()
        return GlossaryInfo(id, row[0], row[1], {(source, target): count for source, target, count in rows})

    def _entries(self, database: sqlite3.Connection, id: str, pair: Pair) -> str | None:
        row = database.execute(
            "select entries from dictionaries where glossary = ? and source = ? and target = ?", (id, *pair)
        ).fetchone()
        return None if row is None else str(row[0])

    def _put(self, database: sqlite3.Connection, owner: str, id: str, pair: Pair, entries: str) -> None:
        count = len(pairs_of(entries))
        if count > MOST_ENTRIES:
            raise RefusedError(413, f"The dictionary has {count:,} entries, but at most {MOST_ENTRIES:,} are taken")
        database.execute("insert or replace into dictionaries values (?, ?, ?, ?, ?)", (id, *pair, entries, count))
        (size,) = database.execute(
            "select coalesce(sum(length(cast(entries as blob))), 0) from dictionaries join glossaries on id = glossary "
            "where owner = ?",
            (owner,),
        ).fetchone()
        if size > MOST_BYTES:
            raise RefusedError(413, f"All glossaries together have more than {MOST_BYTES:,} bytes; delete one")

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            if not self.path.exists():
                self.path.touch(mode=0o600)
            with closing(sqlite3.connect(self.path, timeout=PATIENCE)) as database, database:
                database.execute("pragma journal_mode = wal")
                database.execute("pragma synchronous = full")
                database.execute("pragma foreign_keys = on")
                yield database
        except OSError as error:
            raise InputError(f"{self.path} cannot be made ({str(error.strerror).lower()})") from None
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path} is no file of glossaries that can be used ({error})") from None


def _number(database: sqlite3.Connection, pragma: str) -> int:
    return int(database.execute(f"pragma {pragma}").fetchone()[0])


def checked_name(name: str) -> str:
    """Returns the name of a glossary without blanks about it; RefusedError (400) for a blank or long one."""
    name = name.strip()
    if _is_unfit(name):
        raise RefusedError(
            400, f"A glossary's name must be 1 to {MOST_BYTES_OF_TEXT:,} bytes without control characters"
        )
    return name


def _is_unfit(text: str) -> bool:
    return not text or len(text.encode(errors="replace")) > MOST_BYTES_OF_TEXT or _CONTROL.search(text) is not None


def tsv_of(entries: Mapping[str, str]) -> str:
    """Writes entries as lines of two terms with a tab between them, without a line end after the last."""
    return "\n".join(f"{source}\t{target}" for source, target in entries.items())


def pairs_of(tsv: str) -> list[tuple[str, str]]:
    """Returns the terms of lines that `tsv_of` has written."""
    return [(source, target) for source, _, target in (line.partition("\t") for line in tsv.split("\n"))]


@lru_cache(REMEMBERED)
def glossary_of(tsv: str) -> Glossary:
    """Returns the glossary of lines that `tsv_of` has written."""
    return Glossary([Entry(source, target) for source, target in pairs_of(tsv)])


def read_entries(text: str, form: str, pair: Pair) -> str:
    """Reads the entries of a client's dictionary, TSV or CSV, and returns them as `tsv_of` writes them.

    Raises RefusedError (400) for a line that is not an entry, a blank or long term, or a source term that comes twice,
    and (413) for too many.
    """
    lines = text.replace("\r\n", "\n").split("\n")
    entries: dict[str, str] = {}
    try:
        for number, row in rows_in_direction(rows_of(lines, f"entries.{form}", ","), "", *pair):
            cells = [cell.strip() for cell in row]
            if not any(cells):
                continue
            if len(cells) != 2:
                raise InputError(f"entry {number} has {len(cells)} cells; expected source and target")
            source, target = _checked_terms(cells, number)
            if source in entries:
                raise InputError(f"entry {number} has the source term of another one")
            if len(entries) == MOST_ENTRIES:
                raise RefusedError(413, f"The dictionary has more than {MOST_ENTRIES:,} entries; divide it")
            entries[source] = target
    except InputError as error:
        raise RefusedError(400, f"Invalid glossary entries: {error}") from None
    if not entries:
        raise RefusedError(400, "Invalid glossary entries: there are none")
    return tsv_of(entries)


def _checked_terms(terms: Sequence[str], number: int) -> Sequence[str]:
    for term in terms:
        if _is_unfit(term):
            raise InputError(
                f"a term of entry {number} is blank, has control characters, or more than {MOST_BYTES_OF_TEXT:,} bytes"
            )
    return terms
