"""CTranslate2 where its beam search is surely ours, and PyTorch for the sentences where it may not be."""

from collections.abc import Sequence

import torch

from transduce.apps.exchange.ctranslate2.ctranslate2_model import (
    NO_PENALTY,
    CTranslate2Model,
    CTranslate2Output,
    SearchRun,
    never_written,
)
from transduce.data.parts import batches_by_length
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.execution.parallel_search import map_parallel
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis
from transduce.search.search_settings import limits_for

TOKENS_AT_ONCE = 6144
"""Padded source tokens times hypotheses of a batch that PyTorch searches again."""


class ExactCTranslate2Engine:
    """Runs plain beam searches by CTranslate2, with the outputs of PyTorch.

    Both beams follow the same hypotheses, except where one has a forbidden token or reaches the longest length; and of
    more finished hypotheses than the beam has, CTranslate2 keeps those that are best by a normalisation of its own.
    Sentences where that may have mattered are searched again by PyTorch: few, since outputs rarely come near it.
    """

    def __init__(self, exported: ExportedModel, pytorch: PyTorchEngine) -> None:
        self.pytorch = pytorch
        self.folder = exported.folder
        self.model = CTranslate2Model(exported.folder, exported.tokenizers, exported.device)
        self.batches_at_once = self.model.batches_at_once
        limits = (pytorch.model.target_limit, exported.export.longest)
        self._limit = min((limit for limit in limits if limit is not None), default=None)

    def describe(self, search: Search) -> str:
        """Returns the engine's version, and the folder of its form of the model."""
        return f"CTranslate2 {self.model.version} ({self.folder})"

    def workers(self, search: Search) -> int:
        """See Engine; 1, since CTranslate2 has threads of its own."""
        return 1

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine; for plain beams, and pieces without constraints."""
        assert isinstance(search, Beam), "its chooser gives others to PyTorch"
        sources = [self.model.sentence(piece) for piece in pieces]
        lengths = torch.tensor([len(piece.source) - piece.context + 1 for piece in pieces])
        longest = limits_for(search, lengths, self._limit).longest.tolist()
        ranks_alike = search.normalization == "power" and search.length_penalty > 0
        run = SearchRun(shortest=1, longest=max(longest), penalty=search.length_penalty if ranks_alike else NO_PENALTY)
        try:
            scored = self.model.score(sources, self.model.search(sources, search, run))
        except Exception:  # of its library, such as a lack of memory
            scored = [[] for _ in pieces]  # all are searched by PyTorch
        forbidden = never_written(self.model.target, search.allow_unknown)
        results: dict[int, list[Hypothesis]] = {}
        for number, (outputs, own_longest) in enumerate(zip(scored, longest, strict=True)):
            if _is_followed_alike(outputs, search, own_longest, forbidden):
                ranked = sorted((output.rank(search, own_longest) for output in outputs), key=lambda h: -h.score)
                if ranks_alike or _are_surely_best(ranked, search):
                    results[number] = ranked[: search.n_best]
        again = [number for number in range(len(pieces)) if number not in results]
        results |= self._by_pytorch(again, pieces, constraints, search)
        return [results[number] for number in range(len(pieces))]

    def _by_pytorch(
        self, numbers: Sequence[int], pieces: Sequence[Piece], constraints: Constraints, search: Beam
    ) -> dict[int, list[Hypothesis]]:
        """Returns the outputs of the pieces of these numbers, searched in batches as for a translator."""
        lengths = [len(pieces[number].source) + 1 for number in numbers]
        of_length = batches_by_length(lengths, TOKENS_AT_ONCE // search.rows)
        batches = [[pieces[numbers[i]] for i in batch] for batch in reversed(of_length)]
        found = map_parallel(
            lambda batch: self.pytorch.search(batch, constraints, search), batches, self.pytorch.workers(search)
        )
        results: dict[int, list[Hypothesis]] = {}
        for batch, outputs in zip(reversed(of_length), found, strict=True):
            results.update(zip((numbers[i] for i in batch), outputs, strict=True))
        return results


def _is_followed_alike(outputs: Sequence[CTranslate2Output], beam: Beam, longest: int, forbidden: set[int]) -> bool:
    """Returns True if neither a forbidden token nor the longest length of a sentence touched its outputs."""
    return len(outputs) == beam.size and not any(
        len(output.tokens) + 1 >= longest or forbidden.intersection(output.tokens) for output in outputs
    )


def _are_surely_best(ranked: Sequence[Hypothesis], beam: Beam) -> bool:
    """Returns True if none that CTranslate2 left out, ranking by log-probability alone, belongs among the n best.

    What it left out is at most as likely as the least likely that it kept, and not longer than the longest: that one is
    of the last step, since earlier ones are fewer than the beam has. Its score is at most that of both together.
    """
    least = min(hypothesis.log_probability for hypothesis in ranked)
    longest = max(len(hypothesis.tokens) + 1 for hypothesis in ranked)
    return ranked[beam.n_best - 1].score >= beam.normalize(least, longest)
