"""Checks the names under which a server is reached: a foreign page whose name leads here must not use it."""

from collections.abc import Sequence

from transduce.serving.clients import is_loopback
from transduce.serving.settings import LOOPBACK, ServerSettings


class Hosts:
    """The names that a server takes in `Host`."""

    def __init__(self, settings: ServerSettings) -> None:
        self._names: Sequence[str] = [name.lower() for name in settings.allowed_hosts]
        self._takes_all = "*" in self._names or (settings.is_public and not self._names)
        if not settings.allowed_hosts:
            self._names = [settings.host.lower(), *LOOPBACK]

    def takes(self, header: str | None) -> bool:
        """Returns True if a request may name this host; one of HTTP/1.0 names none, and no browser sends it."""
        if self._takes_all or header is None:
            return True
        name = _without_port(header.strip().lower())
        if name is None:
            return False
        return is_loopback(name) or name == "localhost" or any(_is_of(name, one) for one in self._names)


def _without_port(header: str) -> str | None:
    """Returns the name in `name:port` or `[address]:port`; None for other text."""
    if header.startswith("["):
        name, bracket, port = header[1:].partition("]")
        port = port.removeprefix(":")
        if not bracket:
            return None
    else:
        name, _, port = header.partition(":")
    return name.removesuffix(".") if name and (not port or port.isdecimal()) else None


def _is_of(name: str, allowed: str) -> bool:
    return name == allowed or (allowed.startswith("*.") and name.endswith(allowed[1:]))
