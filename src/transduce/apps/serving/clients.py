"""Identifies clients, by their addresses and keys."""

import asyncio
import logging
import time
from contextvars import ContextVar
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from transduce.apps.serving.client_keys import Key, Keys
from transduce.apps.serving.documents.document_workers import in_thread
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.base.files import status

REMEMBERED = 10_000
"""The most keys remembered, right and wrong ones."""
PAUSE = 1.0
"""Seconds until a file of keys that could not be read is tried again."""
AT_ONCE = 4
LONGEST = 512
"""The most characters of a key."""
log = logging.getLogger("transduce.serving")
UNKNOWN = "unknown"
CLIENT: ContextVar[str] = ContextVar("client", default=UNKNOWN)
"""The client of the request that is being answered."""


def client_of(address: str) -> str:
    """Returns the name under which an address is counted; for IPv6 its /64 network, which one customer has."""
    parsed = _parse(address)
    if parsed is None:
        return UNKNOWN
    if isinstance(parsed, IPv6Address) and not parsed.is_loopback:
        return str(ip_network((int(parsed) >> 64 << 64, 64)))
    return str(parsed)


def is_loopback(address: str) -> bool:
    """Returns True if an address is a loopback address of this machine."""
    parsed = _parse(address)
    return parsed is not None and parsed.is_loopback


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return parsed.ipv4_mapped or parsed if isinstance(parsed, IPv6Address) else parsed


class KeyLookup:
    """The keys in a file, for an event loop, which must not wait for a disk or a lock; known ones are remembered while
    their file stays as it is."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._stamp: list[int] = []
        self._known: dict[str, Key | None] = {}
        self._turns = asyncio.Semaphore(AT_ONCE)
        self._failed_at = -PAUSE

    async def find(self, token: str) -> Key | None:
        """Returns the facts about a key; None for a wrong one, RefusedError (503) if the file cannot be read now."""
        if len(token) > LONGEST:
            return None
        if (stamp := self._stamp_now()) != self._stamp or len(self._known) >= REMEMBERED:
            self._stamp, self._known = stamp, {}
        if token not in (known := self._known):
            async with self._turns:
                known[token] = await self._read(token)
        return known[token]

    async def _read(self, token: str) -> Key | None:
        unreadable = RefusedError(503, "The server cannot read its keys now; try again soon", 1.0)
        if time.monotonic() - self._failed_at < PAUSE:
            raise unreadable
        try:
            return await in_thread(lambda: self._keys.find(token))
        except InputError as error:
            self._failed_at = time.monotonic()
            log.error("keys cannot be read: %s", error)
            raise unreadable from None

    def _stamp_now(self) -> list[int]:
        """Returns a stamp that changes with the file."""
        files = map(status, (self._keys.path, self._keys.path.with_name(self._keys.path.name + "-wal")))
        return [number for file in files if file for number in (file.st_ino, file.st_mtime_ns, file.st_size)]
