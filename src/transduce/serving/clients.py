"""Identifies clients, and shares the server's resources among them."""

from collections.abc import Callable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from operator import itemgetter
from typing import Generic, TypeVar

T = TypeVar("T")
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


@dataclass(eq=False)
class Holding(Generic[T]):
    """A resource of the server that a client holds: a connection, a request in progress, a file."""

    client: str
    thing: T
    size: int = 1


@dataclass
class Holdings(Generic[T]):
    """Clients' shares of a resource of the server, up to a total.

    If there is no room, the client with the most gives something up, if it has more than the asking client would then
    have. So no client can exhaust the resource.
    """

    most: int
    first_to_go: Callable[[list[Holding[T]]], Holding[T]] = itemgetter(-1)
    """Chooses which of its holdings, listed by age, a client gives up; by default the one that it got last."""
    total: int = 0
    _held: dict[str, list[Holding[T]]] = field(default_factory=dict)
    _sizes: dict[str, int] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Holding[T]]:
        return (holding for held in self._held.values() for holding in held)

    def of(self, client: str) -> list[Holding[T]]:
        """Returns a client's holdings, by age."""
        return list(self._held.get(client, ()))

    def size_of(self, client: str) -> int:
        """Returns how much a client holds."""
        return self._sizes.get(client, 0)

    def make_room(self, client: str, size: int = 1) -> list[Holding[T]] | None:
        """Takes back enough for a client; returns None, and takes nothing, if no client has more than it would."""
        taken: list[Holding[T]] = []
        while self.total + size > self.most:
            greediest = max(self._sizes, key=self._sizes.__getitem__, default=client)
            if self.size_of(greediest) <= self.size_of(client) + size:
                for holding in taken:
                    self._put(holding)
                return None
            taken.append(self.first_to_go(self._held[greediest]))
            self.remove(taken[-1])
        return taken

    def add(self, client: str, thing: T, size: int = 1) -> Holding[T]:
        """Gives a client a holding, whether or not there is room."""
        holding = Holding(client, thing, size)
        self._put(holding)
        return holding

    def remove(self, holding: Holding[T]) -> None:
        """Takes a holding back; nothing happens if that was done before."""
        held = self._held.get(holding.client, [])
        if holding not in held:
            return
        held.remove(holding)
        self._sizes[holding.client] -= holding.size
        self.total -= holding.size
        if not held:
            del self._held[holding.client], self._sizes[holding.client]

    def _put(self, holding: Holding[T]) -> None:
        self._held.setdefault(holding.client, []).append(holding)
        self._sizes[holding.client] = self.size_of(holding.client) + holding.size
        self.total += holding.size
