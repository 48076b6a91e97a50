"""Looks up keys of clients in a thread, and remembers them while their file is unchanged."""

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from transduce.errors import InputError
from transduce.serving.documents.workers import in_thread
from transduce.serving.failures import RefusedError
from transduce.serving.keys import Key, Keys

REMEMBERED = 10_000
"""The most keys remembered, right and wrong ones."""
REMEMBERED_SECONDS = 30.0
PAUSE = 1.0
"""Seconds until a file that could not be read is tried again."""
AT_ONCE = 4
LONGEST = 512
"""The most characters of a key."""
log = logging.getLogger("transduce.serving")


@dataclass(frozen=True)
class _Known:
    key: Key | None
    stamp: tuple[int, ...]
    """The state of the file when the key was read."""
    until: float


class KeyLookup:
    """The keys in a file, for an event loop, which must not wait for a disk or a lock."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known: OrderedDict[str, _Known] = OrderedDict()
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._failed_at = -PAUSE

    async def find(self, token: str) -> Key | None:
        """Returns the facts about a key; None for a wrong one, RefusedError (503) if the file cannot be read now."""
        if len(token) > LONGEST:
            return None
        stamp, known = self._stamp(), self._known.get(token)
        if known is None or known.stamp != stamp or known.until < time.monotonic():
            async with self._turns:
                known = await self._read(token, stamp)
        return known.key

    async def _read(self, token: str, stamp: tuple[int, ...]) -> _Known:
        if time.monotonic() - self._failed_at < PAUSE:
            raise _unreadable()
        try:
            key = await in_thread(lambda: self._keys.find(token))
        except InputError as error:
            self._failed_at = time.monotonic()
            log.error("keys cannot be read: %s", error)
            raise _unreadable() from None
        known = self._known[token] = _Known(key, stamp, time.monotonic() + REMEMBERED_SECONDS)
        self._known.move_to_end(token)
        if len(self._known) > REMEMBERED:
            self._known.popitem(last=False)
        return known

    def _stamp(self) -> tuple[int, ...]:
        """Returns a stamp that changes with the file."""
        stamp: list[int] = []
        for name in (str(self._keys.path), f"{self._keys.path}-wal"):
            try:
                status = Path(name).stat()
            except OSError:
                stamp.append(0)
            else:
                stamp += [status.st_ino, status.st_mtime_ns, status.st_size]
        return tuple(stamp)


def _unreadable() -> RefusedError:
    return RefusedError(503, "The server cannot read its keys now; try again soon", 1.0)
