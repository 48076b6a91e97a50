"""Scoring translations: a translator's of a test set, or finished ones."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

import msgspec

from transduce.corpora.directions import Direction
from transduce.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.metric import Score, Scoring, Texts, check_aligned
from transduce.evaluation.metrics import STANDARD, MetricName, count_all, find_metric, metrics_by_key
from transduce.evaluation.significance import RESAMPLES, SEED
from transduce.evaluation.translations import (
    BleuVariant,
    bleu_note,
    exact_match,
    length_ratio,
    score_bleu_variants,
)
from transduce.extras import check_installed
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.choices import DecisionRule


@dataclass(frozen=True)
class Evaluation:
    """Scores of a test set."""

    scores: dict[str, Score]
    """Scores by the metrics' names: BLEU, chrF, TER, and those requested."""
    exact_match: float
    """Share of translations that equal their reference, 0 to 1."""
    length_ratio: float
    """Tokens of the translations divided by tokens of the references, as BLEU splits them."""
    sentences: int
    note: str | None = None
    """A line that explains an unexpected score, such as a BLEU of 0 of very short lines; None if none needs it."""
    all_bleu: list[BleuVariant] | None = None
    """BLEU in the four ways that papers report it; None if not requested."""
    seconds: float | None = None
    """Seconds spent on translating; None for finished outputs."""
    translations: list[Translation] = field(default_factory=list)
    """The translations; empty for finished outputs."""

    @property
    def bleu(self) -> Score:
        """BLEU, the metric that is reported first."""
        return self.scores["bleu"]

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce evaluate --json`."""
        facts: dict[str, Any] = msgspec.to_builtins(replace(self, translations=[]))
        unasked = {"translations"} | {name for name in ("all_bleu", "note") if facts[name] is None}
        return facts.pop("scores") | {name: fact for name, fact in facts.items() if name not in unasked}

    def describe(self) -> str:
        """Returns a line for each metric, for people."""
        metrics = {name: find_metric(name) for name in self.scores}
        width = max(len(metric.title) for metric in metrics.values()) + 1
        lines = [_line(f"{metrics[n].title:<{width}}", score, metrics[n].digits) for n, score in self.scores.items()]
        for variant in self.all_bleu or []:
            lines.append(
                _line(f"BLEU {variant.tokenize:<5}{'uncased' if variant.lowercase else 'cased':<8}", variant, 2)
            )
        lines += [] if self.note is None else [self.note]
        lines.append(f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the sentences, seed {SEED}")
        lines.append(f"length {self.length_ratio:.3f} of the reference's; exact match {100 * self.exact_match:.1f} %")
        if self.seconds is None:
            lines.append(f"{self.sentences:,} sentences")
        else:
            rate = self.sentences / max(self.seconds, 1e-9)
            lines.append(f"{self.sentences:,} sentences in {self.seconds:.1f} s, {rate:,.1f} a second")
        return "\n".join(lines)


def _line(name: str, score: Score, digits: int) -> str:
    low, high = score.interval
    return f"{name}{score.score:{digits + 4}.{digits}f}  [{low:.{digits}f}, {high:.{digits}f}]  {score.signature}"


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
    """Translates the sources and scores them; see `evaluate_outputs`."""
    metrics_by_key(metrics)  # before the long work
    check_installed("train", "sacrebleu")
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
    """Scores detokenised translations from any system.

    `metrics` are further ones beside BLEU, chrF and TER: names, or functions of outputs and references (see
    `find_metric`); some need the sources. Raises DataError unless there are as many references, InputError for a metric
    that is unknown, lacks something, or returns no numbers.
    """
    texts, scoring = Texts(outputs, references, sources), Scoring(lowercase, tokenize)
    counts = count_all(metrics_by_key([*STANDARD, *metrics]), texts, scoring)
    return Evaluation(
        scores={name: counted.summary() for name, counted in counts.items()},
        exact_match=exact_match(outputs, references, lowercase),
        length_ratio=length_ratio(counts["bleu"]),
        sentences=len(outputs),
        note=bleu_note(counts["bleu"]),
        all_bleu=score_bleu_variants(outputs, references) if all_bleu else None,
    )


@dataclass(frozen=True)
class DirectionEvaluations:
    """The scores in each direction that a model was tested in."""

    directions: Mapping[Direction, Evaluation]

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each metric over the directions."""
        names = next(iter(self.directions.values())).scores
        return {name: fmean(evaluation.scores[name].score for evaluation in self.directions.values()) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce evaluate --json`."""
        return {"directions": {str(name): each.to_dict() for name, each in self.directions.items()}, "mean": self.mean}

    def describe(self) -> str:
        """Returns a line for each direction and one with the means, for people."""
        return "\n".join(evaluation_rows({str(name): each for name, each in self.directions.items()}, self.mean))


def evaluation_rows(evaluations: Mapping[str, Evaluation], mean: Mapping[str, float] | None = None) -> list[str]:
    """Returns a table of scores for people: a line for each evaluation, one with the means if there are several, the
    signatures, and the seconds spent on translating."""
    first = next(iter(evaluations.values()))
    metrics = {name: find_metric(name) for name in first.scores}
    rows: dict[str, Mapping[str, float]] = {
        row: {name: score.score for name, score in each.scores.items()} for row, each in evaluations.items()
    }
    if mean is not None and len(rows) > 1:
        rows["mean"] = mean
    width = max(map(len, [*rows, "mean"])) + 2
    lines = ["".join([" " * width, *(f"{metric.title:>9}" for metric in metrics.values())])]
    for row, values in rows.items():
        cells = [f"{value:9.{metrics[name].digits}f}" for name, value in values.items()]
        lines.append("".join([f"{row:<{width}}", *cells]))
    lines += [f"{metrics[name].title}: {score.signature}" for name, score in first.scores.items()]
    sentences = sum(evaluation.sentences for evaluation in evaluations.values())
    seconds = sum(evaluation.seconds or 0.0 for evaluation in evaluations.values())
    return [*lines, f"{sentences:,} sentences in {seconds:.1f} s"]
