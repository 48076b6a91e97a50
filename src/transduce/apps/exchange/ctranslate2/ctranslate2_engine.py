"""CTranslate2 as the engine of an exported model, with the outputs and scores of our own beam search."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from transduce.apps.exchange.ctranslate2.ctranslate2_model import (
    NO_PENALTY,
    CTranslate2Model,
    CTranslate2Output,
    EncodedPiece,
    SearchRun,
    never_written,
)
from transduce.base.errors import InputError
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import beyond
from transduce.inference.engines.exported import ExportedModel
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis
from transduce.search.search_settings import limits_for
from transduce.text.tokenizer import Tokenizers

RUNS = frozenset(
    ["a beam", "a list of the best", "other lengths", "a minimum length", "unknown tokens", "no repeated n-grams"]
)
"""Settings of a search that CTranslate2 can run, for `transduce.inference.engines.engine.beyond`."""


def open_engine(model: ExportedModel, asked: str | None) -> "CTranslate2Engine":
    """Returns the engine of an exported model."""
    return CTranslate2Engine(model.folder, model.tokenizers, model.export.longest, model.device)


class CTranslate2Engine:
    """Runs a folder that `transduce export` wrote, where there is no PyTorch model.

    Where CTranslate2's search differs from ours, its outputs are corrected. It divides log-probabilities by n^alpha, so
    hypotheses are reranked. It normalises probabilities after removing forbidden tokens, so a sentence is first
    searched without suppression, and again with it only if a forbidden token came; those outputs are then rescored.
    Its longest length is one for the whole batch and excludes the end token, so a sentence that reached its own limit
    is searched again, and scored with its end token.
    """

    def __init__(self, folder: Path, tokenizers: Tokenizers, longest: int | None, device: torch.device) -> None:
        self.source_limit = longest
        self.model = CTranslate2Model(folder, tokenizers, device)
        self.batches_at_once = self.model.batches_at_once

    def of(self, piece: Piece, search: Search) -> "CTranslate2Engine":
        """See EngineChoice."""
        if piece.required:
            _plain_beam([piece], search)
        return self

    def describe(self, search: Search) -> str:
        """See EngineChoice."""
        return f"CTranslate2 {self.model.version}"

    def workers(self, search: Search) -> int:
        """See Engine; 1, since CTranslate2 has threads of its own."""
        return 1

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine; knows only the plain beam, and pieces without constraints."""
        beam = _plain_beam(pieces, search)
        sources = [self.model.sentence(piece) for piece in pieces]
        lengths = torch.tensor([len(piece.source) - piece.context + 1 for piece in pieces])
        limits = limits_for(beam, lengths, self.source_limit)
        longest = limits.longest.tolist()
        candidates = self._search(sources, beam, limits.shortest.tolist(), longest)
        scored = self.model.score(sources, candidates)
        return [
            _ranked(beam, outputs, own_longest)[: beam.n_best]
            for outputs, own_longest in zip(scored, longest, strict=True)
        ]

    def _search(
        self, sources: Sequence[EncodedPiece], beam: Beam, shortest: Sequence[int], longest: Sequence[int]
    ) -> list[list[CTranslate2Output]]:
        finished: dict[int, list[CTranslate2Output]] = {}
        forbidden = never_written(self.model.target, beam.allow_unknown)
        penalty = beam.length_penalty or NO_PENALTY  # n^alpha, n counting the end token: near ours, it cuts the list
        waiting = {i: SearchRun(own_shortest, max(longest), penalty) for i, own_shortest in enumerate(shortest)}
        while waiting:
            run = next(iter(waiting.values()))
            chosen = [i for i, other in waiting.items() if other == run]
            for i, outputs in zip(chosen, self.model.search([sources[i] for i in chosen], beam, run), strict=True):
                if longest[i] < run.longest and any(len(output.tokens) + 1 >= longest[i] for output in outputs):
                    waiting[i] = replace(run, longest=longest[i])
                elif not run.forbids and any(forbidden.intersection(output.tokens) for output in outputs):
                    waiting[i] = replace(run, forbids=True)
                else:
                    finished[i] = [output for output in outputs if not forbidden.intersection(output.tokens)]
                    del waiting[i]
        return [finished[i] for i in range(len(sources))]


def _plain_beam(pieces: Sequence[Piece], search: Search) -> Beam:
    """Returns the search if CTranslate2 can do all that is asked; InputError otherwise."""
    unable = beyond(RUNS, search, pieces)
    if unable or not isinstance(search, Beam):
        raise InputError(
            f"exported models do not support {' and '.join(unable)}; leave that out, or use the original model"
        )
    return search


def _ranked(beam: Beam, outputs: Iterable[CTranslate2Output], longest: int) -> list[Hypothesis]:
    return sorted((output.rank(beam, longest) for output in outputs), key=lambda hypothesis: -hypothesis.score)
