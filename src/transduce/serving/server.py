"""What all parts of a server share: who may ask for how much, and how a text is translated."""

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Sequence
from concurrent.futures import CancelledError
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TypeVar

from starlette.requests import Request as HTTPRequest

from transduce.documents.sentences import split_sentences
from transduce.inference.documents.sentence_model import SentenceModel
from transduce.inference.documents.sentence_translator import Tell
from transduce.inference.documents.translate import html_data, html_text
from transduce.inference.requests import Request
from transduce.inference.translator import Translation
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.serving.batching import SharedTranslator
from transduce.serving.documents.messages import Bounds, Counted, File, Read, Sample, Sampled, Translate, Written
from transduce.serving.documents.worker import Limits
from transduce.serving.documents.workers import DocumentWorkers, Work
from transduce.serving.failures import RefusedError
from transduce.serving.keys import Key, Keys
from transduce.serving.limits import RateLimit
from transduce.serving.metrics import Metrics
from transduce.serving.models import Models, ServedModel
from transduce.serving.settings import ServerSettings
from transduce.text.glossary import Glossary

T = TypeVar("T")
_HALF = re.compile("[\ud800-\udfff]")
MOST_MARKS = 1000
"""Tags and placeholders of a paragraph: the time to put them into its translation grows with their square."""


@dataclass(frozen=True)
class Sentence:
    """A sentence of a text: where it stands, and its translation."""

    start: int
    end: int
    translation: Translation


@dataclass
class Server:
    """Models with limits."""

    models: Models
    settings: ServerSettings
    metrics: Metrics
    running: int = 0
    """Requests that are translated, or wait for it."""

    def __post_init__(self) -> None:
        limits = Limits(self.settings.document_memory, max(1, round(self.settings.timeout)))
        self.documents = DocumentWorkers(self.settings.document_workers, limits, self.settings.max_waiting)
        self.keys = None if self.settings.keys is None else Keys(self.settings.keys)
        self._requests = RateLimit("requests")
        self._characters = RateLimit("characters")
        self.metrics.watch("transduce_requests_in_progress", "Requests in progress", lambda: self.running)
        self.metrics.watch(
            "transduce_waiting_sentences",
            "Sentences that wait for a batch",
            lambda: sum(batcher.waiting for batcher in {model.batcher for model in self.models.all}),
        )
        self.metrics.watch("transduce_document_processes", "Processes of documents", lambda: self.documents.busy)

    def find_key(self, http: HTTPRequest, given: str | None) -> Key | None:
        """Whose key a request has, in the body, the query, or a header; RefusedError (403) where one is needed."""
        if self.keys is None:
            return None
        kind, _, token = http.headers.get("authorization", "").partition(" ")
        token = given or http.query_params.get("api_key") or (token if kind.lower() == "bearer" else "")
        key = self.keys.find(token.strip()) if token else None
        if key is None:
            raise RefusedError(403, "Invalid API key" if token else "Please give an API key")
        return key

    def check_admin(self, http: HTTPRequest) -> None:
        """Raise RefusedError (403) for who is no administrator, which takes a key."""
        key = self.find_key(http, None)
        if key is None or not key.is_admin:
            raise RefusedError(403, "This takes an administrator's key")

    def admit(self, http: HTTPRequest, given: str | None, texts: Sequence[str] = ()) -> None:
        """Count a request; RefusedError for one without a key (403), too large (413), too soon (429), or that is no
        Unicode (400)."""
        key = http.state.key = self.find_key(http, given)
        http.state.client = f"key {key.name}" if key else (http.client.host if http.client else "")
        characters, most = sum(map(len, texts)), self.settings.max_characters
        if characters > most:
            raise RefusedError(413, f"The text has {characters:,} characters, but at most {most:,} are taken at once")
        if len(texts) > self.settings.max_sentences:
            raise RefusedError(
                413, f"There are {len(texts):,} texts, but at most {self.settings.max_sentences:,} are taken at once"
            )
        if any(map(_HALF.search, texts)):
            raise RefusedError(400, "Invalid request: half of a surrogate pair is no character")
        own = None if key is None else key.requests_per_minute
        self._requests.take(http.state.client, 1, self.settings.requests_per_minute if own is None else own)
        self.charge(http, characters)

    def charge(self, http: HTTPRequest, characters: int) -> None:
        """Count characters of a request that has been admitted; RefusedError (429) where they come too soon."""
        http.state.characters = characters
        own = None if http.state.key is None else http.state.key.characters_per_minute
        limit = self.settings.characters_per_minute if own is None else own
        self._characters.take(http.state.client, characters, limit)
        self.metrics.characters(characters)

    @asynccontextmanager
    async def begin(self, source: str, target: str) -> AsyncIterator[ServedModel]:
        """The model for a request, which is one of those in progress; RefusedError (503) where there are too many."""
        with self.models.use(source, target) as model:
            if self.running >= self.settings.max_waiting:
                raise RefusedError(503, "The server is busy; try again soon", max(1.0, model.batcher.seconds))
            self.running += 1
            try:
                yield model
            finally:
                self.running -= 1

    async def finish(self, http: HTTPRequest, work: Awaitable[T], timeout: float | None = None) -> T:
        """Wait for work, which is dropped when its client goes away or it takes too long (RefusedError, 503)."""
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
            raise RefusedError(503, "This took too long; send less at once", max(1.0, self.settings.timeout / 2))
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
        prefix: str = "",
    ) -> AsyncIterator[tuple[int, Sentence]]:
        """The number of the text, and each of its sentences, in order; a prefix begins each text.

        Raises RefusedError (413) for more sentences than are taken at once, InputError for what the model cannot do.
        """
        places = [(number, start, end) for number, text in enumerate(texts) for start, end in sentence_bounds(text)]
        if len(places) > self.settings.max_sentences:
            raise RefusedError(
                413, f"There are {len(places):,} sentences, but at most {self.settings.max_sentences:,} are taken"
            )
        requests = []
        before = -1
        for number, start, end in places:
            text = texts[number][start:end]
            required, banned = (glossary.required(text), glossary.banned(text)) if glossary else ((), ())
            requests.append(Request(text, prefix if number != before else "", required, banned))
            before = number
        news, loop = asyncio.Event(), asyncio.get_running_loop()

        def tell() -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(news.set)

        search = search or Beam(size=self.settings.beam_size)
        futures = model.batcher.submit(requests, search, with_details, tell, model.translator)
        try:
            for (number, start, end), future in zip(places, futures, strict=True):
                while not future.done():
                    await news.wait()
                    news.clear()
                yield number, Sentence(start, end, future.result())
        finally:
            for future in futures:
                future.cancel()

    async def translate(
        self, model: ServedModel, texts: Sequence[str], search: Search | None = None
    ) -> list[list[Sentence]]:
        """The sentences of each text."""
        found: list[list[Sentence]] = [[] for _ in texts]
        async for number, sentence in self.sentences(model, texts, search):
            found[number].append(sentence)
        return found

    @asynccontextmanager
    async def open_document(
        self, http: HTTPRequest, model: ServedModel, data: bytes, name: str, kind: str | None
    ) -> AsyncIterator["OpenDocument"]:
        """A document that a process has read, which ends with the block, and whose characters are counted.

        Raises InputError for one that cannot be read; RefusedError for too much text, or one that takes too much memory
        or processor time (413), for text that comes too soon (429), or where too many wait (503).
        """
        async with self._at_work(http, model, is_upload=True) as document:
            counted = await document.read([File(data, name, kind)], Bounds(self.settings.max_characters, MOST_MARKS))
            most = self.settings.max_document_characters
            if counted.characters > most:
                raise RefusedError(
                    413, f"The document has {counted.characters:,} characters, but at most {most:,} are taken"
                )
            if counted.too_large:
                raise RefusedError(
                    413,
                    f"The paragraph at {counted.too_large} has more than {self.settings.max_characters:,} characters "
                    f"or {MOST_MARKS:,} tags and placeholders; divide it",
                )
            self.charge(http, counted.characters)
            yield document

    async def sample_document(self, http: HTTPRequest, data: bytes, name: str, kind: str | None, target: str) -> str:
        """The beginning of a document's text; raises as `open_document` does."""
        async with self.documents.work(http.state.client, is_upload=True) as work:
            return (await work.ask(Sample(File(data, name, kind), target), Sampled)).text

    async def translate_pages(self, http: HTTPRequest, model: ServedModel, texts: Sequence[str]) -> list[str]:
        """Translate pages in HTML, or parts of some."""
        pages = [number for number, text in enumerate(texts) if text.strip()]
        translated = list(texts)
        if pages:
            files = [File(html_data(texts[number]), "the text", "html") for number in pages]
            async with self._at_work(http, model, is_upload=False) as document:
                for number, data in zip(pages, await document.translate_at_once(files), strict=True):
                    translated[number] = html_text(data)
        return translated

    @asynccontextmanager
    async def _at_work(self, http: HTTPRequest, model: ServedModel, is_upload: bool) -> AsyncIterator["OpenDocument"]:
        shared = SharedTranslator(model.batcher, model.translator)
        sentences = SentenceModel(shared, Beam(size=self.settings.beam_size))
        async with self.documents.work(http.state.client, is_upload) as work:
            try:
                yield OpenDocument(work, sentences)
            except CancelledError:
                raise RefusedError(503, "The translation was cancelled", 1.0) from None
            finally:
                shared.cancel()


