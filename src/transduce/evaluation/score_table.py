"""The scores of a model, or of finished outputs, on test data: one type for all tasks, and tables of several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any, Literal

import msgspec

from transduce.base.reprs import Facts, shown_by
from transduce.evaluation.context_gain import ContextGain
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.metric import Metric, Score, Scoring, SentenceCounts
from transduce.evaluation.metrics import METRICS, Measured, MetricName, count_all, metrics_by_key
from transduce.evaluation.significance import RESAMPLES, SEED
from transduce.evaluation.translations import BleuVariant, bleu_note, exact_match, length_ratio
from transduce.inference.translation import Translation


def _facts(scores: "Scores") -> Facts:
    shown = {name: f"{score.score:.{scores.metrics[name].digits}f}" for name, score in scores.scores.items()}
    return shown | {scores.unit: scores.size}


@shown_by(_facts)
@dataclass(frozen=True, repr=False)
class Scores:
    """The scores of a model on test data, with the counts that they are made of."""

    metrics: Mapping[str, Metric]
    counts: Mapping[str, SentenceCounts]
    """The counts of each example, by the metrics' names."""
    unit: str
    """The name of the examples, plural, such as "texts"."""
    outcome: Any
    """The model's outputs for the test data; see `Metric.count`."""
    measured: Measured
    """The kind of the outputs."""
    scoring: Scoring
    data: str = ""
    """Name of the test data; "" if it is not reported."""
    all_bleu: Sequence[BleuVariant] | None = None
    """BLEU in the four ways that papers report it; None if not requested."""
    seconds: float | None = None
    """Seconds spent on translating; None for finished outputs, and for models that do not translate."""
    translations: Sequence[Translation] = ()
    """The translations; empty for finished outputs, and for models that do not translate."""
    context: ContextGain | None = None
    """Gain in probability of the references by context; None for finished outputs and models that read none."""

    @staticmethod
    def of(outcome: Any, measured: Measured, metrics: Sequence[MetricName], unit: str, scoring: Scoring) -> "Scores":
        """Scores an outcome by the metrics named, else by all that measure it; for translations they must be named."""
        named = metrics_by_key(metrics or list(METRICS[measured]), measured)
        return Scores(named, count_all(named, outcome, scoring), unit, outcome, measured, scoring)

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(next(iter(self.counts.values())).counts)

    @property
    def sentences(self) -> int:
        """The number of examples, by its name in scores of translations."""
        return self.size

    @cached_property
    def scores(self) -> dict[str, Score]:
        """The score of each metric, by its name, with its interval."""
        return {name: counts.summary() for name, counts in self.counts.items()}

    @property
    def bleu(self) -> Score:
        """BLEU, the metric of translations that is reported first."""
        return self.scores["bleu"]

    @cached_property
    def exact_match(self) -> float:
        """Share of translations that equal their reference, 0 to 1."""
        return exact_match(self.outcome.outputs, self.outcome.references, self.scoring.lowercase)

    @property
    def length_ratio(self) -> float:
        """Tokens of the translations divided by tokens of the references, as BLEU splits them."""
        return length_ratio(self.counts["bleu"])

    @property
    def note(self) -> str | None:
        """A line that explains an unexpected score of translations, such as a BLEU of 0 of very short lines; None if
        none needs it."""
        return bleu_note(self.counts["bleu"])

    def history(self) -> dict[str, Any]:
        """Returns the test scores for a model's history: scores, the first one's interval, and the number of
        examples."""
        first = next(iter(self.scores.values()))
        scores = {name: score.score for name, score in self.scores.items()}
        return scores | {"interval": list(first.interval), self.unit: self.size}

    def to_dict(self) -> dict[str, Any]:
        """Returns the scores as `transduce evaluate --json` has them; of classes, also the confusion matrix."""
        scores: dict[str, Any] = msgspec.to_builtins(self.scores)
        if self.measured == "translations":
            scores |= {"exact_match": self.exact_match, "length_ratio": self.length_ratio, "sentences": self.size}
            scores |= {} if self.note is None else {"note": self.note}
            scores |= {} if self.all_bleu is None else {"all_bleu": msgspec.to_builtins(self.all_bleu)}
            scores |= {} if self.context is None else {"context": msgspec.to_builtins(self.context)}
            return scores | {"seconds": self.seconds}
        facts: dict[str, Any] = {"data": self.data} if self.data else {}
        facts |= {self.unit: self.size, "scores": scores}
        if isinstance(self.outcome, PredictedClasses):
            labels, counts = list(self.outcome.labels), self.outcome.confusion.tolist()
            facts["confusion"] = {"labels": labels, "counts": counts}
        return facts

    def describe(self) -> str:
        """Returns a line for each metric, for people."""
        width = max(len(metric.title) for metric in self.metrics.values())
        named = [(self.metrics[name], score) for name, score in self.scores.items()]
        size = f"{self.size:,} {self.unit}"
        resampled = f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the {self.unit}, seed {SEED}"
        if self.measured != "translations":
            lines = [f"{metric.title:<{width + 2}}{_shown(score, metric.digits)}" for metric, score in named]
            return "\n".join([*([self.data] if self.data else []), *lines, resampled, size])
        rows = [(f"{metric.title:<{width + 1}}", score, metric.digits) for metric, score in named]
        for variant in self.all_bleu or ():
            rows.append((f"BLEU {variant.tokenize:<5}{'uncased' if variant.lowercase else 'cased':<8}", variant, 2))
        lines = [f"{name}{_shown(score, digits, digits + 4)}  {score.signature}" for name, score, digits in rows]
        lines += [str(note) for note in (self.note, self.context) if note is not None]
        ratios = f"length {self.length_ratio:.3f} of the reference's; exact match {100 * self.exact_match:.1f} %"
        if self.seconds is not None:
            size += f" in {self.seconds:.1f} s, {self.size / max(self.seconds, 1e-9):,.1f} a second"
        return "\n".join([*lines, resampled, ratios, size])


