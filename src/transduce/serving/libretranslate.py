"""LibreTranslate's API, by its public documentation, so that its clients work unchanged."""

import re
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import BaseModel, Field, ValidationError
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.requests import Request as HTTPRequest

from transduce.corpora.language_names import name_of
from transduce.documents.formats import FORMATS, format_of, refusal_of
from transduce.search.beam import Beam
from transduce.serving.detection import Detector
from transduce.serving.failures import RefusedError
from transduce.serving.server import Server, joined

MOST_ALTERNATIVES = 10
KEPT_SECONDS = 600.0
KEPT_FILES = 100


class TranslateBody(BaseModel):
    """What `/translate` is asked for."""

    q: str | list[str]
    source: str = "auto"
    target: str
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES)
    api_key: str | None = None


class DetectBody(BaseModel):
    """What `/detect` is asked for."""

    q: str
    api_key: str | None = None


@dataclass(frozen=True)
class _Kept:
    data: bytes
    name: str
    until: float


class Files:
    """Translated files until they are fetched, once, or for ten minutes; in memory only."""

    def __init__(self) -> None:
        self._files: dict[str, _Kept] = {}

    def keep(self, data: bytes, name: str) -> str:
        """The name under which to fetch it."""
        now = time.monotonic()
        self._files = {key: one for key, one in self._files.items() if one.until > now}
        if len(self._files) >= KEPT_FILES:
            raise RefusedError(503, "Too many files wait to be fetched; try again later", 60.0)
        key = secrets.token_urlsafe(24) + PurePath(name).suffix
        self._files[key] = _Kept(data, name, now + KEPT_SECONDS)
        return key

    def fetch(self, key: str) -> _Kept:
        """The file, which is gone then; RefusedError (404) where it is gone already."""
        found = self._files.pop(key, None)
        if found is None or found.until < time.monotonic():
            raise RefusedError(404, "There is no such file; each can be fetched once, within ten minutes")
        return found


@dataclass(frozen=True)
class Upload:
    """A document that is to be translated."""

    data: bytes
    name: str
    kind: str | None
    """Its format; None for one that its name tells."""
    source: str
    target: str
    retranslate: bool = False
    """Whether translations that it has are replaced."""

    @property
    def new_name(self) -> str:
        """What the translation is called."""
        path = PurePath(self.name)
        return f"{path.stem}.{self.target}{path.suffix}"


async def read_upload(http: HTTPRequest, server: Server, detector: Detector) -> Upload:
    """The document of a form, once its client is admitted; RefusedError (400) where there is none."""
    form = await http.form()
    given = {name: value for name, value in form.items() if isinstance(value, str)}
    upload = form.get("file")
    if not isinstance(upload, UploadFile):
        raise RefusedError(400, "Invalid request: missing file")
    name, kind = safe_name(upload.filename or "")
    server.admit(http, given.get("api_key"))
    data = await upload.read()
    source, target = given.get("source", "auto"), given.get("target", "")
    if source == "auto":
        sources = [one.source for one in server.models.all if one.target == target]
        source = (
            await _source_of(http, server, Upload(data, name, kind, "", target), detector, sources) if sources else ""
        )
    retranslate = given.get("retranslate", "").lower() in ("true", "1", "yes", "on")
    return Upload(data, name, kind, source, target, retranslate)


async def _source_of(
    http: HTTPRequest, server: Server, upload: Upload, detector: Detector, sources: Sequence[str]
) -> str:
    """The language of a document, as the beginning of its text tells."""
    sample = server.sample_document(http, upload.data, upload.name, upload.kind, upload.target)
    text = await server.finish(http, sample)
    found = await run_in_threadpool(detector.detect, text, sources)
    language: str = found[0]["language"]
    return language


