"""Admits requests: keys, rates, and the number of requests in progress."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from starlette.requests import Request as HTTPRequest

from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.clients import CLIENT, KeyLookup, client_of
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.quotas import Quota, newest
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server_settings import ServerSettings

MOST_WITHOUT_KEY = 262_144
"""The largest body in bytes that is read to find a key in it; a larger one needs its key in a header or the query."""
MINUTE = 60.0
CLIENTS = 10_000
"""The most buckets kept; beyond, full ones are forgotten."""
_HALF = re.compile("[\ud800-\udfff]")


class Admission:
    """Counts clients' requests before they are handled, and refuses too many or too large ones."""

    def __init__(self, settings: ServerSettings, metrics: Metrics) -> None:
        self.settings = settings
        self.used: Counter[str] = Counter()
        """The characters of each client since the server began; of very many clients, those who have used most."""
        self.keys = None if settings.keys is None else KeyLookup(Keys(settings.keys))
        most = settings.max_waiting
        self.requests: Quota[asyncio.Task[object]] = Quota(
            "requests are in progress", most, max(1, most // 2), others=newest
        )
        """The requests that are translated, or wait for it."""
        self.requests.on_lost = lambda task: task.cancel()
        largest = settings.max_upload_bytes
        self.bodies, self.answers = (
            Quota[None](what, 16 * largest, 4 * largest)
            for what in ("bytes are being read", "bytes of answers are not read; read your other answers first")
        )
        self._metrics = metrics
        self._requests = RateLimit("requests")
        self._characters = RateLimit("characters")

    async def enter(self, http: HTTPRequest, takes_key_in_body: bool) -> None:
        """Identifies the client of a request before its body is read.

        Raises RefusedError for a wrong key, or none if the body cannot hold one (403), and for a client that has to
        wait (429).
        """
        address = client_of(http.client.host if http.client else "")
        http.state.address, http.state.key, http.state.is_counted = address, None, False
        self._set_client(http, address)
        token = _token(http)
        if self.keys is not None and token:
            await self._find(http, token)
            return
        self._requests.check(address, 1, self.settings.requests_per_minute)
        if self.keys is not None:
            if not takes_key_in_body:
                raise RefusedError(403, "Please give an API key")
            self.check_unknown(http, size_of(http))

    def leave(self, http: HTTPRequest, status: int) -> None:
        """Counts a failed request that was never admitted, since it has a cost too."""
        if status >= 400 and not getattr(http.state, "is_counted", True):
            self._count(http)

    def count_refused(self, address: str) -> None:
        """Counts data from an address that were not a request."""
        self._requests.note(address, 1, self.settings.requests_per_minute)

    async def check_admin(self, http: HTTPRequest) -> None:
        """Raises RefusedError (403) unless the client has an administrator's key."""
        if self.keys is not None and (token := _token(http)):
            key = await self.keys.find(token)
            if key is not None and key.is_admin:
                return
        raise RefusedError(403, "This takes an administrator's key")

    async def admit(self, http: HTTPRequest, given: str | None, texts: Sequence[str] = (), more: int = 0) -> None:
        """Counts a request with its texts and `more` characters.

        Raises RefusedError for a request without a key (403), too large (413), too soon (429), or not in Unicode (400).
        """
        if self.keys is not None and http.state.key is None:
            if not (given and given.strip()):
                raise RefusedError(403, "Please give an API key")
            await self._find(http, given.strip())
        characters = sum(map(len, texts)) + more
        self._check_characters(characters)
        if len(texts) > self.settings.max_sentences:
            raise RefusedError(
                413, f"There are {len(texts):,} texts, but at most {self.settings.max_sentences:,} are taken at once"
            )
        if any(map(_HALF.search, texts)):
            raise RefusedError(400, "Invalid request: half of a surrogate pair is no character")
        self._requests.check(http.state.client, 1, self._requests_of(http))
        self._count(http)
        self.charge(http, characters)

    def check_unknown(self, http: HTTPRequest, read: int) -> None:
        """Raises RefusedError (403) if so many bytes of a request are read, and its client has not given a key yet."""
        if self.keys is not None and getattr(http.state, "key", "") is None and read > MOST_WITHOUT_KEY:
            raise RefusedError(
                403,
                "Please give an API key in the header Authorization, as `Bearer KEY`, or in the query: a request of "
                f"more than {MOST_WITHOUT_KEY:,} bytes is not read to find one",
            )

    def charge(self, http: HTTPRequest, characters: int) -> None:
        """Counts characters of a request that has been admitted; RefusedError (429) if they come too soon."""
        http.state.characters = getattr(http.state, "characters", 0) + characters
        key_limit = None if http.state.key is None else http.state.key.characters_per_minute
        limit = self.settings.characters_per_minute if key_limit is None else key_limit
        self._characters.take(http.state.client, characters, limit)
        self._metrics.characters.inc(characters)
        self.used[http.state.client] += characters
        if len(self.used) > CLIENTS:
            self.used = Counter(dict(self.used.most_common(CLIENTS // 2)))

    def charge_more(self, http: HTTPRequest, characters: int) -> None:
        """Counts more characters of a request that has been admitted; they are part of its texts' limit (413)."""
        if characters:
            self._check_characters(http.state.characters + characters)
            self.charge(http, characters)

    def _check_characters(self, characters: int) -> None:
        most = self.settings.max_characters
        if characters > most:
            raise RefusedError(
                413,
                f"The text has {characters:,} characters, prefixes and terms included, but at most {most:,} are taken "
                "at once",
            )

    @asynccontextmanager
    async def turn(self, seconds: float) -> AsyncIterator[None]:
        """Holds a turn among the requests in progress, for the request that is being answered.

        Raises RefusedError if its client has half of all turns, or has the most and another client needs one (429), or
        no client has more than it would have (503); the client may try again after these seconds.
        """
        task = asyncio.current_task()
        assert task is not None
        holding = self.requests.take(CLIENT.get(), task, seconds=seconds)
        try:
            yield
        except asyncio.CancelledError:
            if self.requests.give_back(holding):  # it does not make room for another
                raise
            task.uncancel()
            raise RefusedError(429, "Slow down: others need the server, too", seconds) from None
        finally:
            self.requests.give_back(holding)

    def has_others(self, client: str) -> bool:
        """Returns True if requests of other clients are in progress."""
        return self.requests.total > self.requests.size_of(client)

    async def _find(self, http: HTTPRequest, token: str) -> None:
        assert self.keys is not None
        self._requests.check(http.state.address, 1, self.settings.requests_per_minute)
        key = await self.keys.find(token)
        if key is None:
            raise RefusedError(403, "Invalid API key")
        http.state.key = key
        self._set_client(http, f"key {key.name}")

    def _set_client(self, http: HTTPRequest, client: str) -> None:
        http.state.client = client
        CLIENT.set(client)

    def _count(self, http: HTTPRequest) -> None:
        http.state.is_counted = True
        self._requests.note(http.state.client, 1, self._requests_of(http))

    def _requests_of(self, http: HTTPRequest) -> int:
        key_limit: int | None = None if http.state.key is None else http.state.key.requests_per_minute
        return self.settings.requests_per_minute if key_limit is None else key_limit


@dataclass
class _Bucket:
    level: float
    at: float


class RateLimit:
    """A limit per client and minute: token buckets, which refill evenly."""

    def __init__(self, unit: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._unit = unit
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, client: str, amount: int, per_minute: int) -> None:
        """Counts an amount; raises RefusedError (429) if the client has to wait first. A limit of 0 is none.

        More than a minute's amount at once is allowed if the bucket is full; the client then waits the longer.
        """
        self.check(client, amount, per_minute)
        self.note(client, amount, per_minute)

    def check(self, client: str, amount: int, per_minute: int) -> None:
        """Raises RefusedError (429) where `take` would, without counting."""
        if not per_minute:
            return
        level, needed = self._bucket(client, per_minute).level, min(amount, per_minute)
        if level < needed:
            wait = (needed - level) * MINUTE / per_minute
            raise RefusedError(429, f"Slow down: at most {per_minute:,} {self._unit} a minute", wait)

    def note(self, client: str, amount: int, per_minute: int) -> None:
        """Counts an amount that has been taken already."""
        if per_minute:
            bucket = self._bucket(client, per_minute)
            bucket.level = max(bucket.level - amount, -max(amount, per_minute))

    def _bucket(self, client: str, per_minute: int) -> _Bucket:
        now = self._clock()
        if len(self._buckets) > CLIENTS:
            self._buckets = {name: bucket for name, bucket in self._buckets.items() if now - bucket.at < MINUTE}
        bucket = self._buckets.setdefault(client, _Bucket(per_minute, now))
        bucket.level = min(per_minute, bucket.level + (now - bucket.at) * per_minute / MINUTE)
        bucket.at = now
        return bucket


def _token(http: HTTPRequest) -> str:
    """Returns the key in a request's query or header; "" without one."""
    kind, _, token = http.headers.get("authorization", "").partition(" ")
    in_query = http.query_params.get("api_key") or http.query_params.get("auth_key")
    return (in_query or (token if kind.lower() in ("bearer", "deepl-auth-key") else "")).strip()


def size_of(http: HTTPRequest) -> int:
    """Returns the size in bytes that a request declares; 0 without a valid one."""
    said = http.headers.get("content-length", "")
    return int(said) if said.isascii() and said.isdecimal() and len(said) < 20 else 0
