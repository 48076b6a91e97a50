"""Comparing systems on one test set: scores, significance of differences, and their distribution."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Generic, TypeVar

import msgspec
import numpy as np

from transduce.base.errors import InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.breakdown import FrequencyPart, LengthPart, WordsPart, by_length, by_word_frequency, by_words
from transduce.evaluation.copied_numbers import NO_NUMBERS, CopiedNumbers, count_copied_numbers
from transduce.evaluation.evaluate import evaluate_outputs
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.metric import Metric, Score, SentenceCounts, check_aligned
from transduce.evaluation.metrics import Measured, MetricName
from transduce.evaluation.score_table import Scores
from transduce.evaluation.significance import Counts, Difference, compare_counts

SHOWN = 10

Differing = TypeVar("Differing")


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
class System:
    """The scores of one system."""

    name: str
    scores: dict[str, Score]
    """Scores by the metrics' names."""
    length_ratio: float | None
    """Tokens of the outputs divided by tokens of the references, as BLEU splits them; None for other outputs than
    translations."""
    against_baseline: dict[str, Difference] | None
    """Differences from the baseline by metric; None for the baseline itself."""

    @property
    def bleu(self) -> Score:
        """BLEU, the metric of translations that is reported first."""
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
class DifferingLine:
    """A line that language models predicted with different success."""

    line: int
    """The line's number in the text, from 1."""
    text: str
    nats: dict[str, float]
    """The nats that each model spent on the line."""


@dataclass(frozen=True)
class Comparison(Generic[Differing]):
    """The comparison of systems on the same test data."""

    data: str
    """Name of the test data; "" if it is not reported."""
    size: int
    unit: str
    measured: Measured
    """The kind of the outputs."""
    metrics: Mapping[str, Metric]
    """Metrics by name."""
    systems: list[System]
    """The systems; the first is the baseline."""
    pairs: list[Pair]
    """All pairs of systems, each tested against the other."""
    most_different: list[Differing]
    """Examples on which systems differ most, by the span of sentence-level chrF of translations or of nats of language
    models; empty for other outputs."""
    by_length: list[LengthPart] = field(default_factory=list)
    """Scores by the number of words in the source, of systems that translate; else empty."""
    by_word_frequency: list[FrequencyPart] | None = None
    """Recall of words by their frequency in the training data, of systems that translate; None if these are unknown."""
    by_words: list[WordsPart] = field(default_factory=list)
    """Recall and precision of the kinds of words that were asked for."""
    numbers: CopiedNumbers = NO_NUMBERS
    """Counts of the numbers in sources that each system copied into its outputs; `NO_NUMBERS` if none translates."""

    @property
    def sentences(self) -> int:
        """The number of examples, by its name in comparisons of translations."""
        return self.size

    def to_dict(self) -> dict[str, Any]:
        """Returns the output of `transduce compare --json`."""
        facts: dict[str, Any] = msgspec.to_builtins(replace(self, metrics={}, pairs=[]))
        systems, different = [system.pop("scores") | system for system in facts["systems"]], facts["most_different"]
        if self.measured == "translations":
            parts = ("by_length", "by_word_frequency", "by_words", "numbers", "most_different")
            return {"sentences": self.size, "systems": systems} | {name: facts[name] for name in parts}
        for system in systems:
            del system["length_ratio"]
        if self.measured == "lines":
            return {"text": self.data, "lines": self.size, "systems": systems, "most_different": different}
        return {"data": self.data, "size": self.size, "unit": self.unit, "systems": systems}


def compare(
    systems: Mapping[str, Sequence[str]],
    sources: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: BleuTokenizer = "auto",
    training: Iterable[str] | None = None,
    metrics: Sequence[MetricName] = (),
    words: Sequence[str] = (),
) -> Comparison[DifferingSentence]:
    """Compares the outputs of systems, by name, with those of the first, the baseline.

    All texts are aligned line by line and detokenised. The training text, in the target language, determines how rare
    words are; `metrics` and several references are as in `evaluate_outputs`, but recall of words and copied numbers are
    those of the first. `words` are kinds of words of which recall and precision are told, each a text such as "he him
    his". Raises InputError for fewer than two systems, an unknown metric or words that no reference has, DataError for
    texts that are not aligned.
    """
    if len(systems) < 2:
        raise InputError(f"systems given: {', '.join(systems) or 'none'}; give two or more to compare")
    check_aligned("sources", sources, references)
    for name, outputs in systems.items():
        check_aligned(name, outputs, references)
    scored = {
        name: evaluate_outputs(outputs, references, lowercase, tokenize, metrics=metrics, sources=sources)
        for name, outputs in systems.items()
    }
    chrf = [scores.counts["chrf"].score_rows(scores.counts["chrf"].counts) for scores in scored.values()]
    different = [
        DifferingSentence(
            line=i + 1,
            source=sources[i],
            reference=references[i],
            outputs={name: outputs[i] for name, outputs in systems.items()},
            chrf=of_systems,
        )
        for i, of_systems in _most_different(systems, chrf)
    ]
    return replace(
        _compared(scored, "", different),
        by_length=by_length(sources, {name: scores.counts["bleu"] for name, scores in scored.items()}),
        by_word_frequency=(
            None if training is None else by_word_frequency(references, systems, training, lowercase, tokenize)
        ),
        by_words=by_words(words, references, systems, tokenize),
        numbers=count_copied_numbers(sources, references, systems),
    )


def compare_scores(systems: Mapping[str, Scores], data: str, lines: Sequence[str] = ()) -> Comparison[DifferingLine]:
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
    if baseline.measured != "lines" or not lines:
        return _compared(systems, data, [])
    nats = [scores.outcome.counts[:, 0] for scores in systems.values()]
    different = [DifferingLine(i + 1, lines[i], of_models) for i, of_models in _most_different(systems, nats)]
    return _compared(systems, data, different)


def _compared(systems: Mapping[str, Scores], data: str, different: list[Differing]) -> Comparison[Differing]:
    first, baseline = next(iter(systems.items()))
    pairs = compare_pairs(
        {metric: {name: scores.counts[metric] for name, scores in systems.items()} for metric in baseline.counts}
    )
    has_length = baseline.measured == "translations"
    compared = [
        System(name, scores.scores, scores.length_ratio if has_length else None, against(pairs, first, name))
        for name, scores in systems.items()
    ]
    return Comparison(
        data, baseline.size, baseline.unit, baseline.measured, baseline.metrics, compared, pairs, different
    )


def _classes(scores: Scores) -> list[str]:
    return list(scores.outcome.labels) if isinstance(scores.outcome, PredictedClasses) else []


def _most_different(names: Iterable[str], values: Sequence[Counts]) -> list[tuple[int, dict[str, float]]]:
    """Returns the examples with the widest span of values, [systems, examples], widest first: their indices, and each
    system's value."""
    of_systems = np.stack(values)
    span = of_systems.max(0) - of_systems.min(0)
    widest = [i for i in np.argsort(-span, kind="stable")[:SHOWN].tolist() if span[i] > 0]
    return [(i, dict(zip(names, of_systems[:, i].tolist(), strict=True))) for i in widest]
