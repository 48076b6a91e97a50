"""How good a translator is on a test set, and how well a model predicts validation data."""

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

import msgspec
import torch
from torch import Tensor, nn

from transduce.data.batch import Batch
from transduce.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.metrics import (
    STANDARD,
    BleuVariant,
    MetricName,
    Score,
    Scoring,
    Texts,
    check_aligned,
    exact_match,
    length_ratio,
    metrics_by_key,
    score_bleu_variants,
)
from transduce.inference.translator import Translation, Translator
from transduce.models.interface import EncoderDecoder
from transduce.models.scoring import score_tokens
from transduce.nn.state import DecoderState
from transduce.search.choices import DecisionRule


@dataclass(frozen=True)
class Evaluation:
    """Scores of a test set."""

    scores: dict[str, Score]
    """By the metrics' names: BLEU, chrF, TER, and what else was asked for."""
    exact_match: float
    """Share of translations that equal their reference, 0 to 1."""
    length_ratio: float
    """Tokens of the translations to tokens of the references, as BLEU split them."""
    sentences: int
    all_bleu: list[BleuVariant] | None = None
    """BLEU in the four ways that papers report it, if it was asked for."""
    seconds: float | None = None
    """Spent on translating; None for outputs that were there already."""
    translations: list[Translation] = field(default_factory=list)
    """Empty for outputs that were there already."""

    @property
    def bleu(self) -> Score:
        """BLEU, the metric that is told first."""
        return self.scores["bleu"]

    def to_dict(self) -> dict[str, Any]:
        """What `transduce evaluate --json` prints."""
        facts: dict[str, Any] = msgspec.to_builtins(replace(self, translations=[]))
        unasked = {"translations"} | ({"all_bleu"} if self.all_bleu is None else set())
        return facts.pop("scores") | {name: fact for name, fact in facts.items() if name not in unasked}


def evaluate(
    translator: Translator,
    sources: Sequence[str],
    references: Sequence[str],
    search: DecisionRule | None = None,
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    all_bleu: bool = False,
    metrics: Sequence[MetricName] = (),
) -> Evaluation:
    """Translate the sources and score them; see `evaluate_outputs`."""
    metrics_by_key(metrics)  # before anything is waited for
    if not hasattr(translator, "translate"):
        raise InputError(
            f"a {type(translator).__name__} does not translate, but transduce.evaluate needs a Translator; language "
            "models are measured by the command `transduce evaluate`, and line by line by transduce.Scorer"
        )
    check_aligned("sources", sources, references)
    started = time.perf_counter()
    translations = translator.translate(sources, search)
    seconds = time.perf_counter() - started
    outputs = [translation.text for translation in translations]
    scores = evaluate_outputs(outputs, references, lowercase, tokenize, all_bleu, metrics, sources)
    return replace(scores, seconds=seconds, translations=translations)


def evaluate_outputs(
    outputs: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    all_bleu: bool = False,
    metrics: Sequence[MetricName] = (),
    sources: Sequence[str] | None = None,
) -> Evaluation:
    """Score detokenised translations by whatever made them.

    `metrics` are those beside BLEU, chrF and TER, by their names, or functions of outputs and references (see
    `find_metric`); some need the sources. Raises DataError unless there are as many references, InputError for a metric
    that is not there, lacks something, or gives no numbers.
    """
    texts, scoring = Texts(outputs, references, sources), Scoring(lowercase, tokenize)
    counts = {name: metric.count(texts, scoring) for name, metric in metrics_by_key([*STANDARD, *metrics]).items()}
    return Evaluation(
        scores={name: counted.summary() for name, counted in counts.items()},
        exact_match=exact_match(outputs, references, lowercase),
        length_ratio=length_ratio(counts["bleu"]),
        sentences=len(outputs),
        all_bleu=score_bleu_variants(outputs, references) if all_bleu else None,
    )


def measure_loss(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """Unsmoothed loss in nats per real target token, the end token counted, and its exponential, perplexity."""
    return mean_loss(log_probabilities_of(model, batches))


def mean_loss(log_probabilities: Iterable[Tensor]) -> dict[str, float]:
    """The loss of tokens with these log-probabilities, and its exponential, perplexity."""
    total, tokens = 0.0, 0
    for found in log_probabilities:
        total -= float(found.double().sum())
        tokens += len(found)
    loss = total / tokens
    return {"loss": loss, "perplexity": math.exp(min(loss, 700))}


@torch.inference_mode()
def log_probabilities_of(model: nn.Module, batches: Iterable[Batch]) -> Iterator[Tensor]:
    """Log-probabilities of each batch's real target tokens, row after row, as one float32 vector on the CPU."""
    device = next(model.parameters()).device
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
        yield scores[batch.target_is_real].cpu()
