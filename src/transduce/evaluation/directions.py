"""The scores of a translator of several directions: in each of them, and their means."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from transduce.corpora.directions import Direction
from transduce.evaluation.evaluate import Evaluation
from transduce.evaluation.metrics import find_metric


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
        first = next(iter(self.directions.values()))
        metrics = {name: find_metric(name) for name in first.scores}
        scores = {str(direction): evaluation.scores for direction, evaluation in self.directions.items()}
        rows = {direction: {name: score.score for name, score in each.items()} for direction, each in scores.items()}
        if len(rows) > 1:
            rows["mean"] = self.mean
        width = max(len("mean"), *map(len, rows)) + 2
        lines = ["".join([" " * width, *(f"{metric.title:>9}" for metric in metrics.values())])]
        for row, values in rows.items():
            cells = [f"{value:9.{metrics[name].digits}f}" for name, value in values.items()]
            lines.append("".join([f"{row:<{width}}", *cells]))
        lines += [f"{metrics[name].title}: {score.signature}" for name, score in first.scores.items()]
        sentences = sum(evaluation.sentences for evaluation in self.directions.values())
        seconds = sum(evaluation.seconds or 0.0 for evaluation in self.directions.values())
        return "\n".join([*lines, f"{sentences:,} sentences in {seconds:.1f} s"])