def _shown(score: Score, digits: int, width: int = 1) -> str:
    low, high = score.interval
    return f"{score.score:{width}.{digits}f}  [{low:.{digits}f}, {high:.{digits}f}]"


@dataclass(frozen=True)
class ScoreTable:
    """Scores of translations by direction, or by the way the test set is typed."""

    rows_are: Literal["directions", "ways"]
    rows: Mapping[str, Scores]
    """Scores by the names of the rows."""

    @property
    def ways(self) -> Mapping[str, Scores]:
        """The scores by the way of typing; see `evaluate_typed`."""
        return self.rows

    @property
    def mean(self) -> dict[str, float]:
        """The mean of each metric over the rows."""
        names = next(iter(self.rows.values())).counts
        return {name: fmean(each.scores[name].score for each in self.rows.values()) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce evaluate --json`; of directions also their mean."""
        facts: dict[str, Any] = {self.rows_are: {name: each.to_dict() for name, each in self.rows.items()}}
        return facts | ({"mean": self.mean} if self.rows_are == "directions" else {})

    def describe(self) -> str:
        """Returns a table for people: a line for each row, of several directions one with the means, the signatures,
        and the seconds spent on translating."""
        first = next(iter(self.rows.values()))
        rows = {name: {key: score.score for key, score in each.scores.items()} for name, each in self.rows.items()}
        if self.rows_are == "directions" and len(rows) > 1:
            rows["mean"] = self.mean
        width = max(map(len, [*rows, "mean"])) + 2
        lines = [" " * width + "".join(f"{metric.title:>9}" for metric in first.metrics.values())]
        for name, values in rows.items():
            cells = [f"{value:9.{first.metrics[key].digits}f}" for key, value in values.items()]
            lines.append("".join([f"{name:<{width}}", *cells]))
        lines += [f"{first.metrics[key].title}: {score.signature}" for key, score in first.scores.items()]
        sentences = sum(each.size for each in self.rows.values())
        seconds = sum(each.seconds or 0.0 for each in self.rows.values())
        return "\n".join([*lines, f"{sentences:,} sentences in {seconds:.1f} s"])
