"""Projects over HTTP: segments that people confirm, memories, glossaries, and translations that use them."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from itertools import accumulate
from typing import Any

from fastapi import APIRouter, Query, Response
from fastapi.responses import HTMLResponse
from pydantic import Field
from starlette.requests import Request as HTTPRequest

from docsegments.document import Languages
from docsegments.messages.tmx import write_tmx
from transduce.analysis.page import POLICY
from transduce.apps.projects.project import Project
from transduce.apps.projects.project_files import GLOSSARIES, glossary_ending, write_glossary
from transduce.apps.projects.project_memory import MOST_MATCHES, Match
from transduce.apps.projects.project_store import StoreError, UnknownSegmentError
from transduce.apps.projects.translation_facts import TermUse
from transduce.apps.serving.bodies import StrictBody, Texts, content_type
from transduce.apps.serving.documents.messages import File
from transduce.apps.serving.libretranslate import ERRORS
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.request_texts import Sentence, context_of, joined, sentence_bounds
from transduce.apps.serving.server import Server
from transduce.apps.serving.word_questions import MOST_LETTERS, explain
from transduce.base.errors import InputError
from transduce.corpora.context_settings import ContextConfig
from transduce.inference.translation import Translation
from transduce.text.glossary import Glossary

PATH = re.compile(r"/v1/projects(?:/.*)?", re.DOTALL)
FILE_PATH = re.compile(r"/v1/projects/[^/]+/(?:memory|glossary)")
MOST_SEGMENTS = 1000
"""The most segments of one answer."""
MOST_LISTED = 200_000
"""The most characters of one answer of several segments."""
MOST_BEFORE = 8
"""The most segments before one that are its context."""
LAST_EVENTS = 20
MOST_ALTERNATIVES = 15
MOST_COMPARED = 50
"""The segments of a request for which similar ones are sought in the memory; those in it are known for all."""
MAX_GLOSSARY_BYTES = 4 * 2**20


class NewProject(StrictBody):
    """The languages of a project."""

    source: str = Field(min_length=1, max_length=40)
    target: str = Field(min_length=1, max_length=40)


class NewSegment(StrictBody):
    """A translation that a person confirmed."""

    source: str
    machine: str = ""
    """The translation that the person was shown; "" for none."""
    target: str
    before: str = ""
    """Source of the segment before it in its document; "" if there is none."""


class ToTranslate(StrictBody):
    """Text to translate with what a project knows."""

    text: Texts
    """A text, which is divided into sentences, or a list of segments, which stay whole."""
    alternatives: int = Field(3, ge=0, le=MOST_ALTERNATIVES)
    before: list[list[str]] = Field(default_factory=list, max_length=MOST_COMPARED)
    """Segments before each of a list, the nearest last; default: those before it in the list."""
    repair: bool = False
    """True to translate a sentence with a similar one in the memory also so, that it begins as that does."""


def is_of_projects(path: str) -> bool:
    """Returns True for the path of a request about projects."""
    return PATH.fullmatch(path) is not None


def takes_file(path: str) -> bool:
    """Returns True for a path that takes a file as a body."""
    return FILE_PATH.fullmatch(path) is not None


def projects(server: Server) -> APIRouter:
    """Makes the routes of projects."""
    router = APIRouter(prefix="/v1/projects", tags=["Projects"], responses=ERRORS)

    async def find(http: HTTPRequest, name: str, texts: Sequence[str] = ()) -> Project:
        """Counts a request, and returns its project."""
        await server.admission.admit(http, None, texts)
        return await server.project(name)

    @router.get("")
    async def list_projects(http: HTTPRequest) -> dict[str, Any]:
        """List the projects."""
        await server.admission.admit(http, None)
        projects = server.projects
        every = await server.of_project("", lambda: projects.all) if projects else []
        return {"projects": [{"name": p.name, "source": p.source, "target": p.target} for p in every]}

    @router.put("/{name}")
    async def create(http: HTTPRequest, name: str, asked: NewProject) -> dict[str, Any]:
        """Make a project between languages that a model is served for; one that exists stays as it is."""
        await server.admission.admit(http, None)
        server.models.find(asked.source, asked.target)  # or refuses
        assert server.projects is not None
        make, client = server.projects.create, str(http.state.client)
        project = await server.of_project("", make, name, asked.source, asked.target, client)
        return {"name": project.name, "source": project.source, "target": project.target}

    @router.get("/{name}")
    async def describe(http: HTTPRequest, name: str) -> dict[str, Any]:
        """Count what a project has, and list the last things that happened to it."""
        project = await find(http, name)
        return await server.of_project(name, _facts_of, server, project)

    @router.post("/{name}/segments")
    async def confirm(http: HTTPRequest, name: str, asked: NewSegment) -> dict[str, int]:
        """Confirm a translation; the answer comes when it is on the disk."""
        texts = asked.source, asked.machine, asked.target
        project = await find(http, name, (*texts, asked.before))
        segment = await server.of_project(name, project.store.confirm, *texts, "api", asked.before)
        await server.of_project(name, _tell, server, project)
        return {"id": segment.id}

    @router.get("/{name}/segments")
    async def segments(http: HTTPRequest, name: str, after: int = Query(0, ge=0)) -> dict[str, Any]:
        """List confirmed segments of later ids in order, at most 1,000, fewer of long ones; ask again after the last
        one."""
        project = await find(http, name)
        listed = await server.of_project(name, project.store.segments, after, MOST_SEGMENTS)
        sizes = accumulate(len(one.source) + len(one.machine) + len(one.target) for one in listed)
        count = sum(size <= MOST_LISTED for size in sizes)
        return {"segments": [asdict(segment) for segment in listed[: max(count, 1)]]}

    @router.delete("/{name}/segments/{id}")
    async def take_back(http: HTTPRequest, name: str, id: int) -> dict[str, int]:
        """Take a segment back: the memory and what is learned are as if it had never come."""
        project = await find(http, name)
        await server.of_project(name, project.store.take_back, id)
        await server.of_project(name, _tell, server, project)
        return {"id": id}

    @router.get("/{name}/memory", response_class=Response)
    async def memory(http: HTTPRequest, name: str) -> Response:
        """Return the memory as a TMX file: what was confirmed, and what was given."""
        project = await find(http, name)
        languages = Languages(project.source, project.target)
        data = await server.of_project(name, lambda: write_tmx(project.memory.pairs(), languages))
        return _file(data, "application/x-tmx+xml", f"{project.name}.tmx")

    @router.put("/{name}/memory", openapi_extra=_file_body("application/x-tmx+xml"))
    async def put_memory(http: HTTPRequest, name: str) -> dict[str, int]:
        """Replace the memory that was given by a TMX file's; confirmed segments stay."""
        project = await find(http, name)
        file = File(await http.body(), "memory.tmx", "tmx")
        entries = await server.finish(http, server.read_entries(http, file, project), 10 * server.settings.timeout)
        pairs = [(entry.source, entry.target) for entry in entries]
        await server.of_project(name, project.memory.replace, pairs)
        return {"pairs": len(pairs)}

    @router.get("/{name}/glossary", response_class=Response)
    async def glossary(http: HTTPRequest, name: str) -> Response:
        """Return the glossary in the kind that Accept names: TSV by default, CSV or TBX."""
        project = await find(http, name)
        kind = _accepted(http.headers.get("accept", ""))
        languages = Languages(project.source, project.target)
        data = await server.of_project(name, lambda: write_glossary(project.store.terms(), kind, languages))
        return _file(data, kind, f"{project.name}{glossary_ending(kind)}")

    @router.put("/{name}/glossary", openapi_extra=_file_body(*GLOSSARIES))
    async def put_glossary(http: HTTPRequest, name: str) -> dict[str, int]:
        """Replace the glossary by one of the kind that Content-Type names (TSV, CSV or TBX), or by none if empty."""
        project = await find(http, name)
        kind, data = content_type(http), await http.body()
        ending = glossary_ending(kind)
        if len(data) > MAX_GLOSSARY_BYTES:
            raise RefusedError(413, f"The glossary has more than {MAX_GLOSSARY_BYTES:,} bytes")
        file = File(data, f"glossary{ending}")
        entries = await server.finish(http, server.read_entries(http, file, project)) if data.strip() else []
        await server.of_project(name, project.replace_glossary, Glossary(entries))
        return {"terms": len(entries)}

    @router.post("/{name}/translate")
    async def translate(http: HTTPRequest, name: str, asked: ToTranslate) -> dict[str, Any]:
        """Translate with a project's memory, terms and what was learned from it."""
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        project = await find(http, name, texts)
        found: list[_Found] = []
        translated: dict[int, list[Sentence]] = {}
        repaired: dict[int, str] = {}

        def charge(characters: int) -> None:
            server.admission.charge_more(http, characters)

        async def work() -> None:
            n_best = asked.alternatives + 1
            search = server.settings.beam(n_best)
            async with server.begin(project.source, project.target) as model:
                reads = model.translator.bundle.config.context
                found.extend(await server.of_project(name, _segments_of, project, asked.text, asked.before, reads))
                translated.update({number: [] for number, each in enumerate(found) if not each.is_exact})
                unknown = list(translated)
                sources = [found[number].source for number in unknown]
                adapted = server.with_project(model, project)
                glossary = await server.of_project(name, server.terms.glossary, project)
                contexts = [found[number].context for number in unknown]
                async for index, sentence in server.sentences(
                    adapted, sources, search, glossary=glossary, charge=charge, contexts=contexts
                ):
                    translated[unknown[index]].append(sentence)
                if asked.repair:
                    begun = await server.of_project(name, server.repairs, project, _similar(found))
                    charge(sum(len(found[number].source) for number in begun))
                    await asyncio.gather(*(repair(adapted, glossary, *each) for each in begun.items()))

        async def repair(model: ServedModel, glossary: Glossary | None, number: int, beginning: str) -> None:
            with suppress(InputError, RefusedError):  # it is too long, banned, or has characters that the model lacks
                texts, search, contexts = [found[number].source], server.settings.beam(), [found[number].context]
                async for _, sentence in server.sentences(
                    model, texts, search, glossary=glossary, prefixes=[beginning], contexts=contexts
                ):
                    repaired[number] = sentence.translation.text

        await server.finish(http, work())

        def facts() -> list[dict[str, Any]]:
            return [
                _facts(server, project, each, translated.get(number), asked.alternatives)
                | {"repaired": repaired.get(number)}
                for number, each in enumerate(found)
            ]

        return {"segments": await server.of_project(name, facts)}

    @router.get("/{name}/report", response_class=HTMLResponse)
    async def report(http: HTTPRequest, name: str) -> HTMLResponse:
        """Return a page that shows what was learned: gain, forgetting and cost, segment by segment; and how good the
        estimates of edits are."""
        project = await find(http, name)
        reliability = await server.of_project(name, server.quality.reliability, project)
        return _page(await server.of_project(name, server.learning.report, project, reliability))

    @router.get("/{name}/look/{id}", response_class=HTMLResponse)
    async def look(
        http: HTTPRequest, name: str, id: int, adapted: bool = True, why: str = Query("", max_length=MOST_LETTERS)
    ) -> HTMLResponse:
        """Return a page that shows how the model, with or without what was learned, translates a segment's source; or
        why it writes a word of that."""
        project = await find(http, name)
        listed = await server.of_project(name, project.store.segments, id - 1, 1)
        if not listed or listed[0].id != id:
            raise UnknownSegmentError(f"there is no segment {id}; it may have been taken back")
        async with server.begin(project.source, project.target) as model:
            chosen = server.with_project(model, project) if adapted else model
            if why:
                answer = await explain(server, http, project.name, chosen, listed[0].source, why)
                return _page(answer.pictures().html())
            looking = chosen.batcher.run(lambda: chosen.translator.look(listed[0].source).html())
            return _page(await server.finish(http, asyncio.wrap_future(looking)))

    return router


