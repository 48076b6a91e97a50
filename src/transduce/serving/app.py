"""The web application: both APIs, the page, and what holds for all answers."""

import json
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from transduce.errors import TransduceError
from transduce.serving.detection import Detector
from transduce.serving.failures import RefusedError
from transduce.serving.libretranslate import Files, describe, libretranslate
from transduce.serving.server import Server
from transduce.serving.v1 import v1

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
PAGES = {"index.html": "text/html", "page.css": "text/css", "page.js": "text/javascript"}
log = logging.getLogger("transduce.serving")


def build_app(server: Server) -> FastAPI:
    """The application of a server."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        server.documents.start()
        yield
        server.documents.close()

    app = FastAPI(title="Transduce", version=version("transduce"), docs_url=None, redoc_url=None, lifespan=lifespan)
    detector, files = Detector(), Files()
    app.include_router(libretranslate(server, detector, files))
    app.include_router(v1(server, detector, files))

    @app.get("/metrics", include_in_schema=False)
    def metrics(http: HTTPRequest) -> Response:
        if server.keys is not None:
            server.check_admin(http)
        return Response(server.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")

    @app.get("/", include_in_schema=False)
    @app.get("/pages/{name}", include_in_schema=False)
    def page(name: str = "index.html") -> Response:
        if name not in PAGES:
            raise RefusedError(404, "There is no such page")
        text = (resources.files("transduce.serving") / "pages" / name).read_text(encoding="utf-8")
        return Response(text, media_type=PAGES[name], headers={"Content-Security-Policy": POLICY})

    @app.exception_handler(RefusedError)
    async def refused(_: HTTPRequest, error: RefusedError) -> JSONResponse:
        headers = {"Retry-After": str(max(1, round(error.retry_after)))} if error.retry_after else None
        return JSONResponse({"error": error.message}, error.status, headers)

    @app.exception_handler(TransduceError)
    async def mistaken(_: HTTPRequest, error: TransduceError) -> JSONResponse:
        return JSONResponse({"error": str(error)[:1000]}, 400)

    @app.exception_handler(ValidationError)
    async def invalid(_: HTTPRequest, error: ValidationError) -> JSONResponse:
        return JSONResponse({"error": describe(error)}, 400)

    @app.exception_handler(RequestValidationError)
    async def invalid_body(_: HTTPRequest, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        return JSONResponse({"error": f"Invalid request: {first['loc'][-1]}: {first['msg']}"[:300]}, 400)

    @app.exception_handler(ClientDisconnect)
    async def gone(_: HTTPRequest, error: ClientDisconnect) -> JSONResponse:
        return JSONResponse({"error": "The client has gone away"}, 400)

    @app.exception_handler(HTTPException)
    async def other(_: HTTPRequest, error: HTTPException) -> JSONResponse:
        return JSONResponse({"error": str(error.detail)}, error.status_code, error.headers)

    @app.exception_handler(Exception)
    async def failed(_: HTTPRequest, error: Exception) -> JSONResponse:
        return JSONResponse({"error": "The server made a mistake, which its log tells"}, 500)

    app.add_middleware(Watch, server=server)
    if server.settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(server.settings.cors),
            allow_methods=["GET", "POST"],
            allow_headers=["authorization", "content-type"],
        )
    return app


class Watch:
    """Refuses bodies that are too large, sets headers of safety, counts and logs answers; no text is logged."""

    def __init__(self, app: ASGIApp, server: Server) -> None:
        self._app = app
        self._server = server

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, read = time.monotonic(), 500, 0
        settings = self._server.settings
        most = settings.max_upload_bytes
        if scope["path"] not in ("/translate_file", "/v1/translate_file"):
            most = min(most, 12 * settings.max_characters + 65536)
        scope.setdefault("state", {})

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > most:
                raise RefusedError(413, f"The request has more than {most:,} bytes")
            return message

        async def headed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [
                    *message.get("headers", []),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        try:
            await self._app(scope, limited, headed)
        finally:
            seconds = time.monotonic() - began
            route = scope.get("route")
            path = getattr(route, "path", "other")
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


class JsonLines(logging.Formatter):
    """A JSON object for each line of a log."""

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
