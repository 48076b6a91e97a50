"""Scores given translations by their probability under a model."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice, repeat
from typing import Any

import torch

from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_writes
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.corpora.corpus import Pair, as_pair
from transduce.inference.engines.ensemble import Ensemble
from transduce.models.interface import Writer
from transduce.models.scoring import score_tokens

PAIRS_AT_ONCE = 1000
"""Pairs held at a time: enough to sort by length, however long the input is."""

TOKENS_AT_ONCE = 1024
"""Padded tokens of the longer side of a batch; logits take the vocabulary times as many numbers."""


@dataclass(frozen=True)
class TokenScore:
    """One target token and how probable it was."""

    piece: str
    """The token as the vocabulary spells it."""
    log_probability: float
    """The log-probability of the token, in nats."""


@dataclass(frozen=True)
class PairScore:
    """The score of one target, given its source."""

    log_probability: float
    """The log-probability of the whole target, including the end token, in nats."""
    per_token: float
    """The log-probability divided by the number of tokens."""
    perplexity: float
    """The exponential of the negative log-probability per token."""
    tokens: list[TokenScore]
    """All target tokens, the end token last."""


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Scorer:
    """Scores pairs by a bundle's model, or an ensemble, on its device and at its precision."""

    def __init__(self, bundle: ModelBundle, ensemble: Writer[Any] | None = None) -> None:
        check_writes("the model", bundle.config.task)
        self.bundle = bundle
        self.model: Writer[Any] = ensemble or bundle.writer

    def score(self, pairs: Iterable[Pair], before: Iterable[Sequence[str]] | None = None) -> list[PairScore]:
        """Returns the scores of all pairs, in their order; `before` are the texts before each source, for a model that
        reads context."""
        return list(self.stream(pairs, before=before))

    def stream(
        self, pairs: Iterable[Pair], pairs_at_once: int = PAIRS_AT_ONCE, before: Iterable[Sequence[str]] | None = None
    ) -> Iterator[PairScore]:
        """Yields the scores of any number of pairs, a bounded number held at a time; InputError for too long ones."""
        rest, number, contexts = map(as_pair, pairs), 1, chain(before or (), repeat(()))
        while chunk := list(islice(rest, pairs_at_once)):
            sources = self.bundle.read([pair.source for pair in chunk], list(islice(contexts, len(chunk))))
            targets = self.bundle.tokenizers.target.encode_batch([pair.target for pair in chunk])
            check_lengths("source", sources, self.model.source_limit, number)
            check_lengths("target", targets, self.model.target_limit, number)
            yield from self._score(sources, targets)
            number += len(chunk)

    @torch.inference_mode()
    def _score(self, sources: list[list[int]], targets: list[list[int]]) -> list[PairScore]:
        models: Sequence[Writer[Any]] = self.model.models if isinstance(self.model, Ensemble) else [self.model]
        results: dict[int, PairScore] = {}
        for chosen, batch in self.bundle.batches(sources, targets, TOKENS_AT_ONCE):
            target = batch.target_in, batch.target_out, batch.target_is_real
            scores = torch.stack([score_tokens(model, batch.source, batch.source_is_real, *target) for model in models])
            scores = scores.logsumexp(0) - math.log(len(models))  # log of the mean of the models' p  [rows, time]
            for i, row in zip(chosen, scores.tolist(), strict=True):
                results[i] = self._pair_score(targets[i], row[: len(targets[i]) + 1])
        return [results[i] for i in range(len(sources))]

    def _pair_score(self, target: list[int], scores: list[float]) -> PairScore:
        pieces = self.bundle.tokenizers.target.pieces([*target, self.bundle.special.target_eos])
        tokens = [TokenScore(piece, score) for piece, score in zip(pieces, scores, strict=True)]
        total = math.fsum(scores)
        per_token = total / len(scores)
        return PairScore(total, per_token, perplexity(per_token), tokens)


def check_lengths(side: str, sequences: Sequence[list[int]], limit: int | None, first: int) -> None:
    """Raises InputError for a sequence of more tokens than a model can take, with the number of its pair."""
    for number, ids in enumerate(sequences, first):
        if limit is not None and len(ids) + 1 > limit:
            raise InputError(
                f"pair {number}: its {side} has {len(ids) + 1:,} tokens, but the model reads at most {limit:,}; "
                "shorten it or leave it out"
            )


def perplexity(per_token: float) -> float:
    """Returns the perplexity for a mean log-probability in nats; bounded, so that JSON can write it."""
    return math.exp(min(-per_token, 700))
