"""Answers to the question why the model of a project wrote a word."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from fastapi import APIRouter
from pydantic import Field
from starlette.requests import Request as HTTPRequest

from transduce.analysis.teaching_pairs import PairSearch
from transduce.analysis.why import Why
from transduce.apps.serving.bodies import StrictBody
from transduce.apps.serving.libretranslate import ERRORS
from transduce.apps.serving.models import ServedModel
from transduce.apps.serving.request_texts import MOST_CONTEXT, last_sentences
from transduce.apps.serving.server import Server
from transduce.base.errors import TransduceError
from transduce.experiment.training_pairs import open_training_pairs
from transduce.inference.looking import check_length
from transduce.inference.request import Request
from transduce.inference.why_word import why

MOST_LETTERS = 200
"""The most characters of a word."""


class WordAsked(StrictBody):
    """A word of a translation."""

    source: str = Field(min_length=1, max_length=2000)
    target: str = Field(min_length=1, max_length=2000)
    word: str = Field(min_length=1, max_length=MOST_LETTERS)
    context: str = Field("", max_length=MOST_CONTEXT)
    """Text before the source, which a model that reads context reads with it."""


def word_questions(server: Server) -> APIRouter:
    """Makes the route of questions."""
    router = APIRouter(prefix="/v1/projects", tags=["Projects"], responses=ERRORS)

    @router.post("/{name}/why")
    async def why_word(http: HTTPRequest, name: str, asked: WordAsked) -> dict[str, Any]:
        """Explain why the model writes a word of a translation and not another; with the nearest training pairs if
        `transduce look RUN --why` has made an index of them in the model's run."""
        await server.admission.admit(http, None, [asked.source, asked.target, asked.context])
        project = await server.project(name)
        async with server.begin(project.source, project.target) as model:
            adapted = server.with_project(model, project)
            before = last_sentences(asked.context, model.translator.bundle.config.context)
            request = Request(asked.source, before=tuple(before))
            answer = await explain(server, http, name, adapted, request, asked.word, asked.target)
        pairs = [] if answer.taught is None else answer.taught.nearest
        return {"answer": answer.answer, "pairs": [{"source": pair.source, "target": pair.target} for pair in pairs]}

    return router


async def explain(
    server: Server,
    http: HTTPRequest,
    project: str,
    model: ServedModel,
    request: str | Request,
    word: str,
    target: str | None = None,
) -> Why:
    """Asks a model briefly, in its batcher's thread; raises as `transduce.why` does."""
    translator, search = model.translator, server.settings.beam()
    pairs = await server.of_project(project, _kept_pairs, model)

    def ask() -> Why:
        if target is not None:  # as long as a search may write
            most = int(search.max_ratio * translator.longest_source + search.max_extra)
            check_length(len(translator.bundle.tokenizers.target.encode(target)), most)
        return why(translator, request, word, None, target, search, pairs, brief=True)

    return await server.finish(http, asyncio.wrap_future(model.batcher.run(ask)))


def _kept_pairs(model: ServedModel) -> Callable[[], PairSearch] | None:
    """Returns the training pairs of a model's run; None without an index of them."""
    with suppress(TransduceError):
        pairs = open_training_pairs(model.folder, model.translator.single_model(), is_kept=True)
        return lambda: pairs
    return None
