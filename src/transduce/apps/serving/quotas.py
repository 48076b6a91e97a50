"""Clients' shares of what a server has a limited amount of: connections, requests, processes, bytes."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from transduce.apps.serving.refusals import RefusedError

T = TypeVar("T")


@dataclass(eq=False)
class Holding(Generic[T]):
    """Something of which a client has a part: a connection, a request in progress, a file."""

    client: str
    thing: T
    size: int = 1


Choose = Callable[[list[Holding[T]]], Holding[T] | None]
"""Chooses one of a client's holdings, listed by age, to be given up; None for none."""


class Quota(Generic[T]):
    """Shares of one kind of thing: no client can have all of it, whatever it asks for.

    A client has a limited amount, or one thing of any size. Where there is no room, the client with the most gives
    something up, if it has more than the asking client would have. Of things that cannot be given up, such as bytes
    that are being read, each client may still have an equal share.
    """

    def __init__(
        self, what: str, most: int, most_each: int, own: Choose[T] | None = None, others: Choose[T] | None = None
    ) -> None:
        """Makes a quota.

        Args:
            what: the things and what they do, for messages, such as "requests are in progress".
            most: the amount for all clients.
            most_each: the amount for one of them.
            own: chooses what a client gives up for something new of its own; None refuses it.
            others: chooses what a client gives up for another one; None lets others have an equal share all the same.
        """
        self.most, self.most_each, self.total = most, most_each, 0
        self.on_lost: Callable[[T], object] = lambda thing: None
        """Called with what a client has to give up."""
        self._what, self._own, self._others = what, own, others
        self._held: dict[str, list[Holding[T]]] = {}
        self._sizes: Counter[str] = Counter()

    def size_of(self, client: str) -> int:
        """Returns how much a client has."""
        return self._sizes[client]

    def take(self, client: str, thing: T, size: int = 1, seconds: float = 1.0, is_limited: bool = True) -> Holding[T]:
        """Gives a client something.

        Raises RefusedError where it cannot have that, whose `retry_after` is `seconds`: 429 if it has too much, 503 if
        others have. Without `is_limited` the client, such as a proxy, may have all.
        """
        self._make_room(client, size, seconds, is_limited)
        holding = Holding(client, thing, size)
        self._held.setdefault(client, []).append(holding)
        self._add(client, size)
        return holding

    def grow(self, holding: Holding[T], size: int) -> None:
        """Gives a client more of what it has; see `take`."""
        self._make_room(holding.client, size)
        holding.size += size
        self._add(holding.client, size)

    @contextmanager
    def hold(self, client: str, thing: T, size: int = 1, seconds: float = 1.0) -> Iterator[Holding[T]]:
        """Gives a client something for the time of the block; see `take`."""
        holding = self.take(client, thing, size, seconds)
        try:
            yield holding
        finally:
            self.give_back(holding)

    def give_back(self, holding: Holding[T]) -> bool:
        """Takes a holding back; returns False if it was given up before."""
        held = self._held.get(holding.client, [])
        if holding not in held:
            return False
        held.remove(holding)
        self._add(holding.client, -holding.size)
        if not held:
            del self._held[holding.client], self._sizes[holding.client]
        return True

    def _add(self, client: str, size: int) -> None:
        self._sizes[client] += size
        self.total += size

    def _make_room(self, client: str, size: int, seconds: float = 1.0, is_limited: bool = True) -> None:
        while is_limited and self._sizes[client] and self._sizes[client] + size > self.most_each:
            self._give_up(client, self._own, client, seconds)
        while self.total + size > self.most:
            greediest = max(self._sizes, key=self._sizes.__getitem__, default=client)
            share = self._sizes[client] + size
            if self._others is None and share <= self.most // (1 + len(self._held)):
                break
            if self._sizes[greediest] > share:
                self._give_up(greediest, self._others, client, seconds)
            else:
                self._give_up(client, self._own, client, seconds)

    def _give_up(self, holder: str, choose: Choose[T] | None, client: str, seconds: float) -> None:
        held = self._held.get(holder)
        victim = choose(held) if choose is not None and held else None
        if victim is None:
            if has := self._sizes[client]:
                raise RefusedError(429, f"Slow down: {has:,} of your {self._what}", seconds)
            raise RefusedError(503, f"Too many {self._what}; try again in {seconds:,.0f} s", seconds)
        self.give_back(victim)
        self.on_lost(victim.thing)


def oldest(held: list[Holding[T]]) -> Holding[T] | None:
    """Chooses what a client got first."""
    return held[0]


def newest(held: list[Holding[T]]) -> Holding[T] | None:
    """Chooses what a client got last."""
    return held[-1]


def nothing(held: list[Holding[T]]) -> Holding[T] | None:
    """Chooses nothing: whoever comes when there is no room is refused."""
    return None


class Turns:
    """Work of one kind that clients wait for: the next is that of the client with the least of it in progress."""

    def __init__(self, most: int, most_each: int) -> None:
        """Lets so much be in progress at a time, of all clients and of each."""
        self.most, self.most_each = most, most_each
        self._waiting: list[tuple[str, asyncio.Future[None]]] = []
        self._running: Counter[str] = Counter()

    @property
    def running(self) -> int:
        """The number that is in progress."""
        return self._running.total()

    @property
    def waiting(self) -> int:
        """The number that waits."""
        return len(self._waiting)

    async def begin(self, client: str) -> Callable[[], None]:
        """Waits for a client's turn; returns a function that ends it."""
        turn = client, asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        self._go_on()
        try:
            await turn[1]
        except asyncio.CancelledError:
            if turn in self._waiting:
                self._waiting.remove(turn)
            else:
                self._end(client)
            raise
        return lambda: self._end(client)

    def _end(self, client: str) -> None:
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        self._go_on()

    def _go_on(self) -> None:
        while self.running < self.most:
            able = [turn for turn in self._waiting if self._running[turn[0]] < self.most_each]
            if not able:
                return
            turn = min(able, key=lambda turn: self._running[turn[0]])
            self._waiting.remove(turn)
            self._running[turn[0]] += 1
            if not turn[1].done():
                turn[1].set_result(None)
