"""The state that all parts of a server share: its models, its limits, and the translation of texts."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, to_thread
from starlette.requests import Request as HTTPRequest

from docsegments.budget import budgeted
from docsegments.tagged_text import Tags
from docsegments.translating.document_translator import html_data, html_text
from transduce.apps.projects.project import MOST as MOST_PROJECTS
from transduce.apps.projects.project import Project, Projects
from transduce.apps.projects.project_terms import ProjectTerms
from transduce.apps.projects.quality import ProjectQuality
from transduce.apps.projects.repair import Repairs
from transduce.apps.projects.translation_facts import Learning
from transduce.apps.serving.admission import Admission
from transduce.apps.serving.batching import Batcher, SharedTranslator
from transduce.apps.serving.clients import CLIENT
from transduce.apps.serving.detection import Detector, without_tags
from transduce.apps.serving.documents.document_workers import DocumentWorkers, in_thread
from transduce.apps.serving.documents.messages import (
    EntriesRead,
    File,
    ReadEntries,
    ReadSample,
    Sampled,
)
from transduce.apps.serving.documents.open_document import ChargedTerms, OpenDocument
from transduce.apps.serving.documents.process import Answers
from transduce.apps.serving.documents.worker import ProcessLimits
from transduce.apps.serving.glossaries import Glossaries
from transduce.apps.serving.kept_files import KeptFiles
from transduce.apps.serving.models import Models, ServedModel
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.quotas import Turns
from transduce.apps.serving.refusals import Paths, RefusedError
from transduce.apps.serving.request_texts import (
    PreparedSentences,
    Sentence,
    Split,
    WantedTokens,
    last_sentences,
    prepare,
)
from transduce.apps.serving.server_settings import ServerSettings
from transduce.inference.sentence_model import SentenceModel
from transduce.search.choices import Search
from transduce.text.glossary import Entry, Glossary

T = TypeVar("T")
P = ParamSpec("P")
TURNS = 8
"""The threads in which a project's file is waited for at a time."""
TURN_SECONDS = 5.0
"""The seconds for which a request waits for one of them."""
PREPARED_AT_ONCE = 4
SOON_PREPARED = 300
"""The most characters of a request that is prepared on the event loop, since a thread would take longer."""


