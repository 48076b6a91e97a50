"""How a server limits what it does for its clients."""

from dataclasses import dataclass
from ipaddress import ip_address, ip_network

from transduce.errors import InputError

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServerSettings:
    """Limits of a server, and what it tells; 0 is no limit of a rate.

    A client is a key, or an address where there are no keys. No limit is all for one client: one that has much gives
    way to others, see docs/serving.md.
    """

    host: str = "127.0.0.1"
    port: int = 5000
    keys: str | None = None
    """An SQLite file of keys; with one, every request needs a key."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may use the server from a browser."""
    allowed_hosts: tuple[str, ...] = ()
    """Names under which the server is reached, `*.example.org` for all of a domain; with none, a server for this
    machine alone takes the names of this machine, and a public one takes all."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks of proxies that say in `X-Forwarded-For` for whom they ask."""
    public_metrics: bool = False
    """Whether `/metrics` is for others than this machine where there are no keys."""
    beam_size: int = 4
    """Of a request that names no other."""
    max_characters: int = 10_000
    """Of a request's texts, with prefixes and glossaries."""
    max_sentences: int = 500
    """Sentences of a request."""
    max_document_characters: int = 1_000_000
    """Of the text of an uploaded document."""
    max_upload_bytes: int = 10 * 2**20
    document_workers: int = 8
    """Documents, uploaded or HTML, that are read, translated or written at a time, each in a process of its own."""
    document_memory: int = 512 * 2**20
    """Bytes of memory that such a process may use."""
    max_waiting: int = 256
    """Requests that are translated or wait for it at a time, half of them of one client."""
    max_connections: int = 1000
    """Open connections, half of them of one client."""
    max_header_bytes: int = 32_768
    """Bytes of a request's headers."""
    max_kept_bytes: int = 200 * 2**20
    """Bytes of translated files that are kept to be fetched, a quarter of them for one client."""
    requests_per_minute: int = 0
    """Of a key or an address."""
    characters_per_minute: int = 0
    """Of a key or an address."""
    timeout: float = 60.0
    """Seconds that the translation of a request may take; documents have ten times as long."""
    header_timeout: float = 10.0
    """Seconds in which a request's headers must have come."""
    body_timeout: float = 30.0
    """Seconds in which a request's body must have come, and a second more for each 32 KiB; and seconds for which a
    client may leave an answer unread."""
    idle_timeout: float = 15.0
    """Seconds for which a connection stays open without a request."""
    grace: float = 30.0
    """Seconds in which the server ends once it is told to, whatever is open."""

    def __post_init__(self) -> None:
        for proxy in self.trusted_proxies:
            try:
                ip_network(proxy, strict=False)
            except ValueError:
                raise InputError(
                    f"trusted proxy {proxy!r} is neither an address nor a network, such as 10.0.0.0/8"
                ) from None

    @property
    def is_public(self) -> bool:
        """Whether others than this machine reach it."""
        return self.host not in LOOPBACK

    @property
    def max_body_bytes(self) -> int:
        """Bytes of a request that is no upload; a character may take twelve, as in `\\ud83d\\ude00`."""
        return 12 * self.max_characters + 65_536

    @property
    def max_url_bytes(self) -> int:
        """Bytes of an address, whose query may hold a text."""
        return 12 * self.max_characters + 8192

    @property
    def max_waiting_sentences(self) -> int:
        """Sentences of one client that wait for a batch, those of documents aside."""
        return 10 * self.max_sentences

    def trusts(self, address: str) -> bool:
        """Whether an address is that of a proxy that says for whom it asks."""
        try:
            found = ip_address(address)
        except ValueError:
            return False
        return any(found in ip_network(proxy, strict=False) for proxy in self.trusted_proxies)
