"""Searches many pieces of text in batches of similar length, by the engine of each and within the memory of a GPU."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import torch

from transduce.data.parts import batches_by_length
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.choice import pytorch_of
from transduce.inference.engines.engine import Engine, EngineChoice
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.execution.parallel_search import map_parallel
from transduce.inference.kept_numbers import keep_numbers
from transduce.inference.quality.alarms import UNEXPLAINED, forbids, stricter
from transduce.inference.quality.quality_estimate import QualityEstimate, combined
from transduce.inference.quality.quality_model import QualityModel
from transduce.search.choices import DecisionRule, MinimumBayesRisk, Search, search_of
from transduce.search.loop import Hypothesis
from transduce.text.capitals import in_usual_case

TOKENS_AT_ONCE = 6144
"""Padded source tokens times hypotheses of a batch, where a GPU's memory sets no other limit."""


@dataclass
class BatchedSearch:
    """A search for pieces of any number and length."""

    engine: EngineChoice
    constraints: Constraints
    tokens_at_once: int | None = None
    """Padded source tokens times hypotheses of a batch; None for as many as suit the device."""
    quality_model: QualityModel | None = None
    """Tells which outputs went wrong, and how good others are; None for no second search."""
    halvings: int = 0
    """The number of times that batches are halved, since a GPU had no memory for them."""

    def search(
        self, pieces: Sequence[Piece], rule: DecisionRule, tell: Callable[[float], None] | None = None
    ) -> list[list[Hypothesis]]:
        """Returns the outputs wanted of each piece, best first; `tell` receives the share of tokens that is done.

        A piece is searched with its required phrases only if its outputs lack some without, and so it is at last with
        the numbers of its source. InputError for phrases that the engine or the search cannot require. A piece without
        such phrases whose best output went wrong is searched again, more strictly, if that search forbids the output,
        or as it is usually written, if it is in capitals.
        """
        outputs, strict = self._with_phrases(pieces, rule, tell), stricter(rule)

        def faults(piece: Piece, n_best: Sequence[Hypothesis]) -> int:
            text = self.constraints.tokenizer.decode(n_best[0].tokens)
            return len(set(self.faults([piece], [text])) - {UNEXPLAINED})

        counts: dict[int, int] = {}  # of pieces that may be better in a stricter search
        for i, (piece, n_best) in enumerate(zip(pieces, outputs, strict=True)):
            if not n_best or piece.required:
                continue
            if piece.text.isupper() or forbids(strict, len(piece.source) - piece.context, n_best[0].tokens):
                counts[i] = faults(piece, n_best)
        again = [i for i, count in counts.items() if count]
        usual = [self._in_usual_case(pieces[i]) for i in again]
        kept = list(pieces)
        for i, piece, found in zip(again, usual, self._search(usual, strict, None), strict=True):
            whole = [each for each in found if not each.truncated]
            if whole and faults(piece, whole) <= counts[i]:
                kept[i], outputs[i] = piece, whole
        outputs = keep_numbers(kept, outputs, rule, self.constraints, self.engine, partial(self._search, tell=None))
        for i in again:
            if kept[i].text != pieces[i].text:
                outputs[i] = list(map(self._in_capitals, outputs[i]))
        return outputs

    def _in_usual_case(self, piece: Piece) -> Piece:
        """Returns a piece whose text is not in capitals; the same piece if it is not, or has constraints."""
        tokenizer, is_free = self.constraints.source, not (piece.prefix or piece.banned)
        if tokenizer is None or not is_free or not piece.text.isupper():
            return piece
        before = len(piece.source) - len(tokenizer.encode(piece.text.strip()))
        usual = in_usual_case(piece.text.strip(), tokenizer)
        return replace(piece, source=[*piece.source[:before], *tokenizer.encode(usual)], text=usual)

    def _in_capitals(self, hypothesis: Hypothesis) -> Hypothesis:
        """Returns an output in capitals, if the vocabulary can write it."""
        tokenizer = self.constraints.tokenizer
        tokens = tokenizer.encode(tokenizer.decode(hypothesis.tokens).upper())
        return hypothesis if tokenizer.unknown in tokens else replace(hypothesis, tokens=tokens)

    def faults(self, pieces: Sequence[Piece], texts: Sequence[str]) -> list[str]:
        """Names what is wrong with the translations of a line's pieces, as far as alarms can tell."""
        if self.quality_model is None:
            return []
        alarms, known = self.quality_model.alarms, self.quality_model.training.translations
        found = (alarms.faults(piece.text, text, known) for piece, text in zip(pieces, texts, strict=True))
        return list(dict.fromkeys(fault for faults in found for fault in faults))

    def quality(
        self, pieces: Sequence[Piece], texts: Sequence[str], outputs: Sequence[list[Hypothesis]]
    ) -> QualityEstimate | None:
        """Returns the estimate of a line's translation, given its pieces, their translations and the outputs that these
        were decoded from; None if nothing is known."""
        if self.quality_model is None:
            return None
        lines = zip(pieces, texts, outputs, strict=True)
        return combined((self.quality_model.estimate(piece.text, text, found[0]), text) for piece, text, found in lines)

    def _with_phrases(
        self, pieces: Sequence[Piece], rule: DecisionRule, tell: Callable[[float], None] | None
    ) -> list[list[Hypothesis]]:
        required = [i for i, piece in enumerate(pieces) if piece.required]
        for i in required:
            self.engine.of(pieces[i], search_of(rule))
        share = 0.5 if required else 1.0  # of the work, for the first search
        plain = [replace(piece, required=[]) if piece.required else piece for piece in pieces]
        outputs = self._search(plain, rule, tell and (lambda done: tell(share * done)))
        decode = self.constraints.tokenizer.decode
        unmet = [
            i
            for i in required
            if any(held_phrases(pieces[i], decode(h.tokens)) < len(pieces[i].required) for h in outputs[i])
        ]
        found = self._search([pieces[i] for i in unmet], rule, tell and (lambda done: tell(share + (1 - share) * done)))
        for i, constrained in zip(unmet, found, strict=True):
            outputs[i] = with_most_phrases(pieces[i], outputs[i], constrained, decode)[: rule.n_best]
        return outputs

    def _search(
        self, pieces: Sequence[Piece], rule: DecisionRule, tell: Callable[[float], None] | None
    ) -> list[list[Hypothesis]]:
        search = search_of(rule)
        batches: dict[Engine, list[list[int]]] = {}
        for engine, chosen in self._groups(pieces, search).items():
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

    def _groups(self, pieces: Sequence[Piece], search: Search) -> dict[Engine, list[int]]:
        """Returns the numbers of the pieces that each engine searches."""
        groups: dict[Engine, list[int]] = {}
        for number, piece in enumerate(pieces):
            groups.setdefault(self.engine.of(piece, search), []).append(number)
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


def with_most_phrases(
    piece: Piece,
    plain: Sequence[Hypothesis],
    constrained: Sequence[Hypothesis],
    decode: Callable[[list[int]], str],
) -> list[Hypothesis]:
    """Returns the outputs with most phrases of the piece, best first, of a search without required phrases and of one
    with them. The best output without them stays the best if it has as many."""
    held = {id(each): held_phrases(piece, decode(each.tokens)) for each in (*plain, *constrained)}
    new = [each for each in constrained if all(each.tokens != other.tokens for other in plain)]
    best = sorted((each for each in (*plain, *new) if held[id(each)] == max(held.values())), key=lambda h: -h.score)
    if plain and plain[0] in best:
        return [plain[0], *(each for each in best if each is not plain[0] and each.score <= plain[0].score)]
    return best


def held_phrases(piece: Piece, text: str) -> int:
    """Returns the number of a piece's required phrases that the text of an output has."""
    return sum(phrase.is_met_by(text) for phrase in piece.required)


def _halves(batches: Sequence[Sequence[int]]) -> list[Sequence[int]]:
    """Returns the halves of batches, in order; what is one row stays."""
    halves = [half for each in batches for half in (each[: len(each) // 2], each[len(each) // 2 :])]
    return [half for half in halves if half]
