"""The web application: all APIs, the page, and the rules for all answers."""

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from importlib import resources
from typing import Any
from urllib.parse import urlsplit

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from docsegments.budget import BUDGET, Budget, BudgetError
from transduce.analysis.design import palettes
from transduce.apps.projects.project import DamagedProjectError, UnknownProjectError
from transduce.apps.projects.project_store import StoreError, UnknownSegmentError
from transduce.apps.projects.watching import Watcher
from transduce.apps.serving.admission import size_of
from transduce.apps.serving.bodies import FORM, JSON, URLENCODED, content_type, has_body, is_json, unsupported
from transduce.apps.serving.clients import client_of, is_loopback
from transduce.apps.serving.connections import TOO_LARGE, TOO_LONG
from transduce.apps.serving.deepl.api import deepl, is_deepl, without_project
from transduce.apps.serving.deepl.deepl_documents import Jobs, document_routes
from transduce.apps.serving.detection import Detector
from transduce.apps.serving.libretranslate import libretranslate
from transduce.apps.serving.projects import is_of_projects, projects, takes_file
from transduce.apps.serving.quotas import Holding, Turns
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import LOOPBACK, ServerSettings
from transduce.apps.serving.v1 import v1
from transduce.base.errors import TransduceError
from transduce.base.version import VERSION

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript"}
PAGES = ("index.html", "page.css", "page.js", "common.js")
EDITOR = ("editor.html", "editor.css", "editor.js")
"""The page that needs projects."""
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
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")
log = logging.getLogger("transduce.serving")


def build_app(server: Server) -> FastAPI:
    """Builds the web application of a server."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        server.documents.start()
        watcher = None if server.projects is None else Watcher(server.projects, server.learning)
        yield
        jobs.close()
        if watcher is not None:
            watcher.close()
        server.learning.close()
        server.terms.close()
        if server.projects is not None:
            server.projects.close()
        server.documents.close()
        server.models.close()

    jobs = Jobs()
    app = FastAPI(title="Transduce", version=VERSION, docs_url=None, redoc_url=None, lifespan=lifespan)
    detector = Detector()
    app.include_router(libretranslate(server, detector))
    app.include_router(deepl(server, detector))
    app.include_router(document_routes(server, detector, jobs))
    app.include_router(v1(server, detector))
    if server.projects is not None:
        app.include_router(projects(server))
        for routes in (deepl(server, detector), document_routes(server, detector, jobs)):
            app.include_router(routes, prefix="/projects/{project}", include_in_schema=False)

    @app.get("/metrics", include_in_schema=False)
    async def metrics(http: HTTPRequest) -> Response:
        await _check_may_read_metrics(server, http)
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    names = PAGES if server.projects is None else (*PAGES, *EDITOR)
    texts = {name: (resources.files("transduce.apps.serving") / "pages" / name).read_bytes() for name in names}
    texts["page.css"] = palettes().encode() + texts["page.css"]

    @app.get("/", include_in_schema=False)
    @app.get("/pages/{name}", include_in_schema=False)
    async def page(name: str = "index.html") -> Response:
        if name not in texts:
            raise RefusedError(404, "There is no such page")
        kind = KINDS[name.rpartition(".")[2]]
        return Response(texts[name], media_type=kind, headers={"Content-Security-Policy": POLICY})

    @app.get("/editor", include_in_schema=False)
    async def editor() -> Response:
        if server.projects is None:
            raise RefusedError(404, "The editor needs projects; serve with a folder of them (projects)")
        return await page("editor.html")

    async def answer(http: HTTPRequest, error: Exception) -> JSONResponse:
        return _answer(server, error, http.scope["path"])

    for kind in (OSError, TransduceError, ValidationError, RequestValidationError, ClientDisconnect, HTTPException):
        app.add_exception_handler(kind, answer)

    @app.exception_handler(Exception)
    async def failed(http: HTTPRequest, error: Exception) -> JSONResponse:
        return _failure(http.scope["path"], "The server made a mistake; its log has the details", 500)

    app.add_middleware(Watch, server=server)
    if server.settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(server.settings.cors),
            allow_methods=["GET", "POST"] if server.projects is None else ["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type"],
        )
    return app


def _failure(path: str, message: str, status: int, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """Returns an answer with an error, in the form of the path's API."""
    return JSONResponse({"message" if is_deepl(path) else "error": message}, status, headers)


def _answer(server: Server, error: Exception, path: str) -> JSONResponse:
    """Returns the answer to a request that is refused or wrong; raises an error that is neither."""
    match error:
        case RefusedError():
            headers = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after else None
            return _failure(path, error.message, error.status, headers)
        case HTTPException():
            return _failure(path, str(error.detail), error.status_code, error.headers)
        case DamagedProjectError():
            return _answer(server, RefusedError(503, server.told(error), 60.0), path)
        case ClientDisconnect():
            message = "The client has gone away"
        case OSError() | StoreError():
            log.error("a request is refused: %s", error)
            why = str(getattr(error, "strerror", None) or "a file of a project").lower()
            return _answer(server, RefusedError(503, f"The server cannot do this now ({why}); see its log", 10.0), path)
        case BudgetError():
            return _answer(server, RefusedError(413, f"The request is given up: {error}"), path)
        case UnknownProjectError() | UnknownSegmentError():
            return _answer(server, RefusedError(404, server.told(error)), path)
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
    return _failure(path, message, 400)


async def _check_may_read_metrics(server: Server, http: HTTPRequest) -> None:
    """Raises RefusedError (403) unless the client is an administrator or, without keys, on this machine."""
    settings = server.settings
    if settings.keys is not None:
        await server.admission.check_admin(http)
        return
    is_for_another = not settings.trusted_proxies and any(name in http.headers for name in FORWARDED)
    if not settings.public_metrics and (is_for_another or not is_loopback(http.client.host if http.client else "")):
        raise RefusedError(403, "Metrics are for this machine alone")


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
                    refusal = _answer(self._server, error, scope["path"])
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
                await _answer(self._server, error, scope["path"])(scope, receive, headed)
            else:
                await self._app(scope, limited, headed)
        except asyncio.CancelledError:  # the grace is over
            if not is_begun:
                await _failure(scope["path"], "The server ends", 503)(scope, receive, headed)
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


class JsonLines(logging.Formatter):
    """Formats each line of a log as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        facts: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        return json.dumps(facts)