def _tell(server: Server, project: Project) -> None:
    """Tells what learns of a change; if the file cannot be read just now, the watcher does so soon."""
    with suppress(StoreError):
        server.learning.changed(project)


def _page(text: str) -> HTMLResponse:
    return HTMLResponse(text, headers={"Content-Security-Policy": POLICY})


@dataclass(frozen=True)
class _Found:
    """A segment of a text, with what a project's memory has."""

    start: int
    """The characters of the text before it."""
    source: str
    matches: list[Match]
    context: str
    """Texts before the segment that a model reads, one a line: sources, with known translations if it reads these."""

    @property
    def is_exact(self) -> bool:
        """True if the memory has a translation of it."""
        return bool(self.matches) and self.matches[0].similarity == 1


def _segments_of(
    project: Project, text: str | list[str], befores: Sequence[list[str]], reads: ContextConfig | None
) -> list[_Found]:
    """Returns the segments of a text, each with its start and its matches in the memory, and those before it.

    A text whose whole is in the memory is one segment; others are divided into sentences.
    """
    segments = [(0, segment) for segment in text] if isinstance(text, list) else [(0, text)]
    if isinstance(text, str) and project.memory.translation(text) is None:
        segments = [(start, text[start:end]) for start, end in sentence_bounds(text)]
    found = []
    for number, (start, segment) in enumerate(segments):
        in_text = [source for _, source in segments[max(number - MOST_BEFORE, 0) : number]]
        before = befores[number][-MOST_BEFORE:] if number < len(befores) else in_text
        nearest, most = before[-1] if before else "", MOST_MATCHES if number < MOST_COMPARED else 0
        context = context_of(before, project.memory.translation, reads)
        found.append(_Found(start, segment, project.memory.find(segment, most, nearest), context))
    return found


