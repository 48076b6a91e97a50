"""Documents of DeepL's API: uploaded, translated while the client asks how far that is, and fetched."""

import asyncio
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any, Literal

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest

from docsegments.budget import BUDGET, Budget
from transduce.apps.serving.bodies import FORM, described, read_form, read_values
from transduce.apps.serving.deepl.deepl_bodies import ERRORS, KINDS, DocumentBody, DocumentKeyBody
from transduce.apps.serving.deepl.deepl_glossaries import find_glossary
from transduce.apps.serving.deepl.deepl_languages import choose_models
from transduce.apps.serving.detection import Detector
from transduce.apps.serving.documents.messages import File
from transduce.apps.serving.kept_files import KEPT_SECONDS, download
from transduce.apps.serving.libretranslate import safe_name
from transduce.apps.serving.quotas import Quota, nothing
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.base.errors import TransduceError

MOST_UNFINISHED, MOST_UNFINISHED_EACH = 16, 4
"""The most documents that are translated or wait for it, of all clients and of each."""
MOST_FINISHED = 10_000
"""The most documents whose state is remembered."""
log = logging.getLogger("transduce.serving")


@dataclass
class Job:
    """A document that is translated after its upload was answered."""

    client: str
    id: str = field(default_factory=lambda: secrets.token_hex(16).upper())
    key: str = field(default_factory=lambda: secrets.token_hex(32).upper())
    """The secret with which a client asks for the document."""
    status: Literal["queued", "translating", "done", "error"] = "queued"
    share: float = 0.0
    """The share that is done."""
    began: float = field(default_factory=time.monotonic)
    ended: float | None = None
    characters: int = 0
    file: str = ""
    """The key of the translated file."""
    error: str = ""
    task: "asyncio.Task[None] | None" = None

    def describe(self) -> dict[str, Any]:
        """Returns the state, as DeepL's API reports it."""
        described: dict[str, Any] = {"document_id": self.id, "status": self.status}
        match self.status:
            case "translating" if self.share > 0:
                elapsed = time.monotonic() - self.began
                described["seconds_remaining"] = round(elapsed * (1 - self.share) / self.share)
            case "done":
                described["billed_characters"] = self.characters
            case "error":
                described["error_message"] = described["message"] = self.error
        return described


