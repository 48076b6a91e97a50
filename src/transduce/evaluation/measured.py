"""What models that tell something of texts scored on test data, and whether a difference could be chance."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from transduce.errors import InputError
from transduce.evaluation.metrics import Score, SentenceCounts
from transduce.evaluation.pairs import Pair, against, compare_pairs
from transduce.evaluation.running_text import TextSystem


@dataclass(frozen=True)
class LabelMetric:
    """A figure of what a model tells of texts."""

    title: str
    """What it is called in tables."""
    higher_is_better: bool = True
    digits: int = 4
    """Decimals shown."""


def find_label_metric(name: str, metrics: Mapping[str, LabelMetric]) -> LabelMetric:
    """The metric of that name; InputError where there is none."""
    if name not in metrics:
        raise InputError(f"no metric '{name}' here; there are {', '.join(metrics)}")
    return metrics[name]


@dataclass(frozen=True)
class Confusion:
    """How often each class was told for each."""

    labels: Sequence[str]
    counts: NDArray[np.int64]
    """[true classes, told classes]."""


@dataclass(frozen=True)
class Measured:
    """What is counted of a model on test data."""

    metrics: Mapping[str, LabelMetric]
    counts: Mapping[str, SentenceCounts]
    """By the metrics' names, of each example."""
    unit: str
    """What examples are, such as "texts"."""
    confusion: Confusion | None = None

    @property
    def size(self) -> int:
        """How many examples there are."""
        return len(next(iter(self.counts.values())).counts)

    @property
    def labels(self) -> list[str]:
        """The classes that are told; none where other things are."""
        return [] if self.confusion is None else list(self.confusion.labels)

    def summary(self) -> dict[str, Score]:
        """The score of each metric, with its interval."""
        return {name: counts.summary() for name, counts in self.counts.items()}

    def history(self) -> dict[str, Any]:
        """What a model's history keeps of its test: scores, the first one's interval, and how many examples."""
        summaries = self.summary()
        first = next(iter(summaries.values()))
        scores = {name: summary.score for name, summary in summaries.items()}
        return scores | {"interval": list(first.interval), self.unit: self.size}


def describe_test(metrics: Mapping[str, LabelMetric], unit: str, test: dict[str, Any]) -> str:
    """What `Measured.history` keeps, on one line."""
    scores = [f"{metrics[name].title} {value:.4f}" for name, value in test.items() if name in metrics]
    low, high = test["interval"]
    return f"test {scores[0]} [{low:.4f}, {high:.4f}], {', '.join(scores[1:])} ({test[unit]:,} {unit})"


@dataclass(frozen=True)
class MeasuredComparison:
    """Models on the same test data."""

    data: str
    size: int
    unit: str
    metrics: Mapping[str, LabelMetric]
    systems: list[TextSystem]
    """The first is the baseline."""
    pairs: list[Pair]
    """Every two models, each tested against the other."""

    def to_dict(self) -> dict[str, Any]:
        """What `transduce compare --json` prints."""
        facts: dict[str, Any] = msgspec.to_builtins(self)
        del facts["metrics"], facts["pairs"]
        facts["systems"] = [system.pop("scores") | system for system in facts["systems"]]
        return facts


def compare_measured(systems: Mapping[str, Measured], data: str) -> MeasuredComparison:
    """Compare models, by name, with the first, the baseline, from what was counted of each on the same data.

    Raises InputError for models that do not have the same metrics or classes.
    """
    (first, baseline), *others = systems.items()
    for name, measured in others:
        if list(measured.counts) != list(baseline.counts):
            raise InputError(f"{name} and {first} tell different things of a text, which cannot be compared")
        if measured.labels != baseline.labels:
            classes = [", ".join(one.labels[:10]) + ", ..." * (len(one.labels) > 10) for one in (measured, baseline)]
            raise InputError(f"{name} tells the classes {classes[0]}, but {first} {classes[1]}; they must be the same")
    pairs = compare_pairs(
        {metric: {name: measured.counts[metric] for name, measured in systems.items()} for metric in baseline.counts}
    )
    found = [TextSystem(name, measured.summary(), against(pairs, first, name)) for name, measured in systems.items()]
    return MeasuredComparison(data, baseline.size, baseline.unit, baseline.metrics, found, pairs)
