"""Searches only among the tokens of a shortlist, which are renumbered."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from transduce.base.shapes import Mask, Tokens
from transduce.inference.constraints import Piece, Vocabulary
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.models.interface import Writer
from transduce.models.reduced_vocabulary import ReducedVocabularyModel
from transduce.search.loop import Hypothesis
from transduce.search.required_phrases import WordEdges
from transduce.search.rules import Banned


class VocabularyReduction:
    """A renumbering of the tokens that any sentence of a batch may write, so that a search skips all others.

    Each sentence is limited to its own tokens among these: see ReducedVocabularyModel.

    Args:
        source: token ids of the sentences.
        is_real: True where a token is not padding.
        pieces: the same sentences; tokens of their prefixes and required phrases are allowed too.
    """

    def __init__(self, shortlist: Shortlist, source: Tokens, is_real: Mask, pieces: Sequence[Piece]) -> None:
        allowed = shortlist.allowed(source, is_real)  # [sentences, vocabulary]
        for row, piece in zip(allowed, pieces, strict=True):
            begin = [] if piece.begin is None else [piece.begin]
            required = [token for phrase in piece.required for form in phrase.forms for token in form]
            asked = [*begin, *piece.prefix, *required]
            row[torch.tensor(asked, dtype=torch.long, device=row.device)] = True
        self.kept = allowed.any(0).nonzero()[:, 0]  # rising, so that equals are chosen as among all tokens
        self.allowed = allowed[:, self.kept]
        self._tokens: list[int] = self.kept.tolist()
        self._numbers = {token: number for number, token in enumerate(self._tokens)}

    def model(self, model: Writer[Any]) -> Writer[Any]:
        """Returns a model that reads and writes these numbers; in an ensemble, each member renormalises for itself."""
        if isinstance(model, Ensemble):
            return Ensemble([self.model(member) for member in model.models])
        return ReducedVocabularyModel(model, self.kept, self.allowed)

    def vocabulary(self, whole: Vocabulary) -> Vocabulary:
        """Returns the vocabulary of the same tokens by these numbers."""

        def edges() -> WordEdges:
            all_edges = whole.edges()
            return WordEdges(
                [all_edges.continues[token] for token in self._tokens],
                [all_edges.leaves_open[token] for token in self._tokens],
            )

        begin, end = self._renumber((whole.begin, whole.end))
        never, unknown = (
            self._renumber([token for token in tokens if token in self._numbers])
            for tokens in (whole.never, whole.unknown)
        )
        return Vocabulary(begin, end, never, unknown, lambda numbers: whole.decode(self._widen(numbers)), edges)

    def pieces(self, pieces: Sequence[Piece]) -> list[Piece]:
        """Renumbers the constraints of each sentence for this vocabulary; tokens outside it need no ban."""
        return [self._piece(piece) for piece in pieces]

    def widen(self, outputs: Sequence[Sequence[Hypothesis]]) -> list[list[Hypothesis]]:
        """Returns outputs in the tokenizer's own numbers."""
        return [[replace(h, tokens=self._widen(h.tokens)) for h in hypotheses] for hypotheses in outputs]

    def _piece(self, piece: Piece) -> Piece:
        required = [
            replace(phrase, forms=tuple(tuple(self._renumber(form)) for form in phrase.forms))
            for phrase in piece.required
        ]
        banned = [
            Banned(phrase.text, self._renumber([token for token in phrase.last if token in self._numbers]))
            for phrase in piece.banned
        ]
        begin = None if piece.begin is None else self._numbers[piece.begin]
        return replace(piece, prefix=self._renumber(piece.prefix), required=required, banned=banned, begin=begin)

    def _renumber(self, tokens: Sequence[int]) -> list[int]:
        return [self._numbers[token] for token in tokens]

    def _widen(self, numbers: Sequence[int]) -> list[int]:
        return [self._tokens[number] for number in numbers]
