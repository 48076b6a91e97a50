"""The limits of what a server does for its clients."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network
from typing import Literal

from transduce.base.errors import InputError
from transduce.base.ranges import BeamSize, MemoryInMiB, NonNegativeInt, Port, PositiveInt, Workers
from transduce.search.beam import Beam

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServerSettings:
    """Settings and limits of a server; a rate of 0 is not a limit.

    A client is a key, or an address where there are no keys. No limit is all for one client: one that has much gives
    way to others, see docs/serving.md.
    """

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 for all of this machine's."""
    port: Port = 5000
    """The port to listen on."""
    keys: str | None = None
    """A file of `transduce keys`; every request then needs a key."""
    glossaries: str | None = None
    """An SQLite file in which glossaries of DeepL's API are kept, made if it is not there; without it there are
    none."""
    cors: tuple[str, ...] = ()
    """An origin whose pages may use the server from a browser."""
    allowed_hosts: tuple[str, ...] = ()
    """A name under which the server is reached, or *.example.org for all of a domain; with none, a server for this
    machine alone takes the names of this machine, and a public one takes all."""
    trusted_proxies: tuple[str, ...] = ()
    """An address or network of proxies whose X-Forwarded-For is believed."""
    public_metrics: bool = False
    """Let anyone read /metrics where there are no keys."""
    beam_size: BeamSize = 4
    """Beam size of a request that names no other; 1 is greedy search."""
    keep_numbers: Literal["on", "off"] = "on"
    """Search a translation that changes a number, an address or a part number again, unless a request says
    otherwise."""
    max_characters: PositiveInt = 10_000
    """Characters of a request, its prefixes and glossaries included."""
    max_sentences: PositiveInt = 500
    """Sentences of a request."""
    max_document_characters: PositiveInt = 1_000_000
    """Characters of text in an uploaded document."""
    max_upload_bytes: PositiveInt = 10 * 2**20
    """Bytes of an uploaded document."""
    document_workers: Workers = 8
    """Documents and HTML texts that are read, translated or written at a time, each in a process of its own."""
    document_memory: MemoryInMiB = 512
    """Memory of each of these processes in MiB."""
    max_waiting: PositiveInt = 256
    """Requests that are translated or wait for it at a time, half of them of one client."""
    max_connections: PositiveInt = 1000
    """Open connections, half of them of one client."""
    max_header_bytes: PositiveInt = 32_768
    """Bytes of a request's headers."""
    max_kept_bytes: PositiveInt = 200 * 2**20
    """Bytes of translated files that are kept to be fetched, a quarter of them of one client."""
    requests_per_minute: NonNegativeInt = 0
    """Requests a minute of a key or an address; 0 for no limit."""
    characters_per_minute: NonNegativeInt = 0
    """Characters a minute of a key or an address; 0 for no limit."""
    timeout: PositiveInt = 60
    """Seconds that the translation of a request may take; documents have ten times as long."""
    header_timeout: PositiveInt = 10
    """Seconds in which a request's headers must come."""
    body_timeout: PositiveInt = 30
    """Seconds in which a request's body must come, and one more for each 32 KiB; and seconds for which a client may
    leave an answer unread."""
    idle_timeout: PositiveInt = 15
    """Seconds that a connection is kept without a request."""
    grace: PositiveInt = 30
    """Seconds after SIGTERM until the server ends, even with requests still open."""

    def __post_init__(self) -> None:
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy, strict=False)
            except ValueError:
                raise InputError(
                    f"trusted proxy {proxy!r} is neither an address nor a network, such as 10.0.0.0/8"
                ) from None

    def beam(self, n_best: int = 1) -> Beam:
        """Returns the search of a request that names no settings."""
        return Beam(size=max(self.beam_size, n_best), n_best=n_best, keep_numbers=self.keep_numbers)

    @property
    def is_public(self) -> bool:
        """True if other machines can reach the server."""
        return self.host not in LOOPBACK

    @property
    def max_body_bytes(self) -> int:
        """The most bytes of a request that is not an upload; a character may take twelve, as in `\\ud83d\\ude00`."""
        return 12 * self.max_characters + 65_536

    @property
    def max_url_bytes(self) -> int:
        """The most bytes of an address, whose query may hold a text."""
        return 12 * self.max_characters + 8192

    @property
    def max_waiting_sentences(self) -> int:
        """The most sentences of one client that wait for a batch, those of documents aside."""
        return 10 * self.max_sentences

    def trusts(self, address: str) -> bool:
        """Returns True if an address is that of a proxy that says for whom it asks."""
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        return any(parsed in ip_network(proxy, strict=False) for proxy in self.trusted_proxies)