class Jobs:
    """Documents that are translated, and those that were in the last ten minutes."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._unfinished: Quota[Job] = Quota(
            "documents are not finished", MOST_UNFINISHED, MOST_UNFINISHED_EACH, None, nothing
        )

    def start(self, client: str, work: Callable[[Job], Awaitable[str]], tell: Callable[[Exception], str]) -> Job:
        """Starts work on a document, which returns the key of the translated file; `tell` says what clients are told of
        an error.

        Raises RefusedError if the client (429) or all clients together (503) have too many that are not finished.
        """
        self._forget()
        job = Job(client)
        holding = self._unfinished.take(client, job, seconds=10.0)
        self._jobs[job.id] = job
        job.task = asyncio.create_task(_finish(job, work, tell))
        job.task.add_done_callback(lambda _: self._unfinished.give_back(holding))
        return job

    def find(self, id: str, key: str) -> Job:
        """Returns a document; RefusedError (404) without it, or for a wrong key."""
        job = self._jobs.get(id)
        if job is None or not secrets.compare_digest(job.key.encode(), key.encode(errors="replace")):
            raise RefusedError(404, "Document not found; each is kept for ten minutes at most")
        return job

    def close(self) -> None:
        """Gives up what is not finished."""
        for job in self._jobs.values():
            if job.task is not None:
                job.task.cancel()

    def _forget(self) -> None:
        """Forgets documents that were finished ten minutes ago, and the oldest of too many."""
        now = time.monotonic()
        finished = [job for job in self._jobs.values() if job.ended is not None]
        old = [job for job in finished if job.ended is not None and job.ended + KEPT_SECONDS <= now]
        for job in [*old, *finished[: max(0, len(finished) - MOST_FINISHED)]]:
            self._jobs.pop(job.id, None)


async def _finish(job: Job, work: Callable[[Job], Awaitable[str]], tell: Callable[[Exception], str]) -> None:
    try:
        job.file = await work(job)
        job.status, job.share = "done", 1.0
    except (RefusedError, TransduceError) as error:
        job.status, job.error = "error", tell(error)
    except TimeoutError:
        job.status, job.error = "error", "This took too long; divide the document"
    except asyncio.CancelledError:
        job.status, job.error = "error", "The server ends"
        raise
    except Exception:
        log.exception("a document was not translated")
        job.status, job.error = "error", "The server made a mistake; its log has the details"
    finally:
        job.ended, job.task = time.monotonic(), None


def document_routes(server: Server, detector: Detector, jobs: Jobs) -> APIRouter:
    """Makes the routes of documents."""
    router = APIRouter(prefix="/v2/document", tags=["DeepL"])

    @router.post("", openapi_extra=described(DocumentBody, FORM), responses=ERRORS)
    async def upload(http: HTTPRequest) -> dict[str, str]:
        """Upload a document to be translated; the answer has what is needed to ask for it."""
        fields, files = await read_form(http, 0)
        asked = DocumentBody.model_validate(fields)
        project = await server.admit(http, asked.auth_key)
        if "file" not in files:
            raise RefusedError(400, "Invalid request: missing file")
        asked.check()
        name, kind = safe_name(asked.filename or files["file"].filename or "")
        ending = PurePath(name).suffix.removeprefix(".")
        if asked.output_format is not None and asked.output_format.lower() != ending.lower():
            raise RefusedError(400, "Value for 'output_format' not supported: a document keeps its format")
        models = choose_models(server.models.all, asked.source_lang, asked.target_lang, project)
        glossary = await find_glossary(http, server, asked.glossaries, models[0])
        file, client = File(await files["file"].read(), name, kind), str(http.state.client)

        async def work(job: Job) -> str:
            def tell(share: float) -> None:
                job.share = share

            seconds = 10 * server.settings.timeout
            BUDGET.set(Budget(seconds))  # its own: that of the upload ends with the upload's answer
            async with asyncio.timeout(seconds):
                source, is_detected = models[0].source, asked.source_lang is None and project is None
                if is_detected:
                    sample = await server.sample_document(http, file, models[0].target)
                    sources, into = [model.source for model in models], models[0].target
                    found = await run_in_threadpool(detector.find_source, sample, sources, into, "document")
                    source = found["language"]
                async with (
                    server.begin(source, models[0].target) as model,
                    server.open_document(
                        http, model, file, glossary, project, detector if is_detected else None
                    ) as document,
                ):
                    job.status, job.began, job.characters = "translating", time.monotonic(), http.state.characters
                    (translated,) = await document.translate(tell=tell)
            return server.files.keep(translated, f"{PurePath(name).stem}.{model.target}.{ending}", client)

        job = jobs.start(client, work, server.told)
        return {"document_id": job.id, "document_key": job.key}

    async def asked_for(http: HTTPRequest, id: str) -> Job:
        asked = DocumentKeyBody.model_validate(await read_values(http, 1))
        await server.admit(http, asked.auth_key)
        return jobs.find(id, asked.document_key)

    @router.get("/{id}", include_in_schema=False)
    @router.post("/{id}", openapi_extra=described(DocumentKeyBody, *KINDS), responses=ERRORS)
    async def state(http: HTTPRequest, id: str) -> dict[str, Any]:
        """Report how far a document is."""
        return (await asked_for(http, id)).describe()

    @router.get("/{id}/result", include_in_schema=False)
    @router.post(
        "/{id}/result", openapi_extra=described(DocumentKeyBody, *KINDS), responses=ERRORS, response_class=Response
    )
    async def result(http: HTTPRequest, id: str) -> Response:
        """Return a translated document; 503 until it is done."""
        job = await asked_for(http, id)
        if job.status == "error":
            raise RefusedError(400, f"The document was not translated: {job.error}")
        if job.status != "done":
            raise RefusedError(503, "The document is not translated yet", 1.0)
        return download(http, server.files.find(job.file))

    return router
