"""Comparing systems on one test set: scores, significance of differences, and their distribution."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from transduce.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.breakdown import FrequencyPart, LengthPart, by_length, by_word_frequency
from transduce.evaluation.copied_numbers import CopiedNumbers, count_copied_numbers
from transduce.evaluation.metric import Metric, Score, Scoring, SentenceCounts, Texts, check_aligned
from transduce.evaluation.metrics import STANDARD, MetricName, metrics_by_key
from transduce.evaluation.scores import Pair, against, compare_pairs
from transduce.evaluation.significance import Difference
from transduce.evaluation.translations import length_ratio

SHOWN = 10


@dataclass(frozen=True)
class System:
    """The scores of one system."""

    name: str
    scores: dict[str, Score]
    """Scores by the metrics' names."""
    length_ratio: float
    """Tokens of the outputs divided by tokens of the references, as BLEU splits them."""
    against_baseline: dict[str, Difference] | None
    """Differences from the baseline by metric; None for the baseline itself."""

    @property
    def bleu(self) -> Score:
        """BLEU, the metric that is reported first."""
        return self.scores["bleu"]


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence that systems translated with different success."""

    line: int
    """Line of the test set, from 1."""
    source: str
    reference: str
    outputs: dict[str, str]
    chrf: dict[str, float]
    """Sentence-level chrF of each system, 0 to 100."""


@dataclass(frozen=True)
class Comparison:
    """The comparison of systems on one test set."""

    sentences: int
    systems: list[System]
    """The systems; the first is the baseline."""
    by_length: list[LengthPart]
    by_word_frequency: list[FrequencyPart] | None
    """Recall by word frequency; None if the training data are unknown."""
    numbers: CopiedNumbers
    most_different: list[DifferingSentence]
    """The sentences with the widest span of sentence-level chrF between systems, widest first."""
    pairs: list[Pair]
    """All pairs of systems, each tested against the other."""
    metrics: dict[str, Metric]
    """Metrics by name."""

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce compare --json`."""
        facts: dict[str, Any] = msgspec.to_builtins(replace(self, pairs=[], metrics={}))
        del facts["pairs"], facts["metrics"]
        facts["systems"] = [system.pop("scores") | system for system in facts["systems"]]
        return facts


def compare(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    training: Iterable[str] | None = None,
    metrics: Sequence[MetricName] = (),
) -> Comparison:
    """Compares the outputs of systems, by name, with those of the first, the baseline.

    All texts are aligned line by line and detokenised. The training text, in the target language, determines how rare
    words are; `metrics` are further ones beside BLEU, chrF and TER, as in `evaluate_outputs`. Raises InputError for
    fewer than two systems or an unknown metric, DataError for texts that are not aligned.
    """
    if len(systems) < 2:
        raise InputError(f"systems given: {', '.join(systems) or 'none'}; give two or more to compare")
    check_aligned("sources", sources, references)
    for name, outputs in systems.items():
        check_aligned(name, outputs, references)
    scoring = Scoring(lowercase, tokenize)
    named = metrics_by_key([*STANDARD, *metrics])
    counts = {  # by metric, then by system
        key: {name: metric.count(Texts(outputs, references, sources), scoring) for name, outputs in systems.items()}
        for key, metric in named.items()
    }
    baseline = next(iter(systems))
    pairs = compare_pairs(counts)
    return Comparison(
        sentences=len(references),
        systems=[
            System(
                name,
                {metric: of_systems[name].summary() for metric, of_systems in counts.items()},
                length_ratio(counts["bleu"][name]),
                against(pairs, baseline, name),
            )
            for name in systems
        ],
        by_length=by_length(sources, counts["bleu"]),
        by_word_frequency=(
            None if training is None else by_word_frequency(references, systems, training, lowercase, tokenize)
        ),
        numbers=count_copied_numbers(sources, references, systems),
        most_different=_most_different(systems, sources, references, counts["chrf"]),
        pairs=pairs,
        metrics=named,
    )


def _most_different(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    chrf: Mapping[str, SentenceCounts],
) -> list[DifferingSentence]:
    scores = np.stack([counts.score_rows(counts.counts) for counts in chrf.values()])  # [systems, sentences]
    span = scores.max(0) - scores.min(0)
    widest = np.argsort(-span, kind="stable")[:SHOWN]
    return [
        DifferingSentence(
            line=int(i) + 1,
            source=sources[i],
            reference=references[i],
            outputs={name: outputs[i] for name, outputs in systems.items()},
            chrf={name: float(score) for name, score in zip(systems, scores[:, i], strict=True)},
        )
        for i in widest
        if span[i] > 0
    ]
