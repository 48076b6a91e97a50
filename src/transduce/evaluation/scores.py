"""The scores of models on test data, and comparisons of several models on the same data."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import msgspec

from transduce.errors import InputError
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.metric import Metric, Score, Scoring, SentenceCounts
from transduce.evaluation.metrics import METRICS, Measured, MetricName, metrics_by_key
from transduce.evaluation.running_text import LineCounts
from transduce.evaluation.significance import RESAMPLES, SEED, Difference, compare_counts

SHOWN = 10


@dataclass(frozen=True)
class Scores:
    """The scores of a model on test data, with the counts that they are made of."""

    metrics: Mapping[str, Metric]
    counts: Mapping[str, SentenceCounts]
    """The counts of each example, by the metrics' names."""
    unit: str
    """The name of the examples, plural, such as "texts"."""
    outcome: Any
    """The model's outputs for the test data; see `Metric.count`."""

    @staticmethod
    def of(outcome: Any, measured: Measured, metrics: Sequence[MetricName], unit: str, scoring: Scoring) -> "Scores":
        """Scores an outcome by the metrics named, else by all that measure it; for translations they must be named."""
        named = metrics_by_key(metrics or list(METRICS[measured]), measured)
        counts = {name: metric.count(outcome, scoring) for name, metric in named.items()}
        return Scores(named, counts, unit, outcome)

    @property
    def size(self) -> int:
        """The number of examples."""
        return len(next(iter(self.counts.values())).counts)

    def summary(self) -> dict[str, Score]:
        """Returns the score of each metric, with its interval."""
        return {name: counts.summary() for name, counts in self.counts.items()}

    def history(self) -> dict[str, Any]:
        """Returns the test scores for a model's history: scores, the first one's interval, and the number of
        examples."""
        summaries = self.summary()
        first = next(iter(summaries.values()))
        scores = {name: summary.score for name, summary in summaries.items()}
        return scores | {"interval": list(first.interval), self.unit: self.size}

    def to_dict(self) -> dict[str, Any]:
        """Returns the scores as `transduce evaluate --json` has them; of classes, also the confusion matrix."""
        facts: dict[str, Any] = {self.unit: self.size, "scores": msgspec.to_builtins(self.summary())}
        if isinstance(self.outcome, PredictedClasses):
            labels, counts = list(self.outcome.labels), self.outcome.confusion.tolist()
            facts["confusion"] = {"labels": labels, "counts": counts}
        return facts

    def describe(self) -> str:
        """Returns a line for each metric, for people."""
        width = max(len(metric.title) for metric in self.metrics.values()) + 2
        lines = []
        for name, score in self.summary().items():
            metric = self.metrics[name]
            low, high = (f"{end:.{metric.digits}f}" for end in score.interval)
            lines.append(f"{metric.title:<{width}}{score.score:.{metric.digits}f}  [{low}, {high}]")
        lines.append(f"95 % intervals by {RESAMPLES:,} bootstrap resamples of the {self.unit}, seed {SEED}")
        return "\n".join([*lines, f"{self.size:,} {self.unit}"])


@dataclass(frozen=True)
class Pair:
    """The differences of the second of two systems from the first."""

    first: str
    second: str
    differences: dict[str, Difference]
    """Differences by the metrics' names: the second's score minus the first's."""


def compare_pairs(counts: Mapping[str, Mapping[str, SentenceCounts]]) -> list[Pair]:
    """Compares all pairs of systems, from the counts of each metric and system, by name, in the same sentences."""
    names = next(iter(counts.values()))
    return [
        Pair(
            first,
            second,
            {
                metric: compare_counts(of[second].counts, of[first].counts, of[second].score_rows)
                for metric, of in counts.items()
            },
        )
        for first, second in combinations(names, 2)
    ]


def against(pairs: Iterable[Pair], baseline: str, system: str) -> dict[str, Difference] | None:
    """Returns a system's differences from the baseline; None for the baseline itself."""
    return next((pair.differences for pair in pairs if (pair.first, pair.second) == (baseline, system)), None)


@dataclass(frozen=True)
class ScoredModel:
    """The scores of one of several models."""

    name: str
    scores: dict[str, Score]
    """Scores by the metrics' names."""
    against_baseline: dict[str, Difference] | None
    """Differences from the baseline by metric; None for the baseline itself."""


@dataclass(frozen=True)
class DifferingLine:
    """A line that language models predicted with different success."""

    line: int
    """The line's number in the text, from 1."""
    text: str
    nats: dict[str, float]
    """The nats that each model spent on the line."""


@dataclass(frozen=True)
class ModelComparison:
    """The comparison of models on the same test data."""

    data: str
    size: int
    unit: str
    metrics: Mapping[str, Metric]
    systems: list[ScoredModel]
    """The models; the first is the baseline."""
    pairs: list[Pair]
    """All pairs of models, each tested against the other."""
    most_different: list[DifferingLine] | None = field(default=None)
    """For language models: the lines with the widest span of nats, widest first."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce compare --json`."""
        systems = [system.pop("scores") | system for system in msgspec.to_builtins(self.systems)]
        if self.most_different is None:
            return {"data": self.data, "size": self.size, "unit": self.unit, "systems": systems}
        lines = msgspec.to_builtins(self.most_different)
        return {"text": self.data, "lines": self.size, "systems": systems, "most_different": lines}


def compare_scores(systems: Mapping[str, Scores], data: str, lines: Sequence[str] = ()) -> ModelComparison:
    """Compares models, by name, with the first, the baseline, from their scores on the same data.

    `lines` are those of the text that language models predicted. Raises InputError for fewer than two models, or models
    that do not have the same metrics or classes.
    """
    if len(systems) < 2:
        raise InputError(f"there is nothing to compare {', '.join(systems) or 'no models'} with; name two or more")
    (first, baseline), *others = systems.items()
    for name, scores in others:
        if list(scores.counts) != list(baseline.counts):
            raise InputError(f"{name} and {first} predict different things of a text and cannot be compared")
        classes, expected = _classes(scores), _classes(baseline)
        if classes != expected:
            names = [", ".join(known[:10]) + ", ..." * (len(known) > 10) for known in (classes, expected)]
            raise InputError(f"{name} predicts the classes {names[0]}, but {first} {names[1]}; they must be the same")
    pairs = compare_pairs(
        {metric: {name: scores.counts[metric] for name, scores in systems.items()} for metric in baseline.counts}
    )
    return ModelComparison(
        data,
        baseline.size,
        baseline.unit,
        baseline.metrics,
        [ScoredModel(name, scores.summary(), against(pairs, first, name)) for name, scores in systems.items()],
        pairs,
        _most_different(systems, lines) if isinstance(baseline.outcome, LineCounts) else None,
    )


def _classes(scores: Scores) -> list[str]:
    return list(scores.outcome.labels) if isinstance(scores.outcome, PredictedClasses) else []


def _most_different(systems: Mapping[str, Scores], lines: Sequence[str]) -> list[DifferingLine]:
    nats = {name: scores.outcome.counts[:, 0].tolist() for name, scores in systems.items()}
    of_lines = list(zip(*nats.values(), strict=True))
    widest = sorted(range(len(lines)), key=lambda i: min(of_lines[i]) - max(of_lines[i]))[:SHOWN]
    return [
        DifferingLine(i + 1, lines[i], dict(zip(nats, of_lines[i], strict=True)))
        for i in widest
        if max(of_lines[i]) > min(of_lines[i])
    ]
