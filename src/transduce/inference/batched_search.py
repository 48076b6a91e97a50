"""Searches many pieces of text in batches of similar length, by the engine of each and within the memory of a GPU."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch

from transduce.data.parts import batches_by_length
from transduce.inference.engines.choice import pytorch_of
from transduce.inference.engines.engine import Engine, EngineChoice
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.execution.workers import map_parallel
from transduce.inference.requests import Constraints, Piece
from transduce.search.choices import DecisionRule, MinimumBayesRisk, Search, search_of
from transduce.search.loop import Hypothesis

TOKENS_AT_ONCE = 6144
"""Padded source tokens times hypotheses of a batch, where a GPU's memory sets no other limit."""


@dataclass
class BatchedSearch:
    """A search for pieces of any number and length."""

    engine: EngineChoice
    constraints: Constraints
    tokens_at_once: int | None = None
    """Padded source tokens times hypotheses of a batch; None for as many as suit the device."""
    halvings: int = 0
    """The number of times that batches are halved, since a GPU had no memory for them."""

    def search(
        self, pieces: Sequence[Piece], rule: DecisionRule, tell: Callable[[float], None] | None = None
    ) -> list[list[Hypothesis]]:
        """Returns the outputs wanted of each piece, best first; `tell` receives the share of tokens that is done."""
        search = search_of(rule)
        batches: dict[Engine, list[list[int]]] = {}
        for (engine, _), chosen in self._groups(pieces, search).items():
            lengths = [len(pieces[i].source) + 1 for i in chosen]
            of_length = self._batches(engine, lengths, search)
            batches.setdefault(engine, []).extend([chosen[i] for i in batch] for batch in of_length)
        results: dict[int, list[Hypothesis]] = {}
        done, tokens = 0, sum(len(piece.source) for piece in pieces)
        for engine, of_engine in batches.items():
            of_engine.reverse()  # the longest first, so that none is left alone at the end
            work = partial(self._search_batch, engine, pieces, search)
            for batch, hypotheses in zip(of_engine, map_parallel(work, of_engine, engine.workers(search)), strict=True):
                results.update(zip(batch, hypotheses, strict=True))
                done += sum(len(pieces[i].source) for i in batch)
                if tell is not None:
                    tell(done / tokens)
        outputs = [results[i] for i in range(len(pieces))]
        if isinstance(rule, MinimumBayesRisk):
            return [rule.choose(candidates, self.constraints.tokenizer.decode) for candidates in outputs]
        return outputs

    def _groups(self, pieces: Sequence[Piece], search: Search) -> dict[tuple[Engine, bool], list[int]]:
        """Returns the numbers of pieces that may be searched together: by one engine, and either all with required
        phrases or none, so that phrases one line requires change no other's search."""
        groups: dict[tuple[Engine, bool], list[int]] = {}
        for is_constrained in (False, True):
            for number, piece in enumerate(pieces):
                if bool(piece.required) == is_constrained:
                    groups.setdefault((self.engine.of(piece, search), is_constrained), []).append(number)
        return groups

    def _search_batch(
        self, engine: Engine, pieces: Sequence[Piece], search: Search, batch: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Searches a batch; what a GPU's memory does not suffice for, in halves, as all batches after it."""
        waiting = [batch]
        for _ in range(self.halvings):
            waiting = _halves(waiting)
        outputs: list[list[Hypothesis]] = []
        while waiting:
            try:
                outputs += engine.search([pieces[i] for i in waiting[0]], self.constraints, search)
                del waiting[0]
                continue
            except torch.OutOfMemoryError:
                if len(waiting[0]) == 1:
                    raise
                sentences = len(waiting[0])
            waiting = _halves(waiting)  # when the error, and with it the failed search, is forgotten
            if not self.halvings:
                warnings.warn(
                    f"the GPU has no memory for {sentences} sentences at once; halving batches, as often as needed",
                    stacklevel=2,
                )
            self.halvings += 1
            if (pytorch := pytorch_of(self.engine)) is not None:
                pytorch.free()
        return outputs

    def _batches(self, engine: Engine, lengths: Sequence[int], search: Search) -> list[list[int]]:
        """Returns indices of pieces in batches of similar length, the shortest first."""
        if self.tokens_at_once is None and isinstance(engine, PyTorchEngine):
            batches = engine.batches(lengths, search)
            if batches is not None:
                return batches
        tokens = TOKENS_AT_ONCE if self.tokens_at_once is None else self.tokens_at_once
        return batches_by_length(lengths, engine.batches_at_once * tokens // search.rows)


def _halves(batches: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Returns the halves of batches, in order; what is one row stays."""
    halves = [half for each in batches for half in (each[: len(each) // 2], each[len(each) // 2 :])]
    return [half for half in halves if half]