def libretranslate(server: Server, detector: Detector, files: Files) -> APIRouter:
    """Its routes."""
    router = APIRouter(tags=["LibreTranslate"])

    @router.get("/languages")
    def languages() -> list[dict[str, Any]]:
        """The languages that can be translated from, and into which."""
        return languages_of(server)

    @router.get("/health")
    def health() -> dict[str, str]:
        """Whether the server works."""
        return {"status": "ok"}

    @router.get("/frontend/settings")
    def frontend_settings() -> dict[str, Any]:
        """What a page needs to know."""
        first = server.models.all[0]
        return {
            "apiKeys": server.keys is not None,
            "keyRequired": server.keys is not None,
            "charLimit": server.settings.max_characters,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": [ending for one in FORMATS.values() for ending in one.endings] + [".txt"],
            "language": {
                "source": {"code": first.source, "name": name_of(first.source)},
                "target": {"code": first.target, "name": name_of(first.target)},
            },
        }

    @router.post("/detect", openapi_extra=_body(DetectBody), responses=ERRORS)
    async def detect(http: HTTPRequest) -> list[dict[str, Any]]:
        """The language of a text, of those that are served; confidences are percentages."""
        asked = DetectBody.model_validate(await _values(http))
        server.admit(http, asked.api_key, [asked.q])
        return await run_in_threadpool(detector.detect, asked.q, [one.source for one in server.models.all])

    @router.post("/translate", openapi_extra=_body(TranslateBody), responses=ERRORS)
    async def translate(http: HTTPRequest) -> dict[str, Any]:
        """Translate one text, or a list."""
        asked = TranslateBody.model_validate(await _values(http))
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        server.admit(http, asked.api_key, texts)
        detected = None
        if asked.source == "auto":
            sources = [one.source for one in server.models.all if one.target == asked.target]
            if sources and texts:
                detected = await run_in_threadpool(lambda: [detector.detect(text, sources)[0] for text in texts])
        source = detected[0]["language"] if detected else asked.source
        async with server.begin(source, asked.target) as model:
            if asked.format == "html":
                outputs = await server.finish(http, server.translate_pages(http, model, texts))
                others: list[list[str]] = [[] for _ in texts]
            else:
                n_best = asked.alternatives + 1
                search = Beam(size=max(server.settings.beam_size, n_best), n_best=n_best)
                found = await server.finish(http, server.translate(model, texts, search))
                outputs = [joined(text, own) for text, own in zip(texts, found, strict=True)]
                others = [
                    list(dict.fromkeys(other for n in range(1, n_best) if (other := joined(text, own, n)) != output))
                    for text, own, output in zip(texts, found, outputs, strict=True)
                ]
        one = isinstance(asked.q, str)
        answer: dict[str, Any] = {"translatedText": outputs[0] if one else outputs}
        if detected:
            answer["detectedLanguage"] = detected[0] if one else detected
        if asked.alternatives:
            answer["alternatives"] = others[0] if one else others
        return answer

    @router.post("/translate_file", openapi_extra=FILE_BODY, responses=ERRORS)
    async def translate_file(http: HTTPRequest) -> dict[str, str]:
        """Translate a document; the answer tells where to fetch it, once."""
        upload = await read_upload(http, server, detector)
        async with server.begin(upload.source, upload.target) as model:

            async def work() -> bytes:
                async with server.open_document(http, model, upload.data, upload.name, upload.kind) as document:
                    return (await document.translate(upload.retranslate))[0]

            translated = await server.finish(http, work(), 10 * server.settings.timeout)
        return {"translatedFileUrl": str(http.url_for("download_file", key=files.keep(translated, upload.new_name)))}

    @router.get("/download_file/{key}", responses=ERRORS, response_class=Response)
    def download_file(key: str) -> Response:
        """A translated file, which is gone then."""
        kept = files.fetch(key)
        head = {"Content-Disposition": f'attachment; filename="{kept.name}"'}
        return Response(kept.data, media_type="application/octet-stream", headers=head)

    return router


def languages_of(server: Server) -> list[dict[str, Any]]:
    """The languages as `/languages` tells them: every code that is served, and its targets."""
    targets: dict[str, list[str]] = {}
    for model in server.models.all:
        targets.setdefault(model.source, []).append(model.target)
        targets.setdefault(model.target, [])
    return [{"code": code, "name": name_of(code), "targets": into} for code, into in targets.items()]


def safe_name(name: str) -> tuple[str, str | None]:
    """An upload's name without folders and odd characters, and its format; RefusedError (400) if not known."""
    name = re.sub(r"[^A-Za-z0-9 ._-]+", "_", PurePath(name.replace("\\", "/")).name)[-80:].lstrip(". ")
    kind = "text" if name.lower().endswith(".txt") else format_of(name)
    if kind is None:
        if (refused := refusal_of(name)) is not None:
            raise RefusedError(400, f"Invalid request: file format not supported ({refused.what}); {refused.advice}")
        raise RefusedError(400, "Invalid request: file format not supported; GET /frontend/settings tells which are")
    return name, kind


async def _values(http: HTTPRequest) -> dict[str, Any]:
    """What the query, a form or JSON say."""
    values: dict[str, Any] = dict(http.query_params)
    if http.headers.get("content-type", "").startswith(("application/x-www-form-urlencoded", "multipart/form-data")):
        return values | {name: value for name, value in (await http.form()).items() if isinstance(value, str)}
    if not (await http.body()).strip():
        return values
    try:
        found = await http.json()
    except (ValueError, RecursionError):
        raise RefusedError(400, "Invalid request: the body is not JSON") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "Invalid request: expected a JSON object")
    return values | {name: value for name, value in found.items() if value is not None}


def describe(error: ValidationError) -> str:
    """What is wrong with a request, in one line."""
    first = error.errors()[0]
    return f"Invalid request: {'.'.join(map(str, first['loc'])) or 'body'}: {first['msg']}"[:300]


def _body(kind: type[BaseModel]) -> dict[str, Any]:
    schema = kind.model_json_schema()
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    return {"requestBody": {"required": True, "content": {one: {"schema": schema} for one in kinds}}}


_ERROR = {"content": {"application/json": {"schema": {"type": "object", "properties": {"error": {"type": "string"}}}}}}
ERRORS: dict[int | str, dict[str, Any]] = {
    400: {"description": "Invalid request", **_ERROR},
    403: {"description": "An API key is missing or wrong", **_ERROR},
    404: {"description": "Not found", **_ERROR},
    413: {"description": "Too much at once", **_ERROR},
    429: {"description": "Slow down", **_ERROR},
    503: {"description": "Busy; Retry-After says when to try again", **_ERROR},
}
FILE_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file", "target"],
                    "properties": {
                        "file": {"type": "string", "format": "binary"},
                        "source": {"type": "string"},
                        "target": {"type": "string"},
                        "retranslate": {"type": "boolean"},
                        "api_key": {"type": "string"},
                    },
                }
            }
        },
    }
}
