"""Our own API, which does more than LibreTranslate's."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Response
from pydantic import Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest
from starlette.responses import StreamingResponse

from transduce.apps.serving.bodies import StrictBody, Texts
from transduce.apps.serving.detection import Detector
from transduce.apps.serving.keystrokes import Keystrokes
from transduce.apps.serving.libretranslate import ERRORS, FILE_BODY, keep, read_upload
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import MOST_CONTEXT, Sentence, context_of, gap_before, last_sentences
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import ServerSettings
from transduce.base.errors import TransduceError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.context_settings import reads_both
from transduce.inference.completer import Completion
from transduce.inference.quality.quality_estimate import combined
from transduce.inference.sentence_model import confidence_of
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.diverse import DiverseBeam
from transduce.text.glossary import Entry, Glossary

MOST = 16
PAUSE = 0.1
"""The least seconds between two lines of progress."""
Put = Callable[[dict[str, Any]], None]
"""Takes the next fact of an answer."""


class Term(StrictBody):
    """An entry of a glossary."""

    source: str = Field("", max_length=200)
    """Words that a sentence must hold for the entry to apply; none for every sentence."""
    target: str = Field(min_length=1, max_length=200)
    ban: bool = False
    """True if the translation must not hold the target, rather than hold it."""
    source_forms: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list, max_length=50)
    """Other forms of the source, to which the entry applies, too."""
    forms: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=list, max_length=50)
    """Other forms of the target: one of them may stand in its place, or all of them are banned, too."""

    @property
    def entry(self) -> Entry:
        """The entry, with single spaces between words."""
        source, target = " ".join(self.source.split()), " ".join(self.target.split())
        forms = [tuple(" ".join(form.split()) for form in side) for side in (self.source_forms, self.forms)]
        return Entry(source, target, self.ban, *forms)


class Asked(StrictBody):
    """A request to translate, with its settings."""

    text: Texts
    source: str
    target: str
    n_best: int = Field(1, ge=1, le=MOST)
    beam_size: int | None = Field(None, ge=1, le=MOST)
    length_penalty: float = Field(0.6, ge=0, le=5)
    groups: int = Field(1, ge=1, le=MOST)
    """Groups of diverse beam search; 1 for plain beam search."""
    prefix: str = Field("", max_length=2000)
    """Whole words that each text's translation begins with."""
    typed: bool = False
    """True if the prefix is what a person has typed so far: it may end within a word, and is completed."""
    context: str = Field("", max_length=MOST_CONTEXT)
    """Text before each text, which a model that reads context reads with it; in one that reads both sides, a line may
    have its translation in the next."""
    most_words: int | None = Field(None, ge=1, le=100)
    """The most words of a completion; default: all of the sentence."""
    glossary: list[Term] = Field(default_factory=list, max_length=200)
    project: str = Field("", max_length=64)
    """The name of a project, whose terms and learned adapter are used."""
    alignment: bool = False
    """Also the probability of each token, and which words go together."""
    keep_numbers: Literal["on", "off"] | None = None
    """Whether a translation that changes a number is searched again (default: as the server does)."""
    stream: bool = False
    """Answer with a JSON object a line for each sentence, as soon as it is translated."""


