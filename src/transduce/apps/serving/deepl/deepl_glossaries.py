"""Glossaries of DeepL's API: those of `/v2` have one dictionary, those of `/v3` several, which can be changed."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from fastapi import APIRouter, Response
from starlette.requests import Request as HTTPRequest

from docsegments.language_codes import primary
from transduce.apps.serving.bodies import JSON, described, read_values
from transduce.apps.serving.deepl.deepl_bodies import (
    ERRORS,
    KINDS,
    Authenticated,
    DictionaryBody,
    GlossaryBody,
    GlossaryChangeBody,
    GlossaryWithDictionariesBody,
)
from transduce.apps.serving.deepl.deepl_languages import choose_models
from transduce.apps.serving.documents.document_workers import in_thread
from transduce.apps.serving.glossaries import (
    MOST_ENTRIES,
    Glossaries,
    GlossaryInfo,
    Pair,
    glossary_of,
    pairs_of,
    read_entries,
    tsv_of,
)
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.refusals import RefusedError
from transduce.apps.serving.server import Server
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.language_detector import canonical
from transduce.text.glossary import Glossary

T = TypeVar("T")
Body = TypeVar("Body", bound=Authenticated)


def owner_of(http: HTTPRequest) -> str:
    """Returns the name of the key whose glossaries a client sees; "" where there are no keys."""
    return "" if http.state.key is None else str(http.state.key.name)


async def find_glossary(http: HTTPRequest, server: Server, ids: Sequence[str], model: ServedModel) -> Glossary | None:
    """Returns the terms of a client's glossaries for a model, None for no glossaries; of two terms the first counts.

    Raises RefusedError (404) for an id that the client has not, and (400) for a glossary of other languages.
    """
    if not ids:
        return None
    glossaries, owner = _kept(server), owner_of(http)

    def read_all() -> Glossary:
        entries: dict[str, str] = {}
        for id in ids:
            pairs = glossaries.info(owner, id).dictionaries
            pair = next((pair for pair in pairs if _are_of(pair, model)), None)
            if pair is None:
                raise RefusedError(400, f"The glossary has no dictionary for {model.source} to {model.target}")
            entries = dict(pairs_of(glossaries.entries(owner, id, pair))) | entries
        return glossary_of(tsv_of(dict(list(entries.items())[:MOST_ENTRIES])))

    return await in_thread(read_all)


def glossary_routes(server: Server) -> APIRouter:
    """Makes the routes of glossaries."""
    router = APIRouter(tags=["DeepL"])

    async def admitted(http: HTTPRequest, body: type[Body]) -> Body:
        asked = body.model_validate(await read_values(http, 1))
        await server.admit(http, asked.auth_key)
        return asked

    async def done(work: Callable[[Glossaries], T]) -> T:
        glossaries = _kept(server)
        return await in_thread(lambda: work(glossaries))

    def read(dictionary: DictionaryBody) -> tuple[Pair, str]:
        choose_models(server.models.all, dictionary.source_lang, dictionary.target_lang)
        pair = primary(dictionary.source_lang), primary(dictionary.target_lang)
        return pair, read_entries(dictionary.entries, dictionary.entries_format, pair)

    @router.get("/v2/glossary-language-pairs", responses=ERRORS)
    async def language_pairs(http: HTTPRequest) -> dict[str, Any]:
        """List the directions that glossaries can be made for; none if the server keeps no glossaries."""
        await admitted(http, Authenticated)
        pairs = dict.fromkeys(
            (primary(model.source), primary(model.target))
            for model in server.models.all
            if server.glossaries is not None and isinstance(model.translator.bundle, ModelBundle)
        )
        return {"supported_languages": [{"source_lang": source, "target_lang": target} for source, target in pairs]}

    def both(version: str, describe: Callable[[GlossaryInfo], dict[str, Any]]) -> None:
        """Makes the routes that list and describe glossaries in either version."""

        @router.get(f"/{version}/glossaries", responses=ERRORS)
        async def list_all(http: HTTPRequest) -> dict[str, Any]:
            """List the client's glossaries; those of several directions are for /v3 alone."""
            await admitted(http, Authenticated)
            infos = [] if server.glossaries is None else await done(lambda kept: kept.list(owner_of(http)))
            return {"glossaries": [describe(info) for info in infos if version == "v3" or len(info.dictionaries) == 1]}

        @router.get(f"/{version}/glossaries/{{id}}", responses=ERRORS)
        async def details(http: HTTPRequest, id: str) -> dict[str, Any]:
            """Describe a glossary."""
            await admitted(http, Authenticated)
            return describe(await done(lambda kept: kept.info(owner_of(http), id)))

    both("v2", _single)
    both("v3", _several)

    @router.post("/v2/glossaries", status_code=201, openapi_extra=described(GlossaryBody, *KINDS), responses=ERRORS)
    async def create(http: HTTPRequest) -> dict[str, Any]:
        """Make a glossary for one direction."""
        asked = await admitted(http, GlossaryBody)
        info = await done(lambda kept: kept.create(owner_of(http), asked.name, dict([read(asked)])))
        return _single(info)

    @router.get("/v2/glossaries/{id}/entries", responses=ERRORS, response_class=Response)
    async def entries(http: HTTPRequest, id: str) -> Response:
        """Return the entries of a glossary of one direction, as lines of two terms with a tab between them."""
        await admitted(http, Authenticated)

        def find(kept: Glossaries) -> str:
            (pair,) = _one(kept.info(owner_of(http), id)).dictionaries
            return kept.entries(owner_of(http), id, pair)

        return Response(await done(find), media_type="text/tab-separated-values; charset=utf-8")

    @router.delete("/v2/glossaries/{id}", status_code=204, responses=ERRORS)
    @router.delete("/v3/glossaries/{id}", status_code=204, responses=ERRORS)
    async def delete(http: HTTPRequest, id: str) -> Response:
        """Delete a glossary."""
        await admitted(http, Authenticated)
        await done(lambda kept: kept.delete(owner_of(http), id))
        return Response(status_code=204)

    @router.post(
        "/v3/glossaries", status_code=201, openapi_extra=described(GlossaryWithDictionariesBody, JSON), responses=ERRORS
    )
    async def create_with_dictionaries(http: HTTPRequest) -> dict[str, Any]:
        """Make a glossary of several directions."""
        asked = await admitted(http, GlossaryWithDictionariesBody)
        info = await done(lambda kept: kept.create(owner_of(http), asked.name, dict(map(read, asked.dictionaries))))
        return _several(info)

    @router.patch("/v3/glossaries/{id}", openapi_extra=described(GlossaryChangeBody, JSON), responses=ERRORS)
    async def change(http: HTTPRequest, id: str) -> dict[str, Any]:
        """Rename a glossary, or add entries to its dictionaries."""
        asked = await admitted(http, GlossaryChangeBody)
        changed = await done(
            lambda kept: kept.change(owner_of(http), id, asked.name, dict(map(read, asked.dictionaries)))
        )
        return _several(changed)

    @router.put("/v3/glossaries/{id}/dictionaries", openapi_extra=described(DictionaryBody, JSON), responses=ERRORS)
    async def replace(http: HTTPRequest, id: str) -> dict[str, Any]:
        """Replace a dictionary of a glossary, or add one."""
        asked = await admitted(http, DictionaryBody)

        def work(kept: Glossaries) -> dict[str, Any]:
            pair, entries = read(asked)
            changed = kept.change(owner_of(http), id, None, {pair: entries}, replaces=True)
            return _dictionary(pair, changed.dictionaries[pair])

        return await done(work)

    @router.get("/v3/glossaries/{id}/entries", responses=ERRORS)
    async def entries_of_dictionary(http: HTTPRequest, id: str, source_lang: str, target_lang: str) -> dict[str, Any]:
        """Return the entries of a dictionary."""
        await admitted(http, Authenticated)
        pair = primary(source_lang), primary(target_lang)
        tsv = await done(lambda kept: kept.entries(owner_of(http), id, pair))
        described = {"source_lang": pair[0], "target_lang": pair[1], "entries": tsv, "entries_format": "tsv"}
        return {"dictionaries": [described]}

    @router.delete("/v3/glossaries/{id}/dictionaries", status_code=204, responses=ERRORS)
    async def delete_dictionary(http: HTTPRequest, id: str, source_lang: str, target_lang: str) -> Response:
        """Delete a dictionary of a glossary."""
        await admitted(http, Authenticated)
        pair = primary(source_lang), primary(target_lang)
        await done(lambda kept: kept.delete(owner_of(http), id, pair))
        return Response(status_code=204)

    return router


