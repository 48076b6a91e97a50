"""How a server limits what it does for its clients."""

from dataclasses import dataclass

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class ServerSettings:
    """Limits of a server, and what it tells; 0 is no limit of a rate."""

    host: str = "127.0.0.1"
    port: int = 5000
    keys: str | None = None
    """An SQLite file of keys; with one, every request needs a key."""
    cors: tuple[str, ...] = ()
    """Origins whose pages may use the server from a browser."""
    beam_size: int = 4
    """Of a request that names no other."""
    max_characters: int = 10_000
    """Of a request's texts."""
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
    """Requests that are translated or wait for it at a time; more are answered with 503."""
    requests_per_minute: int = 0
    """Of a key or an address."""
    characters_per_minute: int = 0
    """Of a key or an address."""
    timeout: float = 60.0
    """Seconds that the translation of a request may take; documents have ten times as long."""

    @property
    def is_public(self) -> bool:
        """Whether others than this machine reach it."""
        return self.host not in LOOPBACK