def _similar(segments: Sequence[_Found]) -> dict[int, tuple[str, Match]]:
    """Returns the segments of one sentence that are not in the memory, each with the most similar source in it."""
    return {
        number: (each.source, each.matches[0])
        for number, each in enumerate(segments)
        if each.matches and not each.is_exact and len(sentence_bounds(each.source)) == 1
    }


def _facts(
    server: Server,
    project: Project,
    found: _Found,
    sentences: Sequence[Sentence] | None,
    alternatives: int,
) -> dict[str, Any]:
    """Returns the facts about a segment: with the model's sentences, or None for one that the memory has."""
    source, estimate = found.source, None
    others: list[str] = []
    if sentences is None:
        translation = found.matches[0].target
    else:
        translation = joined(source, sentences, language=project.target)
        every = (joined(source, sentences, n, project.target) for n in range(1, alternatives + 1))
        others = list(dict.fromkeys(other for other in every if other != translation))
        translations: list[Translation] = [sentence.translation for sentence in sentences]
        estimate = server.quality(project, source, translations)
    return {
        "start": found.start,
        "source": source,
        "translation": translation,
        "origin": "memory" if sentences is None else "model",
        "matches": [asdict(match) for match in found.matches],
        "terms": [asdict(_explained(use, sentences)) for use in server.terms(project, source, translation)],
        "alternatives": others,
        "quality": None if estimate is None else asdict(estimate),
    }