def v1(server: Server, detector: Detector) -> APIRouter:
    """Makes the routes of our own API."""
    router, keystrokes = APIRouter(prefix="/v1", tags=["Transduce"]), Keystrokes()

    @router.post("/translate", responses=ERRORS)
    async def translate(http: HTTPRequest, asked: Asked) -> Response:
        """Translate texts sentence by sentence, with the model's confidence and other facts about each."""
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        prefix = asked.prefix if asked.typed else " ".join(asked.prefix.split())
        entries = [term.entry for term in asked.glossary]
        terms = sum(len("".join([e.source, e.target, *e.source_forms, *e.target_forms])) for e in entries)
        await server.admission.admit(http, None, texts, len(prefix) * len(texts) + terms)
        _check_completion(asked)
        search = _search(asked, server.settings)
        if not all(form for entry in entries for form in (entry.target, *entry.source_forms, *entry.target_forms)):
            raise RefusedError(400, "Invalid request: glossary: a target is blank")
        project = await server.project(asked.project, asked.source, asked.target) if asked.project else None
        if project is not None:
            of_project = await server.of_project(project.name, server.terms.glossary, project)
            entries += of_project.entries if of_project else ()
        glossary = Glossary(entries) if entries else None
        translated: list[list[Translation]] = [[] for _ in texts]

        def charge(characters: int) -> None:
            server.admission.charge_more(http, characters)

        async def complete(put: Put) -> None:
            loop = asyncio.get_running_loop()

            def tell(completion: str) -> None:
                with suppress(RuntimeError):  # the loop has ended
                    loop.call_soon_threadsafe(put, {"completion": completion, "finished": False})

            def work(translator: Translator, grow: Callable[[str], None]) -> Completion:
                chosen = search if isinstance(search, Beam) and (asked.n_best > 1 or asked.beam_size) else None
                how: dict[str, Any] = {"most_words": asked.most_words, "glossary": glossary, "tell": grow}
                before = last_sentences(context, translator.bundle.config.context)
                return translator.complete(texts[0], prefix, chosen, before=before, **how)

            context = asked.context
            with keystrokes.newest(texts[0], http.state.address) as keystroke:
                async with server.begin(asked.source, asked.target) as model:
                    if project is not None:
                        model, reads = server.with_project(model, project), model.translator.bundle.config.context
                        if reads_both(reads):
                            memory, before = project.memory.translation, context.splitlines()
                            context = await server.of_project(project.name, context_of, before, memory, reads)
                    completion = await keystroke.complete(
                        model.batcher, model.translator, work, tell if asked.stream else None
                    )
            put({"completion": completion.text, "n_best": completion.n_best, "finished": completion.finished})

        async def work(put: Put) -> None:
            async with server.begin(asked.source, asked.target) as model:
                if project is not None:
                    model = server.with_project(model, project)
                details = asked.alignment and isinstance(model.translator.bundle, ModelBundle)
                before: dict[int, Sentence] = {}
                async for number, sentence in server.sentences(
                    model,
                    texts,
                    search,
                    details,
                    glossary,
                    [prefix] * len(texts),
                    charge,
                    contexts=[asked.context] * len(texts),
                ):
                    previous = before.get(number)
                    both = previous.translation.text if previous else "", sentence.translation.text
                    gap = gap_before(texts[number], previous, sentence, both, asked.target)
                    put({"text": number, **_facts(model, texts[number], sentence), "gap": gap})
                    before[number] = sentence
                    translated[number].append(sentence.translation)

        if asked.stream:
            return await _stream(http, server, complete if asked.typed else work, server.settings.timeout)
        sentences: list[dict[str, Any]] = []
        if asked.typed:
            await server.finish(http, complete(sentences.append))
            return Response(msgspec.json.encode(sentences[0]), media_type="application/json")
        await server.finish(http, work(sentences.append))
        of_texts = [combined((part.quality, part.text) for part in parts) for parts in translated]
        answer = msgspec.json.encode({"sentences": sentences, "quality": of_texts})
        return Response(answer, media_type="application/json")

    @router.post("/translate_file", openapi_extra=FILE_BODY, responses=ERRORS)
    async def translate_file(http: HTTPRequest) -> Response:
        """Translate a document; each line of the answer reports the share that is done, the last one its address and
        how many of the translated sentences with an estimate are likely to need work."""
        upload = await read_upload(http, server, detector)

        async def work(put: Put) -> None:
            loop, last = asyncio.get_running_loop(), -PAUSE

            def tell(share: float) -> None:
                nonlocal last
                if time.monotonic() - last >= PAUSE:
                    last = time.monotonic()
                    with suppress(RuntimeError):  # the loop has ended
                        loop.call_soon_threadsafe(put, {"done": share})

            async with (
                server.begin(upload.source, upload.target) as model,
                server.open_document(http, model, upload.file, None, upload.project, upload.detector) as document,
            ):
                put({"done": 0.0})
                (translated,) = await document.translate(upload.retranslate, tell)
            work, known = document.answers.sentences.work, model.translator.quality
            counts = {"sentences": work.segments, "work": round(work.expected), "unknown": work.unknown}
            quality = {**counts, "interval": work.interval(0 if known is None else known.learned_from)}
            put({"done": 1.0, "translatedFileUrl": keep(http, server, upload, translated), "quality": quality})

        return await _stream(http, server, work, 10 * server.settings.timeout)

    @router.post("/segments", openapi_extra=FILE_BODY, responses=ERRORS)
    async def segments(http: HTTPRequest) -> Response:
        """List the segments of a document that `translate_file` would translate, each once, in order."""
        upload = await read_upload(http, server, detector)

        async def work() -> Response:
            async with (
                server.begin(upload.source, upload.target) as model,
                server.open_document(http, model, upload.file, project=upload.project) as document,
            ):
                return Response(msgspec.json.encode({"segments": document.segments}), media_type="application/json")

        return await server.finish(http, work(), 10 * server.settings.timeout)

    @router.post("/admin/reload", responses=ERRORS)
    async def reload(http: HTTPRequest) -> dict[str, str]:
        """Reload the models; requests in progress keep theirs."""
        await server.admission.check_admin(http)
        await run_in_threadpool(server.models.reload)
        return {"status": "reloaded"}

    return router


