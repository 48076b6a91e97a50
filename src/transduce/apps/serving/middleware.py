"""Middleware of the server, which all requests and answers pass; and answers to errors."""

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from urllib.parse import urlsplit

from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docsegments.budget import BUDGET, Budget, BudgetError
from transduce.apps.projects.project import DamagedProjectError, UnknownProjectError
from transduce.apps.projects.project_store import StoreError, UnknownSegmentError
from transduce.apps.serving.admission import size_of
from transduce.apps.serving.bodies import FORM, JSON, URLENCODED, content_type, has_body, is_json, unsupported
from transduce.apps.serving.clients import client_of, is_loopback
from transduce.apps.serving.connections import TOO_LARGE, TOO_LONG
from transduce.apps.serving.deepl.api import is_deepl, without_project
from transduce.apps.serving.projects import is_of_projects, takes_file
from transduce.apps.serving.quotas import Holding, Turns
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import LOOPBACK, ServerSettings
from transduce.base.errors import TransduceError

PIECE = 65_536
"""Bytes of an answer that are sent at a time."""
STARTS_AT_ONCE = 16
"""The most requests that begin in one turn of the event loop."""
MOST_GLOSSARY_BYTES = 4 * 2**20
"""The most bytes of a request to make or change a glossary."""
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
)
log = logging.getLogger("transduce.serving")


class Watch:
    """Refuses requests for other hosts, of other sites' pages, of unknown clients and with large bodies before they are
    read; gives each a budget; sends answers in pieces with security headers, counts and logs them, but no text."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server
        self._hosts = Hosts(server.settings)
        self._starts = Turns(STARTS_AT_ONCE, STARTS_AT_ONCE)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, is_begun, is_refused = time.monotonic(), 500, False, False
        start: Message = {}
        scope.setdefault("state", {})
        # nothing here reads cookies, but the framework would, and Python before 3.12.6 in quadratic time
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"]
        http, most = HTTPRequest(scope), self._most(scope["path"])
        address = client_of(http.client.host if http.client else "")
        is_upload = POSTED.get(without_project(scope["path"])) == (FORM,)
        budget = Budget(self._server.settings.timeout * (10 if is_upload else 1))
        BUDGET.set(budget)

        admission = self._server.admission
        body_bytes: Holding[None] | None = None

        def client() -> str:
            return str(getattr(http.state, "client", address))

        async def limited() -> Message:
            nonlocal body_bytes
            message = await receive()
            body_bytes = body_bytes or admission.bodies.take(client(), None, 0)
            admission.bodies.grow(body_bytes, len(message.get("body", b"")))
            if body_bytes.size > most:
                raise too_large(most)
            admission.check_unknown(http, body_bytes.size)
            return message

        async def headed(message: Message) -> None:
            nonlocal status, start, is_begun, is_refused
            if message["type"] == "http.response.start":
                status, start = message["status"], message  # which is sent with the body, since that may be refused
                return
            if is_refused:
                return
            body, unread = message.get("body", b""), ExitStack()
            try:
                unread.enter_context(admission.answers.hold(client(), None, len(body)))
            except RefusedError as error:
                if not is_begun:
                    refusal = answer_error(self._server, error, scope["path"])
                    status, body, is_refused = error.status, bytes(refusal.body), True
                    start = {**start, "status": status, "headers": refusal.raw_headers}
                    message = {"type": message["type"]}
            with unread:
                if not is_begun:
                    is_begun = True
                    await send({**start, "headers": [*start.get("headers", []), *HEADERS]})
                for at in range(0, len(body) or 1, PIECE):  # each once the one before is nearly sent
                    is_last = at + PIECE >= len(body) and not message.get("more_body")
                    await send({**message, "body": body[at : at + PIECE], "more_body": not is_last})

        try:
            try:
                has_begun = await self._starts.begin(address)
                try:
                    await self._enter(http, most)
                finally:
                    has_begun()
            except RefusedError as error:
                await answer_error(self._server, error, scope["path"])(scope, receive, headed)
            else:
                await self._app(scope, limited, headed)
        except asyncio.CancelledError:  # the grace is over
            if not is_begun:
                await failure(scope["path"], "The server ends", 503)(scope, receive, headed)
        finally:
            budget.is_over = True
            if body_bytes is not None:
                admission.bodies.give_back(body_bytes)
            admission.leave(http, status)
            seconds = time.monotonic() - began
            path = _counted_as(scope)
            self._server.metrics.request(path, status, seconds)
            state = scope["state"]
            log.info(
                "answered",
                extra={
                    "facts": {
                        "method": scope["method"],
                        "path": path,
                        "status": status,
                        "milliseconds": round(1000 * seconds, 1),
                        "client": state.get("client", ""),
                        "characters": state.get("characters", 0),
                    }
                },
            )

    def _most(self, path: str) -> int:
        """Returns the most bytes that a request may have."""
        settings = self._server.settings
        if POSTED.get(without_project(path)) == (FORM,) or takes_file(path):
            return settings.max_upload_bytes
        is_glossary = is_deepl(path) and "/glossaries" in path
        return min(settings.max_upload_bytes, MOST_GLOSSARY_BYTES if is_glossary else settings.max_body_bytes)

    async def _enter(self, http: HTTPRequest, most: int) -> None:
        """Raises RefusedError for a request that is refused before its body is read."""
        settings, scope = self._server.settings, http.scope
        if len(scope.get("raw_path", b"")) + len(scope["query_string"]) > settings.max_url_bytes:
            raise RefusedError(*TOO_LONG)
        if sum(len(name) + len(value) + 4 for name, value in scope["headers"]) > settings.max_header_bytes:
            raise RefusedError(*TOO_LARGE)
        host = http.headers.get("host")
        if (host is None and http.scope["http_version"] != "1.0") or not self._hosts.takes(host):
            raise RefusedError(421, "The server does not go by this name")
        path = http.scope["path"]
        kinds = POSTED.get(without_project(path)) if http.method == "POST" else None
        if kinds is None and is_deepl(path):  # whose keys may be in any request, even in the body of one to get
            kinds = (JSON, FORM, URLENCODED)
        if is_of_projects(path):
            kinds = (JSON,)
        is_read = http.method in ("GET", "HEAD", "OPTIONS") and not is_deepl(path)  # where a text may be in the query
        if not is_read and not self._is_of_own_page(http):
            raise RefusedError(403, "Pages of other sites may not use this server; it may allow their origin (cors)")
        if kinds is None:
            return
        await self._server.admission.enter(http, FORM in kinds)  # the JSON of our own API holds no key
        if size_of(http) > most:
            raise too_large(most)
        kind = content_type(http)
        if takes_file(path) and http.method == "PUT":  # of any kind: no page of elsewhere may send one
            return
        if has_body(http) and not (kind in kinds or (JSON in kinds and is_json(kind))):
            raise unsupported()

    def _is_of_own_page(self, http: HTTPRequest) -> bool:
        """Returns False for a request that a browser sends for a page of a site that the server does not know.

        A browser asks before it sends most kinds of requests (CORS), but not before it sends a form.
        """
        site, origin = http.headers.get("sec-fetch-site"), http.headers.get("origin")
        if site in ("same-origin", "none") or (origin is None and site != "cross-site"):
            return True
        scheme, _, name = (origin or "").partition("://")
        if scheme.endswith("-extension") or (name and name == http.headers.get("host")):  # a browser's, or our own
            return True
        return origin is not None and not {"*", origin}.isdisjoint(self._server.settings.cors)


def _counted_as(scope: Scope) -> str:
    """Returns the path by which a request is counted, which names no project, also of one that was refused early."""
    path = without_project(scope["path"])
    if path in POSTED:
        return path if path == scope["path"] else f"/projects/{{project}}{path}"
    return str(getattr(scope.get("route"), "path", "other"))


POSTED = {
    "/translate": (JSON, FORM, URLENCODED),
    "/detect": (JSON, FORM, URLENCODED),
    "/translate_file": (FORM,),
    "/v1/translate": (JSON,),
    "/v1/translate_file": (FORM,),
    "/v1/segments": (FORM,),
    "/v2/document": (FORM,),
}
"""The kinds of bodies that a path accepts; an upload's is a form."""


