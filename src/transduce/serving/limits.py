"""Limits how much each client may ask for in a minute: token buckets, which fill again evenly."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from transduce.serving.failures import RefusedError

MINUTE = 60.0
CLIENTS = 10_000
"""The most buckets kept; beyond, full ones are forgotten."""


@dataclass
class _Bucket:
    level: float
    at: float


class RateLimit:
    """A limit for each client, per minute."""

    def __init__(self, what: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._what = what
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}

    def take(self, client: str, amount: int, per_minute: int) -> None:
        """Counts an amount; raises RefusedError (429) if the client has to wait first. A limit of 0 is none.

        More than a minute's amount at once is let through if nothing was taken before, and waited for afterwards.
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
            raise RefusedError(429, f"Slow down: at most {per_minute:,} {self._what} a minute", wait)

    def note(self, client: str, amount: int, per_minute: int) -> None:
        """Counts an amount that has been taken already."""
        if per_minute:
            bucket = self._bucket(client, per_minute)
            bucket.level = max(bucket.level - amount, -max(amount, per_minute))

    def _bucket(self, client: str, per_minute: int) -> _Bucket:
        now = self._clock()
        if len(self._buckets) > CLIENTS:
            self._buckets = {name: one for name, one in self._buckets.items() if now - one.at < MINUTE}
        bucket = self._buckets.setdefault(client, _Bucket(per_minute, now))
        bucket.level = min(per_minute, bucket.level + (now - bucket.at) * per_minute / MINUTE)
        bucket.at = now
        return bucket
