"""The share of a machine translation's words that a person edited, as in HTER (Snover et al. 2006), and how reliable
estimates of it are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from docsegments.extras import require
from transduce.evaluation.translations import count_ter, ter_words
from transduce.inference.quality.quality_estimate import QualityEstimate

MOST_COMPARED = 1000
"""The most edits, times words of the longer text, among which moved phrases are sought."""
BINS = 5


def count_edits(machine: str, target: str) -> tuple[float, int]:
    """Returns how many words of a machine translation were edited, and how many words the result has.

    Words inserted, deleted and replaced are counted, and phrases that were moved, as in TER (Snover et al. 2006). Where
    very much differs in a long text, moved words count as deleted and inserted: finding phrases would take seconds.
    """
    before, after = ter_words([machine, target], [target])
    edits = require("rapidfuzz.distance.Levenshtein", "documents").distance(before, after)
    if edits * max(len(before), len(after)) <= MOST_COMPARED:
        edits = count_ter([machine], [target]).counts[0, 0].item()
    return edits, len(after)


def edit_rate(machine: str, target: str) -> float:
    """Returns the share of words that were edited, 0 to 1: edits by the words of what a person made of it (HTER, Snover
    et al. 2006), at most 1."""
    edits, words = count_edits(machine, target)
    return min(1.0, edits / max(words, 1))


@dataclass(frozen=True)
class ReliabilityBin:
    """Translations of similar estimates."""

    count: int
    estimated: float
    """Mean of the estimates."""
    actual: float
    """Mean of the edit rates."""
    covered: float
    """Share of the edit rates that are within their intervals."""


def reliability_of(estimates: Sequence[QualityEstimate], rates: Sequence[float]) -> list[ReliabilityBin]:
    """Returns the translations of these estimates and true rates in groups of equal size, in the order of estimates."""
    facts = np.array([(e.edit, rate, e.low <= rate <= e.high) for e, rate in zip(estimates, rates, strict=True)])
    order = np.argsort(facts[:, 0], kind="stable")
    groups = [facts[group] for group in np.array_split(order, BINS) if len(group)]
    return [ReliabilityBin(len(group), *(round(mean, 4) for mean in group.mean(0).tolist())) for group in groups]