@dataclass
class Server:
    """The models of a server, with limits."""

    models: Models
    settings: ServerSettings
    metrics: Metrics
    projects: Projects | None = None
    learning: Learning = field(default_factory=Learning)
    """Adapts models to projects in the background."""

    def __post_init__(self) -> None:
        limits = ProcessLimits(self.settings.document_memory * 2**20, max(1, round(self.settings.timeout)))
        self.terms = ProjectTerms()
        self.quality = ProjectQuality(self.translator_of)
        self.repairs = Repairs(self.translator_of)
        self.documents = DocumentWorkers(self.settings.document_workers, limits, self.settings.max_waiting)
        self.admission = Admission(self.settings, self.metrics)
        folder = None if self.projects is None else self.projects.folder
        kept = (self.settings.glossaries, self.settings.keys, folder)
        self.paths = Paths([*self.models.folders, *(path for path in kept if path)])
        self.files = KeptFiles(self.settings.max_kept_bytes)
        self.glossaries = None if self.settings.glossaries is None else Glossaries(self.settings.glossaries)
        self._project_turns, self._preparing = Turns(MOST_PROJECTS * TURNS, TURNS), Turns(PREPARED_AT_ONCE, 1)
        self.metrics.watch(
            "transduce_requests_in_progress", "Requests in progress", lambda: self.admission.requests.total
        )
        self.metrics.watch(
            "transduce_waiting_sentences",
            "Sentences that wait for a batch",
            lambda: sum(batcher.waiting for batcher in self.batchers),
        )
        self.metrics.watch("transduce_kept_files", "Translated files to be fetched", lambda: len(self.files))
        self.metrics.watch("transduce_kept_bytes", "Bytes of these files", lambda: self.files.total)
        self.metrics.watch("transduce_document_processes", "Processes of documents", lambda: self.documents.busy)

    @property
    def batchers(self) -> set[Batcher]:
        """The batchers of all models."""
        return {model.batcher for model in self.models.all}

    @property
    def is_stuck(self) -> bool:
        """True if a batch has taken longer than any request may wait for it."""
        return any(batcher.busy_seconds > 2 * self.settings.timeout for batcher in self.batchers)

    def told(self, error: Exception) -> str:
        """Returns what clients are told of an error, without paths of the server."""
        return error.message if isinstance(error, RefusedError) else self.paths.hide(str(error)[:1000])

    def took_too_long(self, seconds: float) -> RefusedError:
        """Returns an error for a request that has waited or worked for this long, which says what held it."""
        again = max([1.0, *(batcher.seconds for batcher in self.batchers)])
        if self.admission.has_others(CLIENT.get()):
            return RefusedError(
                503, f"The server is busy with requests of other clients; try again in {again:,.0f} s", again
            )
        return RefusedError(503, f"This took more than {seconds:,.0f} s; send less at once", again)

    def refused(self, client: str, status: int) -> None:
        """Counts an answer that was given before there was a request."""
        self.metrics.request("none", status, 0.0)
        self.admission.count_refused(client)

    async def project(self, name: str, source: str | None = None, target: str | None = None) -> Project:
        """Returns a project by its name; RefusedError (404) if there is none, or the server has no projects, and (400)
        if it is of other languages than asked for; raises as `of_project` does."""
        if self.projects is None:
            raise RefusedError(404, "This server has no projects")
        project = await self.of_project(name, self.projects.find, name)
        if (source or project.source, target or project.target) != (project.source, project.target):
            raise RefusedError(
                400, f"Invalid request: the project {project.name} is from {project.source} to {project.target}"
            )
        return project

    async def admit(self, http: HTTPRequest, key: str | None, texts: Sequence[str] = ()) -> Project | None:
        """Counts a request, and returns the project that its path names; None if it names none.

        Raises as `Admission.admit` does, and then as `project` does.
        """
        await self.admission.admit(http, key, texts)
        name = http.path_params.get("project")
        return None if name is None else await self.project(name)

    async def of_project(self, name: str, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Runs work that may wait for a project's file in a thread, of which each project has a few of its own.

        Raises RefusedError (503) if all of them wait.
        """
        try:
            has_ended = await asyncio.wait_for(self._project_turns.begin(name), TURN_SECONDS)
        except TimeoutError:
            raise RefusedError(503, f"The project {name[:64]} is busy; try again soon", TURN_SECONDS) from None
        try:  # to its end, also if the client goes away
            return await to_thread.run_sync(partial(budgeted(work), *args, **kwargs), limiter=CapacityLimiter(1))
        finally:
            has_ended()

    def translator_of(self, project: Project) -> SharedTranslator | None:
        """Returns the model of a project's languages, without what was learned from the project, for work in threads;
        None if none is served."""
        languages = project.source, project.target
        model = next((each for each in self.models.all if (each.source, each.target) == languages), None)
        return None if model is None or model.legs else SharedTranslator(model.batcher, model.translator)

    def with_project(self, model: ServedModel, project: Project) -> ServedModel:
        """Returns the model with what was learned from the project so far."""
        return replace(model, translator=self.learning.adapted(project, model.translator))

    @asynccontextmanager
    async def begin(self, source: str, target: str) -> AsyncIterator[ServedModel]:
        """Yields the model for a request, which counts as in progress; raises as `find` and `Admission.turn` do."""
        model = self.models.find(source, target)
        async with self.admission.turn(max(1.0, model.batcher.seconds)):
            yield model

    async def finish(self, http: HTTPRequest, work: Awaitable[T], timeout: float | None = None) -> T:
        """Waits for work; cancels it if its client disconnects or it takes too long (RefusedError, 503)."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(http))
        try:
            await asyncio.wait(
                {task, gone}, timeout=timeout or self.settings.timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if task.done():
                return task.result()
            if gone.done():
                raise RefusedError(400, "The client has gone away")
            raise self.took_too_long(timeout or self.settings.timeout)
        finally:
            gone.cancel()
            task.cancel()

    async def sentences(
        self,
        model: ServedModel,
        texts: Sequence[str],
        search: Search | None = None,
        with_details: bool = False,
        glossary: Glossary | None = None,
        prefixes: Sequence[str] = (),
        charge: Callable[[int], None] = lambda characters: None,
        split: Split = "lines",
        contexts: Sequence[str] = (),
    ) -> AsyncIterator[tuple[int, Sentence]]:
        """Yields the number of the text and each of its sentences, in order; with prefixes, one begins each text; with
        contexts, one is before each text.

        `charge` counts the characters of terms that apply, before they cost anything.

        Raises RefusedError for too many at once (413) or too many waiting of one client (429), InputError for requests
        that the model does not support.
        """
        prepared = await self._prepare(model, texts, glossary, prefixes or [""] * len(texts), split, contexts)
        charge(prepared.characters)
        client = CLIENT.get()
        if model.batcher.waiting_of(client) + len(prepared.requests) > self.settings.max_waiting_sentences:
            raise RefusedError(
                429,
                f"Slow down: at most {self.settings.max_waiting_sentences:,} of your sentences may wait",
                max(1.0, model.batcher.seconds),
            )
        news, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(news.set)

        search = search or self.settings.beam()
        futures = model.batcher.submit(
            prepared.requests, search, with_details, tell, model.translator, client, prepared.encoded
        )
        try:
            for (number, start, end), future in zip(prepared.places, futures, strict=True):
                while not future.done():
                    await news.wait()
                    news.clear()
                yield number, Sentence(start, end, future.result())
        finally:
            for future in futures:
                future.cancel()

    async def _prepare(
        self,
        model: ServedModel,
        texts: Sequence[str],
        glossary: Glossary | None,
        prefixes: Sequence[str],
        split: Split,
        contexts: Sequence[str],
    ) -> PreparedSentences:
        """See `prepare`: at once if it is soon done, else in a thread, one request of each client at a time."""

        def work() -> PreparedSentences:
            most = self.settings.max_sentences, self.settings.max_characters
            return prepare(model.translator, texts, glossary, prefixes, *most, split, contexts)

        if sum(map(len, [*texts, *prefixes, *contexts])) <= SOON_PREPARED and glossary is None:
            return work()
        has_ended = await self._preparing.begin(CLIENT.get())
        task = asyncio.ensure_future(in_thread(work))
        task.add_done_callback(lambda _: has_ended())  # with the thread, not when its client goes away
        return await asyncio.shield(task)

    async def translate(
        self,
        model: ServedModel,
        texts: Sequence[str],
        search: Search | None = None,
        glossary: Glossary | None = None,
        charge: Callable[[int], None] = lambda characters: None,
        split: Split = "lines",
        contexts: Sequence[str] = (),
    ) -> list[list[Sentence]]:
        """Translates the sentences of each text; see `sentences`."""
        of_texts: list[list[Sentence]] = [[] for _ in texts]
        async for number, sentence in self.sentences(
            model, texts, search, glossary=glossary, charge=charge, split=split, contexts=contexts
        ):
            of_texts[number].append(sentence)
        return of_texts

    @asynccontextmanager
    async def open_document(
        self,
        http: HTTPRequest,
        model: ServedModel,
        file: File,
        glossary: Glossary | None = None,
        project: Project | None = None,
        detector: Detector | None = None,
    ) -> AsyncIterator[OpenDocument]:
        """Opens a document in a process that ends with the block, and counts its characters.

        With a project, segments that are in its memory come from there, the model is as it has taught it, and its terms
        are those of a request without a glossary. With a detector, sentences in the target language stay as they are.

        Raises InputError for one that cannot be read; RefusedError for too much text, memory or processor time (413),
        for text that comes too soon (429), or if too many documents wait (503).
        """
        async with self._at_work(http, model, True, glossary, project, detector) as document:
            counted = await document.read([file], self.settings.max_characters)
            most = self.settings.max_document_characters
            if counted.characters > most:
                raise RefusedError(
                    413, f"The document has {counted.characters:,} characters, but at most {most:,} are taken"
                )
            if counted.too_large:
                longest = f"{self.settings.max_characters:,} characters"
                raise RefusedError(413, f"The paragraph at {counted.too_large} has more than {longest}; divide it")
            self.admission.charge(http, counted.characters)
            yield replace(document, segments=counted.segments)

    async def sample_document(self, http: HTTPRequest, file: File, target: str) -> str:
        """Returns the beginning of a document's text; raises as `open_document` does."""
        async with self.documents.work(http.state.client, is_upload=True) as work:
            return (await work.ask(ReadSample(file, target), Sampled)).text

    async def read_entries(self, http: HTTPRequest, file: File, project: Project) -> list[Entry]:
        """Returns the sources and translations in a memory or a glossary; raises as `open_document` does."""
        order = ReadEntries(file, project.source, project.target)
        async with self.documents.work(http.state.client, is_upload=True) as work:
            return (await work.ask(order, EntriesRead)).entries

    async def translate_marked_up(
        self,
        http: HTTPRequest,
        model: ServedModel,
        texts: Sequence[str],
        kind: str = "html",
        tags: Tags | None = None,
        glossary: Glossary | None = None,
        splits_sentences: bool = True,
        project: Project | None = None,
        context: str = "",
    ) -> list[str]:
        """Translates texts of a request with tags of XML or HTML, each after a context; blank ones stay. See
        `open_document`."""
        encode, decode = (html_data, html_text) if kind == "html" else (str.encode, bytes.decode)
        files = [File(encode(text), "the text", kind, tags) for text in texts if text.strip()]
        if not files:
            return list(texts)
        before = last_sentences(without_tags(context), model.translator.bundle.config.context)
        self.admission.charge(http, len(files) * sum(map(len, before)))
        async with self._at_work(http, model, False, glossary, project) as document:
            written = iter(await document.translate_at_once(files, splits_sentences, before))
        return [decode(next(written)) if text.strip() else text for text in texts]

    @asynccontextmanager
    async def _at_work(
        self,
        http: HTTPRequest,
        model: ServedModel,
        is_upload: bool,
        glossary: Glossary | None,
        project: Project | None,
        detector: Detector | None = None,
    ) -> AsyncIterator[OpenDocument]:
        if project is not None:
            model = self.with_project(model, project)
            glossary = glossary or await self.of_project(project.name, self.terms.glossary, project)
        memory = None if project is None else await self.of_project(project.name, project.memory.for_documents)
        shared = SharedTranslator(model.batcher, model.translator)
        terms = None if glossary is None else self._charged_terms(http, model, glossary)
        are_translated = None if detector is None else partial(detector.are_translated, model.source, model.target)
        sentences = SentenceModel(shared, self.settings.beam(), terms, are_translated)
        async with self.documents.work(http.state.client, is_upload) as work:
            try:
                yield OpenDocument(work, Answers(sentences, memory=memory))
            except CancelledError:
                raise RefusedError(503, "The translation was cancelled", 1.0) from None
            finally:
                shared.cancel()

    def _charged_terms(self, http: HTTPRequest, model: ServedModel, glossary: Glossary) -> ChargedTerms:
        """Returns the terms of a glossary for another thread, charged for as they apply."""
        loop = asyncio.get_running_loop()

        async def charge(characters: int) -> None:
            self.admission.charge(http, characters)

        def charge_and_wait(characters: int) -> None:
            asyncio.run_coroutine_threadsafe(charge(characters), loop).result()

        return ChargedTerms(glossary, WantedTokens(model.translator), charge_and_wait)


async def _until_gone(http: HTTPRequest) -> None:
    with suppress(RuntimeError):
        while (await http.receive())["type"] != "http.disconnect":
            pass
