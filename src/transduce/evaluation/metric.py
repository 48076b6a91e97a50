"""Metrics: what they count in each example, and how counts become a score with its interval.

The counts of each example are kept: they are enough to score the whole test set, any part of it, and the resamples that
intervals and significance tests need.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from transduce.base.errors import DataError, InputError
from transduce.base.plugins import check_takes, code_of, made_of, short_name
from transduce.evaluation.bleu_tokenizers import BleuTokenizer
from transduce.evaluation.significance import Counts, bootstrap_sums, confidence_interval


@dataclass(frozen=True)
class Score:
    """The value of a metric on a whole test set."""

    score: float
    """The value on the metric's own scale: BLEU and chrF 0 to 100; TER from 0, lower is better."""
    signature: str
    """The signature; only scores with the same one are comparable. For BLEU, chrF and TER it is sacreBLEU's."""
    interval: tuple[float, float]
    """The 95 % confidence interval, by 1,000 bootstrap resamples of the examples (Koehn 2004)."""


@dataclass(frozen=True)
class SentenceCounts:
    """The numbers that a metric counted in each sentence, or other example, of a test set."""

    counts: Counts
    """Counts [sentences, counts]; for BLEU: output and reference length, matching n-grams, n-grams."""
    score_of: Callable[[list[float]], float]
    """Returns the score of summed counts."""
    signature: str = ""
    """The signature of the scores; see Score."""

    def score_rows(self, sums: Counts) -> NDArray[np.float64]:
        """Returns scores [rows] of sums of counts [rows, counts]; a sentence's own counts give its sentence-level
        score."""
        return np.array([self.score_of(row) for row in sums.tolist()])

    @property
    def score(self) -> float:
        """The score of all sentences together."""
        return float(self.score_rows(self.counts.sum(0)[None])[0])

    def choose(self, sentences: NDArray[np.intp]) -> "SentenceCounts":
        """Returns the counts of some of the sentences."""
        return replace(self, counts=self.counts[sentences])

    def summary(self) -> Score:
        """Returns the score of all sentences together, with signature and interval."""
        score = self.score
        interval = confidence_interval(self.score_rows(bootstrap_sums(self.counts)), score)
        return Score(score, self.signature, interval)

    @staticmethod
    def summed(systems: "Sequence[SentenceCounts]") -> "SentenceCounts":
        """Returns the summed counts of several systems' outputs for the same sentences, each of which stays one
        sentence: outputs of several seeds are not independent samples."""
        return replace(systems[0], counts=np.sum([system.counts for system in systems], 0))

    @staticmethod
    def of_sentence_scores(scores: Sequence[float], signature: str = "") -> "SentenceCounts":
        """Makes counts for a metric that averages sentence scores."""
        counts = np.array([[score, 1.0] for score in scores])
        return SentenceCounts(counts, lambda sums: sums[0] / max(sums[1], 1.0), signature)


class Outcome(Protocol):
    """The outputs of a system for a test set, with their references."""

    @property
    def outputs(self) -> Sequence[Any]:
        """A translation, a class, a number, the tags of a sentence, or an answer for each example."""

    @property
    def references(self) -> Sequence[Any]:
        """The right output for each example; for answers, all right ones; of several translations a `References`."""

    @property
    def sources(self) -> Sequence[str] | None:
        """The source texts; None if they are unknown."""


@dataclass(frozen=True)
class Texts:
    """An Outcome from given outputs and references: translations, detokenised and aligned line by line, or others."""

    outputs: Sequence[Any]
    references: Sequence[Any]
    sources: Sequence[str] | None = None


@dataclass(frozen=True)
class Scoring:
    """Settings by which metrics compare words."""

    lowercase: bool = False
    """Score case-insensitively."""
    tokenize: BleuTokenizer = "auto"
    """BLEU's tokenizer; auto: by the script of the references (see `bleu_tokenizer`)."""


PLAIN = Scoring()
"""Case-sensitive scoring, with words split by the script of the references."""


