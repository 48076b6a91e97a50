"""Comparing all pairs of systems, each tested against the other."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from transduce.evaluation.metric import SentenceCounts
from transduce.evaluation.significance import Difference, compare_counts


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