def too_large(most: int) -> RefusedError:
    """Returns an error for a body of too many bytes."""
    return RefusedError(413, f"The request has more than {most:,} bytes")


class Hosts:
    """The names that a server accepts in `Host`, as a defence against DNS rebinding."""

    def __init__(self, settings: ServerSettings) -> None:
        self._names: Sequence[str] = [name.lower() for name in settings.allowed_hosts]
        self._takes_all = "*" in self._names or (settings.is_public and not self._names)
        if not settings.allowed_hosts:
            self._names = [settings.host.lower(), *LOOPBACK]

    def takes(self, header: str | None) -> bool:
        """Returns True if a request may name this host; one of HTTP/1.0 names none, and no browser sends it."""
        if self._takes_all or header is None:
            return True
        try:
            parsed = urlsplit(f"//{header.strip()}")
            name, _ = (parsed.hostname or "").removesuffix("."), parsed.port
        except ValueError:
            return False
        if not name or not set(header).isdisjoint("@/?#\\"):
            return False
        is_ours = name == "localhost" or is_loopback(name)
        return is_ours or any(name == own or (own[:2] == "*." and name.endswith(own[1:])) for own in self._names)


def failure(path: str, message: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns an answer with an error, in the form of the path's API."""
    return JSONResponse({"message" if is_deepl(path) else "error": message}, status, headers)


def answer_error(server: Server, error: Exception, path: str) -> JSONResponse:
    """Returns the answer to a request that is refused or wrong; raises an error that is neither."""
    match error:
        case RefusedError():
            headers = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after else None
            return failure(path, error.message, error.status, headers)
        case HTTPException():
            return failure(path, str(error.detail), error.status_code, error.headers)
        case DamagedProjectError():
            return answer_error(server, RefusedError(503, server.told(error), 60.0), path)
        case ClientDisconnect():
            message = "The client has gone away"
        case OSError() | StoreError():
            log.error("a request is refused: %s", error)
            why = str(getattr(error, "strerror", None) or "a file of a project").lower()
            refusal = RefusedError(503, f"The server cannot do this now ({why}); see its log", 10.0)
            return answer_error(server, refusal, path)
        case BudgetError():
            return answer_error(server, RefusedError(413, f"The request is given up: {error}"), path)
        case UnknownProjectError() | UnknownSegmentError():
            return answer_error(server, RefusedError(404, server.told(error)), path)
        case ValidationError():
            first = error.errors()[0]
            message = f"Invalid request: {'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"[:300]
        case RequestValidationError():
            first = error.errors()[0]
            message = f"Invalid request: {first['loc'][-1]}: {first['msg']}"[:300]
        case TransduceError():
            message = server.told(error)
        case _:
            raise error
    return failure(path, message, 400)
