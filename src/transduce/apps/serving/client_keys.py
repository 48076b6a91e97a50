"""Keys of a server's clients, in an SQLite file that holds only their hashes."""

import hashlib
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from transduce.base.errors import InputError

PREFIX = "td_"
READ_SECONDS = 1.0
"""Seconds for which a client waits for a file that another program has locked."""
TABLE = """
create table if not exists keys (
    name text primary key, hash text not null unique, created text not null, is_admin integer not null,
    requests_per_minute integer, characters_per_minute integer
) strict
"""
SELECT = "select name, created, is_admin, requests_per_minute, characters_per_minute from keys"


@dataclass(frozen=True)
class Key:
    """The facts about a client's key."""

    name: str
    created: str
    is_admin: bool
    requests_per_minute: int | None
    """The requests a minute; None for the server's own limit."""
    characters_per_minute: int | None
    """The characters a minute; None for the server's own limit."""


class Keys:
    """The keys in a file."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def add(
        self,
        name: str,
        is_admin: bool = False,
        requests_per_minute: int | None = None,
        characters_per_minute: int | None = None,
    ) -> str:
        """Makes a key, which is shown only once; InputError for a name that another has."""
        if not name.strip() or not name.isprintable() or len(name) > 100:
            raise InputError("a key's name must be 1 to 100 printable characters")
        key = PREFIX + secrets.token_urlsafe(32)
        created = datetime.now(UTC).isoformat(timespec="seconds")
        with self._open(creates=True) as database:
            database.execute(TABLE)
            try:
                database.execute(
                    "insert into keys values (?, ?, ?, ?, ?, ?)",
                    (name, _hash(key), created, is_admin, requests_per_minute, characters_per_minute),
                )
            except sqlite3.IntegrityError:
                raise InputError(f"{self.path} has a key {name!r}; revoke it or choose another name") from None
        return key

    def list(self) -> list[Key]:
        """Returns all keys, by name."""
        with self._open() as database:
            return [_key(row) for row in database.execute(f"{SELECT} order by name")]

    def revoke(self, name: str) -> None:
        """Revokes a key, which a running server refuses from then on; InputError without one of the name."""
        with self._open() as database:
            if not database.execute("delete from keys where name = ?", (name,)).rowcount:
                raise InputError(f"{self.path} has no key {name!r}")

    def find(self, key: str) -> Key | None:
        """Returns the facts about a key that a client gives; None for a wrong one.

        InputError where the file cannot be read.
        """
        with self._open(patience=READ_SECONDS) as database:
            row = database.execute(f"{SELECT} where hash = ?", (_hash(key),)).fetchone()
        return None if row is None else _key(row)

    @contextmanager
    def _open(self, creates: bool = False, patience: float = 10.0) -> Iterator[sqlite3.Connection]:
        if not creates and not self.path.is_file():
            raise InputError(f"{self.path}: there is no such file of keys; make one with: transduce keys add")
        try:
            if creates:
                self.path.touch(mode=0o600)
            with closing(sqlite3.connect(self.path, timeout=patience)) as database, database:
                yield database
        except (sqlite3.DatabaseError, OSError) as error:
            raise InputError(f"{self.path} is no file of keys that can be used ({error})") from None


def _key(row: tuple[str, str, int, int | None, int | None]) -> Key:
    name, created, is_admin, requests, characters = row
    return Key(name, created, bool(is_admin), requests, characters)


def _hash(key: str) -> str:
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()  # of 256 random bits: nothing slower is needed