@dataclass(frozen=True)
class Metric:
    """A metric: an entry of METRICS in evaluation/metrics.py, or made of a function by `find_metric`."""

    title: str
    """The metric's name in tables."""
    count: Callable[[Any, Scoring], SentenceCounts]
    """Counts in each example of an outcome; raises InputError if something is missing, such as sources or a package."""
    higher_is_better: bool = True
    digits: int = 2
    """Decimals shown."""
    whole: Callable[[Any], float] | None = None
    """Returns the score of a whole outcome, if that is faster than counting."""

    def score(self, outcome: Any, scoring: Scoring) -> float:
        """Returns the score of a whole outcome."""
        return self.count(outcome, scoring).score if self.whole is None else self.whole(outcome)


def check_aligned(name: str, texts: Sequence[str], references: Sequence[str]) -> None:
    """Raises DataError unless there are as many texts as references, and at least one."""
    if len(texts) != len(references):
        raise DataError(
            f"{name}: {len(texts):,} lines, but there are {len(references):,} references; "
            "they must be aligned line by line"
        )
    if not references:
        raise DataError(f"{name}: nothing to evaluate, there are no lines")


def metric_of(name: str, value: Any) -> Metric:
    """Returns a metric, or makes one of a function; InputError for an object that is neither."""
    if isinstance(value, Metric):
        return value
    function = made_of("metric", name, value)
    with_sources = _takes(function, 3) and not _takes(function, 2)
    expected = "a function of outputs and references (and sources), or a transduce.evaluation.metric.Metric"
    check_takes("metric", name, function, ("outputs", "references", "sources")[: 3 if with_sources else 2], expected)
    metric = _OwnMetric(name, function, with_sources)
    rises = bool(getattr(function, "higher_is_better", True))
    return Metric(short_name(name), metric.count, rises, digits=4, whole=metric.score)


def _takes(function: Any, count: int) -> bool:
    try:
        check_takes("", "", function, ("",) * count, "")
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class _OwnMetric:
    """A metric from a user's function."""

    name: str
    function: Callable[..., Any]
    with_sources: bool

    def score(self, texts: Outcome) -> float:
        """Returns the number for all sentences, or the mean of theirs."""
        return float(np.mean(self._values(texts)))

    def count(self, texts: Outcome, scoring: Scoring) -> SentenceCounts:
        """Returns a score for each sentence. If the function returns one number for all, a sentence's score is the
        jackknife's pseudo-value (Tukey 1958), its contribution to the number; for a mean, its own score."""
        check_aligned("outputs", texts.outputs, texts.references)
        values, count = self._values(texts), len(texts.outputs)
        if values.ndim == 0 and count > 1:
            without = np.array([self._values(_all_but(texts, i)) for i in range(count)])
            pseudo = count * values - (count - 1) * without
            values = pseudo + (values - pseudo.mean())  # their mean is the score, without the jackknife's correction
        code = code_of(self.function)
        version = code.version or (code.source or "none")[:8]
        return SentenceCounts.of_sentence_scores(
            np.atleast_1d(values).tolist(), f"{short_name(self.name)}|code:{code.object}|version:{version}"
        )

    def _values(self, texts: Outcome) -> NDArray[np.float64]:
        """Returns one number, or one for each sentence."""
        if self.with_sources and texts.sources is None:
            raise InputError(f"metric '{self.name}' needs the sources beside outputs and references")
        sides = (texts.outputs, texts.references, texts.sources)[: 3 if self.with_sources else 2]
        result = self.function(*map(list, sides))  # type: ignore[arg-type] # sources are there
        try:
            values = np.asarray(result, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.full((1, 1), np.nan)
        if values.shape not in ((), (len(texts.outputs),)) or not np.isfinite(values).all():
            raise InputError(
                f"metric '{self.name}' gave {repr(result)[:60]} for {len(texts.outputs):,} sentences; expected a "
                "number, or a number for each sentence"
            )
        return values


def _all_but(texts: Outcome, index: int) -> Texts:
    def left(lines: Sequence[Any]) -> list[Any]:
        return [*lines[:index], *lines[index + 1 :]]

    return Texts(left(texts.outputs), left(texts.references), None if texts.sources is None else left(texts.sources))