async def _stream(
    http: HTTPRequest, server: Server, work: Callable[[Put], Awaitable[None]], timeout: float
) -> StreamingResponse:
    """Returns a response with a line for each fact; it begins with the first fact, so that an earlier refusal has its
    own status."""
    made = _at_own_pace(server, work, timeout)
    first = await server.finish(http, anext(made, None), timeout)

    async def lines() -> AsyncIterator[bytes]:
        try:
            if first is not None:
                yield msgspec.json.encode(first) + b"\n"
            async for fact in made:
                yield msgspec.json.encode(fact) + b"\n"
        except (RefusedError, TransduceError) as error:  # the status has been sent already
            yield msgspec.json.encode({"error": server.told(error)}) + b"\n"

    headers = {"X-Accel-Buffering": "no"}  # a proxy is not to wait for the end
    return StreamingResponse(lines(), headers=headers, media_type="application/x-ndjson")


async def _at_own_pace(
    server: Server, work: Callable[[Put], Awaitable[None]], timeout: float
) -> AsyncIterator[dict[str, Any]]:
    """Yields the facts that work puts, from its own task: a slow reader delays neither the model nor other clients.

    The task is cancelled when the client stops reading; RefusedError (503) if it takes too long.
    """
    made: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
    task = asyncio.ensure_future(asyncio.wait_for(work(made.put_nowait), timeout))
    task.add_done_callback(lambda _: made.put_nowait(None))
    try:
        while (fact := await made.get()) is not None:
            yield fact
        task.result()
    except TimeoutError:
        raise server.took_too_long(timeout) from None
    finally:
        task.cancel()


def _check_completion(asked: Asked) -> None:
    """Raises RefusedError (400) for settings that do not go with a typed prefix, or need one."""
    if not asked.typed:
        if asked.most_words is not None:
            raise RefusedError(400, "Invalid request: most_words is for completions; set typed too")
    elif not isinstance(asked.text, str):
        raise RefusedError(400, "Invalid request: typed is for one text, not for a list")
    elif asked.groups > 1 or asked.alignment:
        raise RefusedError(400, "Invalid request: typed goes with neither groups nor alignment")


def _search(asked: Asked, settings: ServerSettings) -> Search:
    size = asked.beam_size or max(settings.beam_size, asked.n_best, asked.groups)
    how: dict[str, Any] = {name: getattr(asked, name) for name in ("n_best", "length_penalty")}
    how["keep_numbers"] = asked.keep_numbers or settings.keep_numbers
    try:
        if asked.groups > 1:
            size = -(-size // asked.groups) * asked.groups
            return DiverseBeam(size=size, groups=asked.groups, **how)
        return Beam(size=size, **how)
    except ValueError as error:
        raise RefusedError(400, f"Invalid request: {error}") from None


def _facts(model: ServedModel, text: str, sentence: Sentence) -> dict[str, Any]:
    translation = msgspec.to_builtins(sentence.translation)
    met = ("satisfied", "unsatisfied", "violated", "changed_numbers", "terms")
    names = ("n_best", "truncated", *met, "faults", "quality", "details")
    return {
        "start": sentence.start,
        "end": sentence.end,
        "source": text[sentence.start : sentence.end],
        "target": sentence.translation.text,
        "confidence": confidence_of([sentence.translation], model.batcher.translator.bundle.tokenizers.target),
        **{name: translation[name] for name in names},
    }
