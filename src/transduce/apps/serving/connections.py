"""HTTP connections with limits in time, size and number, counted by client.

`Connection` stands between asyncio and uvicorn's protocol, and counts what passes through it. uvicorn reads requests,
lets them wait for each other on a connection, and closes one that has none for too long.
"""

import asyncio
import json
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from starlette.requests import Request as HTTPRequest
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from transduce.apps.serving.bodies import has_body
from transduce.apps.serving.clients import client_of
from transduce.apps.serving.quotas import Holding, Quota, newest
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server_settings import ServerSettings

SLOWEST = 32_768
"""The lowest rate of a body in bytes a second, beyond those that come within the time for a body."""
LINGER = 2.0
"""Seconds in which a client can read why it was refused before its connection is cut."""
PIECE = 2048
"""Bytes that uvicorn reads at a time; requests among them wait in memory for the answer to the first."""
RECEIVED_AT_ONCE = 2**18
"""The most bytes that asyncio hands on before a request whose head is among them begins."""

TOO_LONG, TOO_LARGE = (414, "The address is too long"), (431, "The headers are too large")


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
    """The open connections of a server; one client has at most half, see `Quota`."""

    def __init__(self, settings: ServerSettings, most: int) -> None:
        self.settings = settings
        self.open: Quota[Connection] = Quota(
            "connections are open",
            most,
            max(1, most // 2),
            own=_first_idle,
            others=lambda held: _first_idle(held) or newest(held),
        )
        self.open.on_lost = lambda connection: connection.cut()
        self.by_address: dict[tuple[str, int], Connection] = {}
        self.on_refused: Callable[[str, int], None] = lambda client, status: None
        """Called with client and status for answers that no application gave."""

    def protocol(self, *args: Any, **kwargs: Any) -> "Connection":
        """Makes a connection, for uvicorn, with the arguments of its own protocols."""
        return Connection(self, *args, **kwargs)

    def limited(self, app: ASGIApp) -> ASGIApp:
        """Returns an application whose requests have the limits of their connections."""

        async def call(scope: Scope, receive: Receive, send: Send) -> None:
            connection = self.by_address.get(tuple(scope.get("client") or ())[:2])
            if connection is None or scope["type"] != "http":
                await app(scope, receive, send)
            else:
                await connection.answer(app, scope, receive, send)

        return call


class Connection(asyncio.Protocol):
    """A connection that ends if a client takes too long, or sends too much before anyone has read it.

    A head has its time and size, a body some time and a lowest rate beyond, and an answer must be read.
    """

    def __init__(
        self,
        shared: Connections,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        self.is_idle = True
        """True if no request is being answered."""
        self._shared, self._settings = shared, shared.settings
        self._http = HttpToolsProtocol(config, server_state, app_state, _loop)
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._address = "", 0
        self._holding: Holding[Connection] | None = None
        self._is_refused = False
        self._unread = bytearray()
        """Bytes that the client sent, and that uvicorn has not read yet."""
        self._size = 0
        """Bytes of the head of the next request, or beyond the head of the one in progress."""
        self._is_address = True
        """True until the first line of the next head has ended."""
        self._end_of_head: bytes | None = b""
        """The last bytes of a head that goes on; None after a blank line, until the request begins."""
        self._receiving: asyncio.TimerHandle | None = None
        self._sending: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """See asyncio."""
        self._transport = transport
        self._address = tuple((transport.get_extra_info("peername") or ("", 0))[:2])
        host = self._address[0]
        try:
            is_limited = not self._settings.trusts(host)
            self._holding = self._shared.open.take(client_of(host), self, is_limited=is_limited)
        except RefusedError as error:
            self._is_refused = True
            self._shared.on_refused(client_of(host), error.status)
            transport.write(raw_answer(error.status, error.message))
            transport.close()  # and does not linger, as it would keep a file descriptor
            self._limit_sending()
            return
        self._shared.by_address[self._address] = self
        self._http.connection_made(transport)
        self._limit_receiving(self._settings.header_timeout, self._head_is_late)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio."""
        self._limit_receiving(None)
        self.resume_writing()
        if self._holding is None:
            return
        self._shared.open.give_back(self._holding)
        self._shared.by_address.pop(self._address, None)
        if self.is_idle and self._size and not self._is_refused:  # it was not HTTP, or not all of a head
            self._shared.on_refused(self._holding.client, 400)
        self._http.connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """See asyncio."""
        if not self._is_refused:
            self._unread += data
            self._hand_on()

    def eof_received(self) -> None:
        """See asyncio."""
        self._http.eof_received()

    def pause_writing(self) -> None:
        """See asyncio."""
        self._http.pause_writing()
        self._limit_sending()

    def resume_writing(self) -> None:
        """See asyncio."""
        if self._holding is not None:
            self._http.resume_writing()
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None

    @property
    def has_request(self) -> bool:
        """True from the end of a request's head to that of its answer."""
        return not self.is_idle or self._end_of_head is None

    def cut(self) -> None:
        """Ends the connection at once."""
        self._transport.abort()

    async def answer(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Lets an application answer a request, whose head has come."""
        is_read, size, waited = not has_body(HTTPRequest(scope)), 0, 0.0
        self.is_idle, self._size, self._is_address, self._end_of_head = False, 0, True, b""
        self._limit_receiving(None)
        if self._sending is not None and not self._transport.get_write_buffer_size():
            self.resume_writing()

        async def read() -> Message:
            """Reads a part of the body; time in which the application does not read does not count."""
            nonlocal is_read, size, waited
            if is_read:
                return await receive()
            began = time.monotonic()
            self._loop.call_soon(self._hand_on)
            try:
                async with asyncio.timeout(self._settings.body_timeout + size / SLOWEST - waited):
                    message = await receive()
            except TimeoutError:
                raise RefusedError(408, "The request took too long") from None
            waited += time.monotonic() - began
            size += len(message.get("body", b""))
            is_read = not message.get("more_body")
            return message

        async def write(message: Message) -> None:
            """Sends a part of the answer; before its end, a body that was not needed is read for a while."""
            if not (is_read or message["type"] == "http.response.start" or message.get("more_body")):
                await send({**message, "more_body": True})
                try:
                    async with asyncio.timeout(LINGER):
                        while not is_read:
                            await read()
                except (TimeoutError, RefusedError, asyncio.CancelledError):
                    self.cut()
                message = {"type": message["type"], "body": b""}
            await send(message)

        try:
            await app(scope, read, write)
        finally:
            self.is_idle, self._size = True, 0
            if self._transport.get_write_buffer_size():
                self._limit_sending()
            self._loop.call_soon(self._hand_on)

    def _hand_on(self) -> None:
        """Lets uvicorn read what came, until it wants no more for now."""
        while self._unread and self._transport.is_reading():
            piece = bytes(self._unread[:PIECE])
            del self._unread[:PIECE]
            self._count(piece)
            if not self._is_refused:
                self._http.data_received(piece)

    def _count(self, piece: bytes) -> None:
        """Counts what uvicorn reads next, and refuses too much."""
        self._size += len(piece)
        if not self.is_idle:
            if self._size > 2 * self._settings.max_upload_bytes + PIECE:  # in which no application sees a body
                self._is_refused = True
                self.cut()
            return
        if self._receiving is None:
            self._limit_receiving(self._settings.header_timeout, self._head_is_late)
        self._is_address &= b"\n" not in piece
        if self._end_of_head is not None:
            seen = self._end_of_head + piece
            self._end_of_head = None if b"\r\n\r\n" in seen else seen[-3:]
        most = self._settings.max_url_bytes + self._settings.max_header_bytes
        if self._size > most + (RECEIVED_AT_ONCE if self._end_of_head is None else 0):
            self._refuse(*(TOO_LONG if self._is_address else TOO_LARGE))

    def _head_is_late(self) -> None:
        if self._size:
            self._refuse(408, "The headers took too long")
        else:
            self._transport.close()

    def _refuse(self, status: int, message: str) -> None:
        """Answers in place of an application, and closes the connection soon after."""
        assert self._holding is not None
        self._is_refused = True
        self._unread.clear()
        self._shared.on_refused(self._holding.client, status)
        self._transport.write(raw_answer(status, message))
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._limit_receiving(LINGER, self.cut)

    def _limit_receiving(self, seconds: float | None, then: Callable[[], None] = lambda: None) -> None:
        if self._receiving is not None:
            self._receiving.cancel()
        self._receiving = None if seconds is None else self._loop.call_later(seconds, then)

    def _limit_sending(self) -> None:
        if self._sending is None:
            self._sending = self._loop.call_later(self._settings.body_timeout, self._cut_if_unread)

    def _cut_if_unread(self) -> None:
        self._sending = None
        if self._transport.get_write_buffer_size():
            self.cut()


def _first_idle(held: list[Holding[Connection]]) -> Holding[Connection] | None:
    return next((holding for holding in held if not holding.thing.has_request), None)
