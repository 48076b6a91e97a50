"""How good a translator is on a test set, and how well a model predicts validation data."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import nn

from transduce.data.batch import Batch
from transduce.evaluation.metrics import BleuTokenizer, Score, exact_match, score_bleu, score_chrf, score_ter
from transduce.inference.translator import Translation, Translator
from transduce.models.interface import EncoderDecoder, score_tokens
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam


@dataclass(frozen=True)
class Evaluation:
    """Scores of a test set."""

    bleu: Score
    chrf: Score
    ter: Score
    exact_match: float
    """Share of translations that equal their reference, 0 to 1."""
    sentences: int
    seconds: float
    """Spent on translating."""
    translations: list[Translation]

    def to_dict(self) -> dict[str, Any]:
        """What `transduce evaluate --json` prints."""
        scores = {
            name: {"score": score.score, "signature": score.signature, "interval": list(score.interval)}
            for name, score in (("bleu", self.bleu), ("chrf", self.chrf), ("ter", self.ter))
        }
        return {
            **scores,
            "exact_match": self.exact_match,
            "sentences": self.sentences,
            "seconds": self.seconds,
        }


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    search: Beam | None = None,
    lowercase: bool = False,
    tokenize: BleuTokenizer = "13a",
) -> Evaluation:
    """Translate the sources and score them against their references, which must be as many."""
    started = time.perf_counter()
    translations = translator.translate(sources, search)
    seconds = time.perf_counter() - started
    outputs = [translation.text for translation in translations]
    return Evaluation(
        bleu=score_bleu(outputs, references, lowercase, tokenize),
        chrf=score_chrf(outputs, references, lowercase),
        ter=score_ter(outputs, references, lowercase),
        exact_match=exact_match(outputs, references, lowercase),
        sentences=len(outputs),
        seconds=seconds,
        translations=translations,
    )


@torch.inference_mode()
def measure_loss(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Unsmoothed loss in nats per real target token, the end token counted, and its exponential, perplexity."""
    device = next(model.parameters()).device
    total, tokens = 0.0, 0
    for batch in batches:
        batch = batch.to(device)
        scores = score_tokens(
            cast(EncoderDecoder[DecoderState], model),
            batch.source,
            batch.source_is_real,
            batch.target_in,
            batch.target_out,
            batch.target_is_real,
        )
        total -= float(scores.double().sum())
        tokens += int(batch.target_is_real.sum())
    loss = total / tokens
    return {"loss": loss, "perplexity": math.exp(min(loss, 700))}
