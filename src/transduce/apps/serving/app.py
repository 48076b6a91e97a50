"""The web application: all APIs and the page."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources

from fastapi import FastAPI, Response
from fastapi.exceptions import RequestValidationError
from fastapi.middleware.cors import CORSMiddleware
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse

from transduce.analysis.design import palettes
from transduce.apps.projects.watching import Watcher
from transduce.apps.serving.clients import is_loopback
from transduce.apps.serving.deepl.api import deepl
from transduce.apps.serving.deepl.deepl_documents import Jobs, document_routes
from transduce.apps.serving.detection import Detector
from transduce.apps.serving.libretranslate import libretranslate
from transduce.apps.serving.middleware import Watch, answer_error, failure
from transduce.apps.serving.projects import projects
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.apps.serving.v1 import v1
from transduce.apps.serving.word_questions import word_questions
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
FORWARDED = ("forwarded", "x-forwarded-for", "x-real-ip")


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
    detector = Detector(server.models.own_languages)
    app.include_router(libretranslate(server, detector))
    app.include_router(deepl(server, detector))
    app.include_router(document_routes(server, detector, jobs))
    app.include_router(v1(server, detector))
    if server.projects is not None:
        app.include_router(projects(server))
        app.include_router(word_questions(server))
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
        return answer_error(server, error, http.scope["path"])

    for kind in (OSError, TransduceError, ValidationError, RequestValidationError, ClientDisconnect, HTTPException):
        app.add_exception_handler(kind, answer)

    @app.exception_handler(Exception)
    async def failed(http: HTTPRequest, error: Exception) -> JSONResponse:
        return failure(http.scope["path"], "The server made a mistake; its log has the details", 500)

    app.add_middleware(Watch, server=server)
    if server.settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(server.settings.cors),
            allow_methods=["GET", "POST"] if server.projects is None else ["GET", "POST", "PUT", "DELETE"],
            allow_headers=["authorization", "content-type"],
        )
    return app


async def _check_may_read_metrics(server: Server, http: HTTPRequest) -> None:
    """Raises RefusedError (403) unless the client is an administrator or, without keys, on this machine."""
    settings = server.settings
    if settings.keys is not None:
        await server.admission.check_admin(http)
        return
    is_for_another = not settings.trusted_proxies and any(name in http.headers for name in FORWARDED)
    if not settings.public_metrics and (is_for_another or not is_loopback(http.client.host if http.client else "")):
        raise RefusedError(403, "Metrics are for this machine alone")
