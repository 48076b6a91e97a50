"""LibreTranslate's API, by its public documentation, so that its clients work unchanged."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Literal

from fastapi import APIRouter, Response
from pydantic import AliasChoices, BaseModel, Field, model_validator
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest
from starlette.responses import JSONResponse

from docsegments.document_formats import FORMATS, format_of, refusal_of
from docsegments.language_codes import english_name
from transduce.apps.projects.project import Project
from transduce.apps.serving.bodies import (
    FORM,
    JSON,
    URLENCODED,
    Texts,
    Values,
    described,
    described_errors,
    read_form,
    read_values,
)
from transduce.apps.serving.detection import Detector, without_tags
from transduce.apps.serving.documents.messages import File
from transduce.apps.serving.kept_files import download
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import joined
from transduce.apps.serving.server import Server
from transduce.base.version import VERSION
from transduce.inference.quality.quality_estimate import QualityEstimate, combined

MOST_ALTERNATIVES = 10
BODIES, ERRORS = (JSON, URLENCODED, FORM), described_errors("error")


def _blank_as_missing(body: Any) -> Any:
    return {key: value for key, value in body.items() if value != "" or key == "q"} if isinstance(body, dict) else body


class TranslateBody(BaseModel):
    """The body of a request to `/translate`."""

    q: Texts
    source: str = "auto"
    target: str
    format: Literal["text", "html"] = "text"
    alternatives: int = Field(0, ge=0, le=MOST_ALTERNATIVES)
    api_key: str | None = Field(None, validation_alias=AliasChoices("api_key", "apiKey"))

    blank_as_missing = model_validator(mode="before")(_blank_as_missing)


class DetectBody(BaseModel):
    """The body of a request to `/detect`."""

    q: str
    api_key: str | None = Field(None, validation_alias=AliasChoices("api_key", "apiKey"))


class FileBody(BaseModel):
    """The form of a request to `/translate_file`, as it is described; the server reads it piece by piece."""

    file: bytes
    source: str = "auto"
    target: str
    retranslate: bool = False
    project: str = ""
    """The name of a project, whose memory, terms and learned adapter are used."""
    api_key: str | None = None


FILE_BODY = described(FileBody, FORM)


@dataclass(frozen=True)
class Output:
    """The translation of a text."""

    text: str
    alternatives: Sequence[str] = ()
    quality: QualityEstimate | None = None
    """The estimate of how much a person will edit; None for mark-up, and where the model makes no estimates."""
    faults: Sequence[str] = ()


@dataclass(frozen=True)
class Upload:
    """A document that is to be translated."""

    file: File
    source: str
    target: str
    retranslate: bool = False
    """True if translations that the document has are replaced."""
    project: Project | None = None
    """The project whose memory, terms and learned adapter are used."""
    detector: Detector | None = None
    """Finds the sentences that are in the target language already, if nobody named the source's."""


async def read_upload(http: HTTPRequest, server: Server, detector: Detector) -> Upload:
    """Returns the document of a form, once its client is admitted; RefusedError (400) without one."""
    fields, files = await read_form(http, 0)
    upload = files.get("file")
    if upload is None:
        raise RefusedError(400, "Invalid request: missing file")
    file = File(await upload.read(), *safe_name(upload.filename or ""))
    await server.admission.admit(http, _text(fields, "api_key"))
    source, target = _text(fields, "source") or "auto", _text(fields, "target")
    project, name = None, _text(fields, "project")
    found_by = detector if source == "auto" else None
    if name:
        project = await server.project(name, None if source == "auto" else source, target)
        source = project.source
    if source == "auto":
        sources = [model.source for model in server.models.all if model.target == target]
        source = ""
        if sources:
            sample = await server.finish(http, server.sample_document(http, file, target))
            source = (await run_in_threadpool(detector.find_source, sample, sources, target, "document"))["language"]
            if source not in sources:
                raise RefusedError(
                    400, f"The document seems to be in {english_name(source)} already; name its source if not"
                )
    retranslate = _text(fields, "retranslate").lower() in ("true", "1", "yes", "on")
    return Upload(file, source, target, retranslate, project, found_by)


def keep(http: HTTPRequest, server: Server, upload: Upload, translated: bytes) -> str:
    """Keeps an upload's translation; returns the address to fetch it from."""
    path = PurePath(upload.file.name)
    key = server.files.keep(translated, f"{path.stem}.{upload.target}{path.suffix}", http.state.client)
    return str(http.url_for("download_file", key=key))


def _text(values: Values, name: str) -> str:
    value = values.get(name, "")
    return value if isinstance(value, str) else ""


