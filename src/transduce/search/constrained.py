"""Beam search for outputs with required phrases (Hokamp & Liu 2017), whose beam is divided at each step among
hypotheses that miss more and fewer of them (dynamic beam allocation, Post & Vilar 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import torch
from jaxtyping import Float
from torch import Tensor

from transduce.search.loop import Candidates, Hypothesis
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import LogProbabilities, Prefixes


@dataclass(frozen=True)
class DynamicBeamAllocation:
    """Chooses candidates from banks by the number of tokens that they miss; banks take turns, those that miss least
    first.

    An output may end only when it misses nothing, unless all other tokens are excluded.
    """

    size: int
    end: int
    required: Sequence[Sequence[Phrase]]
    edges: WordEdges

    def __call__(
        self, scores: Float[Tensor, "sentences rows"], log_probabilities: LogProbabilities, prefixes: Prefixes
    ) -> Candidates:
        """See ChooseCandidates."""
        vocabulary = log_probabilities.shape[-1]
        required = [self.required[number] for number in prefixes.sentences.tolist()]
        texts: list[list[list[int]]] = prefixes.tokens.tolist()
        may_not_end = torch.tensor(
            [
                [_missing(text, phrases, self.edges) > 0 for text in rows]
                for rows, phrases in zip(texts, required, strict=True)
            ],
            device=scores.device,
        )
        totals = scores[..., None] + log_probabilities  # [sentences, rows, vocabulary]
        may_not_end &= totals.isfinite().sum(-1) > 1
        totals[..., self.end].masked_fill_(may_not_end, -torch.inf)
        row_starts = torch.arange(totals.shape[1], device=scores.device) * vocabulary
        within_word = self.edges.continuing(scores.device)
        best_of_row = totals.argmax(-1) + row_starts
        best_new_word = totals.masked_fill(within_word, -torch.inf).argmax(-1) + row_starts  # leaves a phrase whole
        flat = totals.flatten(1)
        best = torch.cat([flat.topk(min(2 * self.size, flat.shape[1])).indices, best_of_row, best_new_word], 1)
        candidates = [
            list(dict.fromkeys([*likely, *self._advances(rows, phrases, vocabulary)]))
            for likely, rows, phrases in zip(best.tolist(), texts, required, strict=True)
        ]
        width = max(map(len, candidates))
        padded = [indices + indices[:1] * (width - len(indices)) for indices in candidates]
        values = flat.gather(1, torch.tensor(padded, device=scores.device)).tolist()
        ordered = [
            self._take_turns(dict(zip(indices, row, strict=False)), rows, phrases, vocabulary)
            for indices, row, rows, phrases in zip(candidates, values, texts, required, strict=True)
        ]
        chosen = torch.tensor(ordered, device=scores.device)  # [sentences, candidates]
        totals = flat.gather(1, chosen.clamp(min=0)).masked_fill(chosen < 0, -torch.inf)
        chosen = chosen.clamp(min=0)[:, None]
        return Candidates(totals[:, None], chosen // vocabulary, chosen % vocabulary)

    def least_missing(self, sentence: int, hypotheses: Sequence[Hypothesis]) -> list[Hypothesis]:
        """Returns the outputs of a sentence that miss the fewest tokens of required phrases, if possible none."""
        missing = [_missing(hypothesis.tokens, self.required[sentence], self.edges) for hypothesis in hypotheses]
        least = min(missing, default=0)
        return [hypothesis for hypothesis, tokens in zip(hypotheses, missing, strict=True) if tokens == least]

    def _advances(self, rows: list[list[int]], phrases: Sequence[Phrase], vocabulary: int) -> list[int]:
        """Returns indices of tokens that continue a phrase which a row still misses."""
        return [
            row * vocabulary + token
            for row, text in enumerate(rows)
            for phrase in phrases
            if phrase.missing(text, self.edges)
            for token in sorted(phrase.next_tokens(text, self.edges))
        ]

    def _take_turns(
        self, totals: dict[int, float], rows: list[list[int]], phrases: Sequence[Phrase], vocabulary: int
    ) -> list[int]:
        """Returns indices of candidates in the order in which the banks take turns, padded with -1."""
        banks: dict[int, count[int]] = {}
        turns = []
        for index in sorted(totals, key=lambda index: -totals[index]):
            if totals[index] == -torch.inf:
                break
            text, token = rows[index // vocabulary], index % vocabulary
            missing = _missing(text if token == self.end else [*text, token], phrases, self.edges)
            turns.append((next(banks.setdefault(missing, count())), missing, index))
        ordered = [index for _, _, index in sorted(turns)[: 2 * self.size]]
        return ordered + [-1] * (2 * self.size - len(ordered))


def _missing(tokens: Sequence[int], phrases: Sequence[Phrase], edges: WordEdges) -> int:
    """Returns the tokens still to be written until the text has all phrases, of which only one can be begun."""
    missing = [(phrase.missing(tokens, edges), phrase.length) for phrase in phrases]
    unmet = [(left, length) for left, length in missing if left]
    return sum(length for _, length in unmet) - max((length - left for left, length in unmet), default=0)