def _explained(use: TermUse, sentences: Sequence[Sentence] | None) -> TermUse:
    """Returns a term with the model's reason for it being missing, such as a vocabulary that cannot write it."""
    outcomes = [outcome for sentence in sentences or () for outcome in sentence.translation.terms]
    reasons = [outcome.why for outcome in outcomes if outcome.target == use.target and not outcome.met]
    return replace(use, why=reasons[0]) if use.why == "missing" and reasons else use


def _facts_of(server: Server, project: Project) -> dict[str, Any]:
    store = project.store
    return {
        "name": project.name,
        "source": project.source,
        "target": project.target,
        "segments": store.count(),
        "revision": store.revision(),
        "memory": len(project.memory),
        "terms": len(store.terms()),
        **server.learning.facts(project),
        "events": [asdict(event) for event in store.events(last=LAST_EVENTS)],
    }


def _accepted(header: str) -> str:
    """Returns the first kind of glossary that a header names; TSV if it takes anything."""
    named = [kind.partition(";")[0].strip().lower() for kind in header.split(",")]
    kind = next((kind for kind in named if kind in GLOSSARIES), None)
    if kind is None and header.strip() and not any(name in ("*/*", "text/*") for name in named):
        raise RefusedError(400, f"Invalid request: a glossary is one of {', '.join(GLOSSARIES)} (Accept)")
    return kind or "text/tab-separated-values"


def _file(data: bytes, kind: str, name: str) -> Response:
    return Response(data, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _file_body(*kinds: str) -> dict[str, Any]:
    schema = {"schema": {"type": "string", "format": "binary"}}
    return {"requestBody": {"required": True, "content": dict.fromkeys(kinds, schema)}}
