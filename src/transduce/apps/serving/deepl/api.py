"""The routes of DeepL's API: texts, languages, usage, and those of glossaries and documents."""

import re
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request as HTTPRequest

from transduce.apps.projects.project import Project
from transduce.apps.serving.bodies import described, read_values
from transduce.apps.serving.deepl.deepl_bodies import ERRORS, KINDS, Authenticated, TranslateBody
from transduce.apps.serving.deepl.deepl_glossaries import find_glossary, glossary_routes
from transduce.apps.serving.deepl.deepl_languages import (
    base,
    choose_models,
    languages_for,
    source_languages,
    target_languages,
)
from transduce.apps.serving.detection import Detector, without_tags
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.request_texts import joined
from transduce.apps.serving.server import Server

FEATURES = ("tag_handling", "auto_detection")
UNLIMITED = 1_000_000_000_000
"""The limit of characters that DeepL's API reports where there is none."""
_PROJECT = re.compile(r"\A/projects/[^/]++(?=/v[23]/)")


def without_project(path: str) -> str:
    """Returns a path of the whole server's API for one of a project's."""
    return _PROJECT.sub("", path)


def is_deepl(path: str) -> bool:
    """Returns True for a path of DeepL's API, which each project has, too."""
    return without_project(path).startswith(("/v2/", "/v3/"))


def deepl(server: Server, detector: Detector) -> APIRouter:
    """Makes the routes of DeepL's API but those of documents."""
    router = APIRouter()

    @router.get("/v2/translate", include_in_schema=False)
    @router.post("/v2/translate", tags=["DeepL"], openapi_extra=described(TranslateBody, *KINDS), responses=ERRORS)
    async def translate(http: HTTPRequest) -> dict[str, Any]:
        """Translate texts, which may have tags of XML or HTML."""
        asked = TranslateBody.model_validate(await read_values(http, server.settings.max_sentences))
        texts = asked.texts
        project = await server.admit(http, asked.auth_key, texts)
        asked.check()
        models = choose_models(server.models.all, asked.source_lang, asked.target_lang, project)
        sources = [models[0].source] * len(texts)
        if asked.source_lang is None and project is None:
            read = [without_tags(text) for text in texts] if asked.tag_handling else texts
            codes, into = [model.source for model in models], models[0].target
            sources = await run_in_threadpool(
                lambda: [detector.find_source(text, codes, into)["language"] for text in read]
            )
        outputs = list(texts)

        async def work() -> None:
            for source in dict.fromkeys(sources):
                numbers = [number for number, language in enumerate(sources) if language == source]
                target = next((model.target for model in models if model.source == source), None)
                if target is None:  # it is in the target language already, and stays as it is
                    continue
                async with server.begin(source, target) as model:
                    translated = await translated_by(http, asked, model, [texts[number] for number in numbers], project)
                for number, output in zip(numbers, translated, strict=True):
                    outputs[number] = output

        await server.finish(http, work())
        translations = [
            {"detected_source_language": base(source), "text": output}
            | ({"billed_characters": len(text)} if asked.show_billed_characters else {})
            for source, text, output in zip(sources, texts, outputs, strict=True)
        ]
        return {"translations": translations}

    async def translated_by(
        http: HTTPRequest, asked: TranslateBody, model: ServedModel, texts: Sequence[str], project: Project | None
    ) -> list[str]:
        """Returns the translations of texts of one language, by a project's memory where it has them."""
        glossary = await find_glossary(http, server, asked.glossaries, model)
        if asked.tag_handling is not None:
            how = asked.tag_handling, asked.tags, glossary, asked.split != "whole", project, asked.context or ""
            return await server.translate_marked_up(http, model, texts, *how)
        known: list[str | None] = [None] * len(texts)
        if project is not None:
            known = await server.of_project(project.name, lambda: [project.memory.translation(text) for text in texts])
            glossary = glossary or await server.of_project(project.name, server.terms.glossary, project)
            model = server.with_project(model, project)

        def charge(characters: int) -> None:
            server.admission.charge(http, characters)

        unknown = [text for text, translation in zip(texts, known, strict=True) if translation is None]
        contexts = [asked.context or ""] * len(unknown)
        of_texts = await server.translate(
            model, unknown, glossary=glossary, charge=charge, split=asked.split, contexts=contexts
        )
        both = zip(unknown, of_texts, strict=True)
        anew = iter([joined(text, sentences, language=model.target) for text, sentences in both])
        return [next(anew) if translation is None else translation for translation in known]

    @router.post("/v2/languages", include_in_schema=False)
    @router.get("/v2/languages", tags=["DeepL"], responses=ERRORS)
    async def languages(http: HTTPRequest) -> list[dict[str, Any]]:
        """List the source languages, or with `type=target` the target languages."""
        values = await read_values(http, 1)
        await server.admit(http, Authenticated.model_validate(values).auth_key)
        models = server.models.all
        return target_languages(models) if values.get("type") == "target" else source_languages(models)

    @router.get("/v3/languages", tags=["DeepL"], responses=ERRORS)
    async def all_languages(http: HTTPRequest) -> list[dict[str, Any]]:
        """List the languages of texts or documents, or with `product=glossary` those of glossaries."""
        values = await read_values(http, 1)
        await server.admit(http, Authenticated.model_validate(values).auth_key)
        product = values.get("product") or values.get("resource")
        keeps = server.glossaries is not None
        if product in ("translate_text", "translate_document"):
            return languages_for(server.models.all, [*FEATURES, *(["glossary"] if keeps else [])])
        return languages_for(server.models.all, []) if product == "glossary" and keeps else []

    @router.get("/v2/usage", tags=["DeepL"], responses=ERRORS)
    async def usage(http: HTTPRequest) -> dict[str, int]:
        """Report the client's characters since the server began; there is no limit of them."""
        await server.admit(http, Authenticated.model_validate(await read_values(http, 1)).auth_key)
        return {"character_count": server.admission.used[http.state.client], "character_limit": UNLIMITED}

    router.include_router(glossary_routes(server))
    return router