@dataclass(frozen=True)
class OpenDocument:
    """Documents in a process of their own, and what translates their sentences."""

    work: Work
    sentences: SentenceModel

    async def read(self, files: Sequence[File], bounds: Bounds) -> Counted:
        """Read files, and count their text; first of all."""
        return await self.work.ask(self._order(files, bounds), Counted)

    async def translate(self, retranslate: bool = False, tell: Tell | None = None) -> list[bytes]:
        """Translate what was read, and replace translations that it has if that is asked for.

        `tell` hears in another thread, now and then, the share that is done.
        """
        order = Translate(tell is not None, retranslate)
        return (await self.work.ask(order, Written, self.sentences, tell)).files

    async def translate_at_once(self, files: Sequence[File]) -> list[bytes]:
        """Read files and translate them, however much text they have."""
        return (await self.work.ask(self._order(files, None), Written, self.sentences)).files

    def _order(self, files: Sequence[File], bounds: Bounds | None) -> Read:
        own, languages = self.sentences, self.sentences.languages
        return Read(list(files), languages.source, languages.target, own.can_require, own.can_align, bounds)


def sentence_bounds(text: str) -> list[tuple[int, int]]:
    """Begin and end of each sentence; a line end ends one too."""
    bounds, begin = [], 0
    for line in text.splitlines(keepends=True):
        bounds += [(begin + start, begin + end) for start, end in split_sentences(line)]
        begin += len(line)
    return bounds


def joined(text: str, sentences: Sequence[Sentence], choice: int = 0) -> str:
    """A text with the translations in place of its sentences; of each the choice, or the last that there is."""
    pieces, done = [], 0
    for one in sentences:
        best = one.translation.n_best
        pieces += [text[done : one.start], best[min(choice, len(best) - 1)].text if best else ""]
        done = one.end
    return "".join([*pieces, text[done:]])


async def _until_gone(http: HTTPRequest) -> None:
    with suppress(RuntimeError):
        while (await http.receive())["type"] != "http.disconnect":
            pass
