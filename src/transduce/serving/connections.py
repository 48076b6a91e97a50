"""HTTP connections with limits in time, size and number, counted by client."""

import asyncio
import json
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from transduce.serving.clients import Holding, Holdings, client_of
from transduce.serving.settings import ServerSettings

SLOWEST = 32_768
"""The lowest rate of a body in bytes a second, beyond those that come within the time for a body."""
LINGER = 2.0
"""Seconds in which a client can read why it was refused before its connection is cut."""
PIECE = 65_536
PIPELINED = 8
"""The most requests that may wait on one connection for the answer to the first."""
STARTS_AT_ONCE = 16
"""The most requests that begin in one turn of the event loop."""
TOO_MANY = "There are too many connections; close some, or try again soon"


def raw_answer(status: int, message: str) -> bytes:
    """Returns an answer to a client without a request, after which its connection is closed."""
    body = json.dumps({"error": message}).encode()
    lines = [
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}",
        "content-type: application/json",
        f"content-length: {len(body)}",
        *(["retry-after: 1"] if status in (429, 503) else []),
        "connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connections:
    """The open connections of a server, what they send, and the requests that are about to begin on them."""

    def __init__(self, settings: ServerSettings, is_proxy: Callable[[str], bool], most: int) -> None:
        self.settings = settings
        self.is_proxy = is_proxy
        self.open: Holdings[LimitedProtocol] = Holdings(most, _first_to_go)
        self.bodies = BodyBytes(settings.max_upload_bytes)
        self.starts = _Starts()
        self.on_refused: Callable[[str, int], None] = lambda client, status: None
        """Called with client and status for answers that no application gave."""

    def enter(self, client: str, connection: "LimitedProtocol") -> "Holding[LimitedProtocol] | None":
        """Admits a new connection, if necessary in place of another; None if it must close.

        One client has at most half of all. Beyond that, its oldest idle connection is closed for the new one.
        """
        is_over = not connection.is_of_proxy and self.open.size_of(client) >= max(1, self.open.most // 2)
        victims = None if is_over else self.open.make_room(client)
        if victims is None:
            victims = [holding for holding in self.open.of(client) if holding.thing.is_idle][:1]
            if not victims:
                return None
        for victim in victims:
            self.open.remove(victim)
            victim.thing.cut()
        return self.open.add(client, connection)


class BodyBytes:
    """Counts bytes of requests, or of answers, in memory by client: each may have as many as four of the largest
    uploads, or one body of any size.

    All together may have sixteen; beyond that, clients with more than an equal share wait.
    """

    def __init__(self, largest: int) -> None:
        self._most, self._most_each = 16 * largest, 4 * largest
        self._of: dict[str, int] = {}
        self._total = 0

    def take(self, client: str, size: int, is_proxy: bool = False) -> bool:
        """Counts bytes; returns False, and counts none, if the client has too many."""
        held = self._of.get(client, 0) + size
        if held > max(size, self._most_each) and not is_proxy:
            return False
        if self._total + size > self._most and held > self._most // (1 + len(self._of)):
            return False
        self._of[client] = held
        self._total += size
        return True

    def give_back(self, client: str, size: int) -> None:
        """Forgets bytes that were counted."""
        if size:
            self._of[client] -= size
            self._total -= size
            if not self._of[client]:
                del self._of[client]


class _Starts:
    """Requests that are about to begin: clients take turns, so that many requests of one do not delay others."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[Callable[[], None]]] = {}
        self._is_scheduled = False

    def add(self, loop: asyncio.AbstractEventLoop, client: str, begin: Callable[[], None]) -> None:
        self._waiting.setdefault(client, deque()).append(begin)
        if not self._is_scheduled:
            self._is_scheduled = True
            loop.call_soon(self._begin_some, loop)

    def _begin_some(self, loop: asyncio.AbstractEventLoop) -> None:
        self._is_scheduled = False
        for _ in range(STARTS_AT_ONCE):
            if not self._waiting:
                return
            client, waiting = next(iter(self._waiting.items()))
            begin = waiting.popleft()
            del self._waiting[client]
            if waiting:  # behind the others
                self._waiting[client] = waiting
            begin()
        if self._waiting:
            self._is_scheduled = True
            loop.call_soon(self._begin_some, loop)


@dataclass
class _Message:
    """A request that is being received."""

    raw: int = 0
    """The bytes of its head so far, or of its body."""
    url: int = 0
    headers: int = 0
    has_head: bool = False
    is_complete: bool = False
    began: float = field(default_factory=time.monotonic)


class LimitedProtocol(HttpToolsProtocol):
    """A connection of uvicorn that ends if a client takes too long, or sends too much before anyone has read it.

    A head and the gap before the next one have their time, a body has some and a lowest rate beyond, and an answer must
    be read. Heads, addresses and bodies have their size.
    """

    shared: Connections
    """The state of all connections, set in a class of the server's own, see `protocol_of`."""

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], _loop: Any = None) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self.is_of_proxy = False
        self._settings = self.shared.settings
        self._most_head = self._settings.max_url_bytes + self._settings.max_header_bytes
        self._name = ""
        self._holding: Holding[LimitedProtocol] | None = None
        self._message: _Message | None = None
        self._body_bytes = 0
        self._refusal: tuple[int, str] | None = None
        self._is_refused = False
        self._receiving: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    @property
    def is_idle(self) -> bool:
        """True if no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def cut(self) -> None:
        """Ends the connection at once."""
        self.transport.abort()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        super().connection_made(transport)
        address = self.client[0] if self.client else ""
        self._name, self.is_of_proxy = client_of(address), self.shared.is_proxy(address)
        self._holding = self.shared.enter(self._name, self)
        if self._holding is None:
            is_greedy = self.shared.open.size_of(self._name) > 1
            status = 429 if is_greedy else 503
            self._is_refused = True
            self.shared.on_refused(self._name, status)
            self.transport.write(raw_answer(status, TOO_MANY))
            self.transport.close()  # and does not linger, as it would keep a file descriptor
            self._limit_sending()
            return
        self._limit_receiving(self._settings.header_timeout, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        if self._holding is not None:
            self.shared.open.remove(self._holding)
        self._give_back_body()
        for timer in (self._receiving, self._sending):
            if timer is not None:
                timer.cancel()
        self._receiving = self._sending = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if self._is_refused:
            return
        if self._message is None and self._receiving is None:
            self._limit_receiving(self._settings.header_timeout, self._head_is_late)
        view = memoryview(data)
        while view and not (self.transport.is_closing() or self._is_refused):
            before = self._message
            is_body = before is not None and before.has_head
            size = PIECE if is_body else max(1, self._most_head - (0 if before is None else before.raw))
            piece, view = view[:size], view[size:]
            super().data_received(bytes(piece))
            self._check(before, len(piece))

    def on_message_begin(self) -> None:
        """See httptools."""
        super().on_message_begin()
        self._message = _Message()

    def on_url(self, url: bytes) -> None:
        """See httptools."""
        assert self._message is not None
        self._message.url += len(url)
        if self._message.url > self._settings.max_url_bytes:
            self._refusal = 414, "The address is too long"
        else:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """See httptools."""
        assert self._message is not None
        self._message.headers += len(name) + len(value) + 4
        if self._message.headers > self._settings.max_header_bytes:
            self._refusal = 431, "The headers are too large"
        else:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """See httptools."""
        assert self._message is not None
        self._message.has_head, self._message.raw = True, 0
        self._message.began = time.monotonic()
        if not self.is_idle and len(self.pipeline) >= PIPELINED:
            self._refusal = 429, "Slow down: too many requests on one connection"
        if self._refusal is None:
            super().on_headers_complete()
            self._limit_receiving(self._settings.body_timeout, self._body_is_late)

    def on_body(self, body: bytes) -> None:
        """See httptools."""
        if self._refusal is None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        """See httptools."""
        self._limit_receiving(None)
        self._message = None
        if self._refusal is None:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        """See uvicorn."""
        super().on_response_complete()
        self._give_back_body()
        if self.transport.is_closing():
            self._limit_sending()
        elif self._message is not None and self._message.has_head:  # the rest of a body that is not needed
            self._limit_receiving(LINGER, self.cut)

    def timeout_keep_alive_handler(self) -> None:
        """See uvicorn."""
        super().timeout_keep_alive_handler()
        self._limit_sending()

    def pause_writing(self) -> None:
        """See asyncio."""
        super().pause_writing()
        self._limit_sending()

    def resume_writing(self) -> None:
        """See asyncio."""
        super().resume_writing()
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    def send_400_response(self, msg: str) -> None:
        """See uvicorn."""
        self.refuse(400, "Invalid request: this is not HTTP")

    def refuse(self, status: int, message: str) -> None:
        """Answers in place of the application, and closes the connection soon after."""
        if self.cycle is not None and not self.cycle.response_complete:
            if self.cycle.response_started or self.pipeline:
                self.cut()
                return
            self.cycle.disconnected = True  # the application learns that the client has gone
            self.cycle.message_event.set()
        self._answer(status, message)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        start = super()._start_asgi_task

        def begin() -> None:
            if not cycle.disconnected:
                start(cycle, app)

        self.shared.starts.add(self.loop, self._name, begin)

    def _check(self, before: _Message | None, size: int) -> None:
        """Counts what was just read, and refuses too much."""
        message = self._message
        if self._refusal is None and message is not None:
            message.raw += size if message is before else 0
            if not message.has_head:
                if message.raw >= self._most_head:
                    self._refusal = 431, "The headers are too large"
            elif message.raw > 2 * self._settings.max_upload_bytes + PIECE:
                self._refusal = 413, "The request is too large"
            elif self.is_idle:  # it is answered already, and this is thrown away
                pass
            elif self.shared.bodies.take(self._name, size, self.is_of_proxy):
                self._body_bytes += size
            else:
                self._refusal = 429, "Slow down: too many bytes at once"
        if self._refusal is not None and not self.transport.is_closing():
            self.refuse(*self._refusal)

    def _answer(self, status: int, message: str) -> None:
        self._is_refused = True
        self.shared.on_refused(self._name, status)
        if not self.transport.is_closing():
            self.transport.write(raw_answer(status, message))
            if self.transport.can_write_eof():
                self.transport.write_eof()
        self._limit_receiving(LINGER, self.cut)

    def _give_back_body(self) -> None:
        self.shared.bodies.give_back(self._name, self._body_bytes)
        self._body_bytes = 0

    def _limit_receiving(self, seconds: float | None, then: Callable[[], None] = lambda: None) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
        self._receiving = None if seconds is None else self.loop.call_later(seconds, then)

    def _limit_sending(self) -> None:
        if self._sending is None:
            self._sending = self.loop.call_later(self._settings.body_timeout, self.cut)

    def _head_is_late(self) -> None:
        self._receiving = None
        if self._message is None:  # nothing was sent
            self.transport.close()
        else:
            self.refuse(408, "The headers took too long")

    def _body_is_late(self) -> None:
        """Refuses a body that is too slow; time in which the application does not read does not count."""
        message = self._message
        assert message is not None
        late = message.began + self._settings.body_timeout + message.raw / SLOWEST - time.monotonic()
        if late > 0 or self.flow.read_paused:
            self._limit_receiving(max(late, 0.1), self._body_is_late)
        else:
            self.refuse(408, "The request took too long")


def protocol_of(connections: Connections) -> type[LimitedProtocol]:
    """Returns the class of a server's connections, for uvicorn."""
    return type("ServerProtocol", (LimitedProtocol,), {"shared": connections})


def _first_to_go(held: "list[Holding[LimitedProtocol]]") -> "Holding[LimitedProtocol]":
    """Returns a connection without a request, the oldest first; else the newest."""
    return next((holding for holding in held if holding.thing.is_idle), held[-1])