def libretranslate(server: Server, detector: Detector) -> APIRouter:
    """Makes the routes of LibreTranslate's API."""
    router = APIRouter(tags=["LibreTranslate"])

    @router.get("/languages")
    async def languages() -> list[dict[str, Any]]:
        """List the source languages, each with its target languages."""
        targets: dict[str, list[str]] = {}
        for model in server.models.all:
            targets.setdefault(model.source, []).append(model.target)
            targets.setdefault(model.target, [])
        return [{"code": code, "name": english_name(code), "targets": into} for code, into in targets.items()]

    @router.get("/health")
    async def health() -> Response:
        """Report the server's status and models; 503 if a model is stuck."""
        is_stuck = server.is_stuck
        facts = {
            "status": "stuck" if is_stuck else "ok",
            "version": VERSION,
            "models": [
                {
                    "name": model.name,
                    "source": model.source,
                    "target": model.target,
                    "engine": server.paths.hide(model.engine),
                    "restarts": model.batcher.restarts,
                    **({"through": model.through} if model.through else {}),
                }
                for model in server.models.all
            ],
        }
        return JSONResponse(facts, 503 if is_stuck else 200)

    @router.get("/frontend/settings")
    async def frontend_settings() -> dict[str, Any]:
        """Return the settings that a page needs."""
        first = server.models.all[0]
        return {
            "apiKeys": server.admission.keys is not None,
            "keyRequired": server.admission.keys is not None,
            "charLimit": server.settings.max_characters,
            "frontendTimeout": 500,
            "suggestions": False,
            "filesTranslation": True,
            "supportedFilesFormat": [ending for kind in FORMATS.values() for ending in kind.endings] + [".txt"],
            "language": {
                "source": {"code": first.source, "name": english_name(first.source)},
                "target": {"code": first.target, "name": english_name(first.target)},
            },
        }

    @router.post("/detect", openapi_extra=described(DetectBody, *BODIES), responses=ERRORS)
    async def detect(http: HTTPRequest) -> list[dict[str, Any]]:
        """Detect the likely languages of a text, the surest first; confidences are percentages."""
        asked = DetectBody.model_validate(await read_values(http, 1))
        await server.admission.admit(http, asked.api_key, [asked.q])
        served = [code for model in server.models.all for code in (model.source, model.target)]
        return await run_in_threadpool(detector.detect, asked.q, served)

    @router.post("/translate", openapi_extra=described(TranslateBody, *BODIES), responses=ERRORS)
    async def translate(http: HTTPRequest) -> dict[str, Any]:
        """Translate one text, or a list."""
        asked = TranslateBody.model_validate(await read_values(http, server.settings.max_sentences))
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        await server.admission.admit(http, asked.api_key, texts)
        detected, sources = None, [model.source for model in server.models.all if model.target == asked.target]
        if asked.source == "auto" and sources and texts:
            read = [without_tags(text) for text in texts] if asked.format == "html" else texts
            detected = await run_in_threadpool(
                lambda: [detector.find_source(text, sources, asked.target) for text in read]
            )
        of_text = [fact["language"] for fact in detected] if detected else [asked.source] * len(texts)
        outputs = [Output(text) for text in texts]

        async def work() -> None:
            for source in dict.fromkeys(of_text or [asked.source]):
                if detected and source not in sources:  # it is in the target language already, and stays as it is
                    continue
                numbers = [number for number, language in enumerate(of_text) if language == source]
                translations = await translated(http, asked, source, [texts[number] for number in numbers])
                for number, output in zip(numbers, translations, strict=True):
                    outputs[number] = output

        await server.finish(http, work())
        answer: dict[str, Sequence[Any]] = {"translatedText": [output.text for output in outputs]}
        if detected:
            answer["detectedLanguage"] = detected
        if asked.alternatives:
            answer["alternatives"] = [output.alternatives for output in outputs]
        if any(output.quality for output in outputs):
            answer["quality"] = [output.quality for output in outputs]
            answer["faults"] = [output.faults for output in outputs]
        return {name: of_texts[0] for name, of_texts in answer.items()} if isinstance(asked.q, str) else answer

    async def translated(http: HTTPRequest, asked: TranslateBody, source: str, texts: Sequence[str]) -> list[Output]:
        """Returns the translation of each text of one language."""
        async with server.begin(source, asked.target) as model:
            if asked.format == "html":
                return [Output(page) for page in await server.translate_marked_up(http, model, texts)]
            n_best = asked.alternatives + 1
            search = server.settings.beam(n_best)
            results = []
            for text, sentences in zip(texts, await server.translate(model, texts, search), strict=True):
                output = joined(text, sentences, language=asked.target)
                every = (joined(text, sentences, n, asked.target) for n in range(1, n_best))
                others = list(dict.fromkeys(other for other in every if other != output))
                parts = [sentence.translation for sentence in sentences]
                quality = combined((part.quality, part.text) for part in parts)
                results.append(Output(output, others, quality, [fault for part in parts for fault in part.faults]))
            return results

    @router.post("/translate_file", openapi_extra=FILE_BODY, responses=ERRORS)
    async def translate_file(http: HTTPRequest) -> dict[str, str]:
        """Translate a document; the answer is its address, valid for ten minutes."""
        upload = await read_upload(http, server, detector)
        async with server.begin(upload.source, upload.target) as model:

            async def work() -> bytes:
                async with server.open_document(
                    http, model, upload.file, None, upload.project, upload.detector
                ) as document:
                    return (await document.translate(upload.retranslate))[0]

            translated = await server.finish(http, work(), 10 * server.settings.timeout)
        return {"translatedFileUrl": keep(http, server, upload, translated)}

    @router.head("/download_file/{key}", include_in_schema=False)
    @router.get("/download_file/{key}", responses=ERRORS, response_class=Response)
    async def download_file(http: HTTPRequest, key: str) -> Response:
        """Return a translated file, or a range of its bytes."""
        return download(http, server.files.find(key))

    return router


def safe_name(name: str) -> tuple[str, str | None]:
    """Returns an upload's name without folders and odd characters, and its format; RefusedError (400) if not known."""
    name = re.sub(r"[^A-Za-z0-9 ._-]+", "_", PurePath(name.replace("\\", "/")).name)[-80:].lstrip(". ")
    kind = "text" if name.lower().endswith(".txt") else format_of(name)
    if kind is None:
        if (refused := refusal_of(name)) is not None:
            raise RefusedError(400, f"Invalid request: file format not supported ({refused.what}); {refused.advice}")
        raise RefusedError(400, "Invalid request: file format not supported; see GET /frontend/settings")
    return name, kind