def _kept(server: Server) -> Glossaries:
    if server.glossaries is None:
        raise RefusedError(404, "Glossary not found: this server keeps none; name a file for them (glossaries)")
    return server.glossaries


def _are_of(pair: Pair, model: ServedModel) -> bool:
    source, target = pair
    return canonical(source) == canonical(model.source) and canonical(target) == canonical(model.target)


def _one(info: GlossaryInfo) -> GlossaryInfo:
    if len(info.dictionaries) != 1:
        raise RefusedError(404, "Glossary not found: it is not of one direction; see /v3/glossaries")
    return info


def _single(info: GlossaryInfo) -> dict[str, Any]:
    ((pair, count),) = _one(info).dictionaries.items()
    described = {"glossary_id": info.id, "name": info.name, "ready": True, "creation_time": info.created}
    return described | _dictionary(pair, count)


def _several(info: GlossaryInfo) -> dict[str, Any]:
    dictionaries = [_dictionary(pair, count) for pair, count in info.dictionaries.items()]
    return {
        "glossary_id": info.id,
        "name": info.name,
        "creation_time": info.created,
        "dictionaries": dictionaries,
    }


def _dictionary(pair: Pair, count: int) -> dict[str, Any]:
    return {"source_lang": pair[0], "target_lang": pair[1], "entry_count": count}
