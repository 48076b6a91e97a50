"""Scores of detokenised output against untouched references, each with its signature and confidence interval.

METRICS is the table of those that have names. sacreBLEU counts and scores. The counts of each sentence are kept: they
are enough to score the whole test set, any part of it, and the resamples that intervals and significance tests need.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.errors import DataError, InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer, bleu_tokenizer, has_chinese_characters, make_bleu
from transduce.evaluation.comet import MODEL, comet_scores, comet_version
from transduce.evaluation.significance import RESAMPLES, SEED, Counts, bootstrap_sums, confidence_interval
from transduce.plugins import Registry, check_takes, code_of, made_of, name_of, short_name


@dataclass(frozen=True)
class Score:
    """A metric's value on a whole test set."""

    score: float
    """On the metric's own scale: BLEU and chrF 0 to 100, TER from 0, lower is better."""
    signature: str
    """By which scores of others may be compared; of BLEU, chrF and TER sacreBLEU's."""
    interval: tuple[float, float]
    """95 % confidence, by 1,000 bootstrap resamples of the sentences (Koehn 2004)."""


@dataclass(frozen=True)
class BleuVariant(Score):
    """BLEU in one of the ways that papers report it."""

    tokenize: BleuTokenizer
    lowercase: bool


@dataclass(frozen=True)
class SentenceCounts:
    """What a metric has counted in each sentence."""

    counts: Counts
    """[sentences, counts]; BLEU: output and reference length, matching n-grams, n-grams."""
    score_of: Callable[[list[float]], float]
    """The score of summed counts."""
    signature: str
    """See Score."""

    def score_rows(self, sums: Counts) -> NDArray[np.float64]:
        """Sums of counts [rows, counts] to scores [rows]; a sentence's own counts give its sentence-level score."""
        return np.array([self.score_of(row) for row in sums.tolist()])

    @property
    def score(self) -> float:
        """The score of all sentences together."""
        return float(self.score_rows(self.counts.sum(0)[None])[0])

    def choose(self, sentences: NDArray[np.intp]) -> "SentenceCounts":
        """The counts of some of the sentences."""
        return replace(self, counts=self.counts[sentences])

    def summary(self) -> Score:
        """The score of all sentences together, signed, with its interval."""
        interval = confidence_interval(self.score_rows(bootstrap_sums(self.counts)))
        return Score(self.score, self.signature, interval)

    @staticmethod
    def summed(systems: "Sequence[SentenceCounts]") -> "SentenceCounts":
        """Those of several systems' outputs of the same sentences, each of which stays one sentence: outputs of several
        seeds are not independent samples."""
        return replace(systems[0], counts=np.sum([one.counts for one in systems], 0))

    @staticmethod
    def of_sentence_scores(scores: Sequence[float], signature: str) -> "SentenceCounts":
        """A metric whose score of a test set is the mean of its sentences' scores."""
        counts = np.array([[score, 1.0] for score in scores])
        return SentenceCounts(counts, lambda sums: sums[0] / max(sums[1], 1.0), signature)


@dataclass(frozen=True)
class Texts:
    """What is scored, aligned line by line and detokenised."""

    outputs: Sequence[str]
    references: Sequence[str]
    sources: Sequence[str] | None = None
    """None where only references are known."""


@dataclass(frozen=True)
class Scoring:
    """How metrics that compare words do it."""

    lowercase: bool = False
    """Score case-insensitively."""
    tokenize: BleuTokenizer = "auto"
    """How BLEU splits words; auto: as the script of the references asks for (see `bleu_tokenizer`)."""


@dataclass(frozen=True)
class Metric:
    """A metric: an entry of METRICS, or made of a function; see `find_metric`."""

    title: str
    """What it is called in tables."""
    count: Callable[[Texts, Scoring], SentenceCounts]
    """Counts in each sentence; raises InputError for what it lacks, such as sources or a package."""
    higher_is_better: bool = True
    digits: int = 2
    """Decimals shown."""
    whole: Callable[[Texts], float] | None = None
    """The score of all sentences together, where that is found faster than by counts."""

    def score(self, texts: Texts, scoring: Scoring) -> float:
        """The score of all sentences together."""
        return self.count(texts, scoring).score if self.whole is None else self.whole(texts)


MetricName = str | Metric | Callable[..., Any]
"""A metric by its name; or itself; or a function of outputs and references, and of sources if it takes three lists,
which gives a number for each sentence, or one for all."""


def find_metric(metric: MetricName, others: Sequence[str] = ()) -> Metric:
    """The metric of that name, or made of that object; InputError for none, which lists others to be had in its place.

    A name is one of METRICS, of an entry point of the group `transduce.metrics` of an installed package, or of a
    function given before. An attribute `higher_is_better` of a function says which way is better.
    """
    if isinstance(metric, Metric):
        return metric
    try:
        return REGISTRY.find(metric)
    except InputError as error:
        if others and str(error).startswith("no metric"):
            raise InputError(f"{error}, {', '.join(others)}") from None
        raise


def metric_key(metric: MetricName) -> str:
    """What a metric's score is called: its name, without the module that a function is in."""
    return metric.title if isinstance(metric, Metric) else short_name(name_of(metric))


def metrics_by_key(metrics: Sequence[MetricName]) -> dict[str, Metric]:
    """Metrics by what their scores are called; InputError for two that are called the same."""
    found: dict[str, Metric] = {}
    for metric in metrics:
        key, made = metric_key(metric), find_metric(metric)
        if found.setdefault(key, made) is not made:
            raise InputError(f"two metrics are called '{key}'; give one of them another name")
    return found


def count_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "auto"
) -> SentenceCounts:
    """What BLEU (Papineni et al. 2002) counts.

    Raises DataError unless there are as many outputs as references, InputError where a tokenizer is not installed.
    """
    return _count(make_bleu(bleu_tokenizer(references, tokenize), lowercase), outputs, references)


def count_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """What chrF2 (Popovic 2015) counts; raises DataError unless there are as many outputs as references."""
    return _count(CHRF(lowercase=lowercase), outputs, references)


def count_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """What TER (Snover et al. 2006) counts; raises DataError unless there are as many outputs as references.

    Chinese and Japanese are divided into characters (sacreBLEU's asian_support, which normalises punctuation, too).
    """
    is_asian = has_chinese_characters(references)
    ter = TER(normalized=is_asian, asian_support=is_asian, case_sensitive=not lowercase)
    return _count(ter, outputs, references)


def score_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "auto"
) -> Score:
    """Corpus BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018)."""
    return count_bleu(outputs, references, lowercase, tokenize).summary()


def score_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Character n-gram F-score, chrF2 (Popovic 2015)."""
    return count_chrf(outputs, references, lowercase).summary()


def score_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Translation edit rate (Snover et al. 2006)."""
    return count_ter(outputs, references, lowercase).summary()


def score_bleu_variants(outputs: Sequence[str], references: Sequence[str]) -> list[BleuVariant]:
    """BLEU in the ways that papers report it: words split by 13a or intl, or as a script without spaces asks for, with
    or without regard to case."""
    variants = []
    own = bleu_tokenizer(references)
    ways: tuple[BleuTokenizer, ...] = ("13a", "intl") if own == "13a" else (own,)
    for tokenize in ways:
        for lowercase in (False, True):
            found = score_bleu(outputs, references, lowercase, tokenize)
            variants.append(BleuVariant(found.score, found.signature, found.interval, tokenize, lowercase))
    return variants


def length_ratio(bleu: SentenceCounts) -> float:
    """Tokens of the outputs to tokens of the references, as BLEU split them; below 1, BLEU pays a brevity penalty."""
    output, reference = bleu.counts[:, :2].sum(0)
    return float(output / max(reference, 1))


def exact_match(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> float:
    """Share of outputs that equal their reference, 0 to 1."""
    pairs = list(zip(outputs, references, strict=True))
    if lowercase:
        pairs = [(output.lower(), reference.lower()) for output, reference in pairs]
    return sum(output == reference for output, reference in pairs) / len(pairs)


def check_aligned(name: str, texts: Sequence[str], references: Sequence[str]) -> None:
    """Raise DataError unless there are as many texts as references, and at least one."""
    if len(texts) != len(references):
        raise DataError(
            f"{name}: {len(texts):,} lines, but there are {len(references):,} references; "
            "they must be aligned line by line"
        )
    if not references:
        raise DataError(f"{name}: nothing to evaluate, there are no lines")


def _count(metric: BLEU | CHRF | TER, outputs: Sequence[str], references: Sequence[str]) -> SentenceCounts:
    check_aligned("outputs", outputs, references)
    counts = metric._extract_corpus_statistics(list(outputs), [list(references)])
    metric.n_bootstrap, metric.seed = RESAMPLES, str(SEED)  # for the signature
    return SentenceCounts(
        np.array(counts, dtype=np.float64),
        lambda sums: float(metric._compute_score_from_stats(sums).score),  # type: ignore[arg-type] # whole numbers
        str(metric.get_signature()),
    )


def _metric_of(name: str, found: Any) -> Metric:
    """The metric that an object of that name is, or that is made of a function."""
    if isinstance(found, Metric):
        return found
    function = made_of("metric", name, found)
    with_sources = _takes(function, 3) and not _takes(function, 2)
    expected = "a function of outputs and references (and sources), or a transduce.evaluation.metrics.Metric"
    check_takes("metric", name, function, ("outputs", "references", "sources")[: 3 if with_sources else 2], expected)
    own = _OwnMetric(name, function, with_sources)
    rises = bool(getattr(function, "higher_is_better", True))
    return Metric(short_name(name), own.count, rises, digits=4, whole=own.score)


def _takes(function: Any, count: int) -> bool:
    try:
        check_takes("", "", function, ("",) * count, "")
    except InputError:
        return False
    return True


@dataclass(frozen=True)
class _OwnMetric:
    """A metric that is a function of somebody's own."""

    name: str
    function: Callable[..., Any]
    with_sources: bool

    def score(self, texts: Texts) -> float:
        """The number for all sentences, or the mean of theirs."""
        return float(np.mean(self._values(texts)))

    def count(self, texts: Texts, scoring: Scoring) -> SentenceCounts:
        """A score for each sentence. Where the function gives one number for all, a sentence's is the jackknife's
        pseudo-value (Tukey 1958): what the number owes to it. Of a mean that is the sentence's own score."""
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

    def _values(self, texts: Texts) -> NDArray[np.float64]:
        """One number, or one for each sentence."""
        if self.with_sources and texts.sources is None:
            raise InputError(f"metric '{self.name}' needs the sources beside outputs and references")
        sides = (texts.outputs, texts.references, texts.sources)[: 3 if self.with_sources else 2]
        found = self.function(*map(list, sides))  # type: ignore[arg-type] # sources are there
        try:
            values = np.asarray(found, dtype=np.float64)
        except (TypeError, ValueError):
            values = np.full((1, 1), np.nan)
        if values.shape not in ((), (len(texts.outputs),)) or not np.isfinite(values).all():
            raise InputError(
                f"metric '{self.name}' gave {repr(found)[:60]} for {len(texts.outputs):,} sentences; expected a "
                "number, or a number for each sentence"
            )
        return values


def _all_but(texts: Texts, place: int) -> Texts:
    def left(lines: Sequence[str]) -> list[str]:
        return [*lines[:place], *lines[place + 1 :]]

    return Texts(left(texts.outputs), left(texts.references), None if texts.sources is None else left(texts.sources))


def _count_exact_matches(texts: Texts, scoring: Scoring) -> SentenceCounts:
    pairs = zip(texts.outputs, texts.references, strict=True)
    matches = [exact_match([output], [reference], scoring.lowercase) for output, reference in pairs]
    return SentenceCounts.of_sentence_scores(matches, f"exact|case:{'lc' if scoring.lowercase else 'mixed'}")


def _count_comet(texts: Texts, scoring: Scoring) -> SentenceCounts:
    if texts.sources is None:
        raise InputError("comet needs the sources beside outputs and references")
    scores = comet_scores(texts.sources, texts.outputs, texts.references)
    return SentenceCounts.of_sentence_scores(scores, f"comet|model:{MODEL}|version:{comet_version()}")


METRICS: Mapping[str, Metric] = {
    "bleu": Metric("BLEU", lambda texts, how: count_bleu(texts.outputs, texts.references, how.lowercase, how.tokenize)),
    "chrf": Metric("chrF", lambda texts, how: count_chrf(texts.outputs, texts.references, how.lowercase)),
    "ter": Metric(
        "TER", lambda texts, how: count_ter(texts.outputs, texts.references, how.lowercase), higher_is_better=False
    ),
    "exact_match": Metric("exact match", _count_exact_matches, digits=4),
    "comet": Metric("COMET", _count_comet, digits=4),
}

REGISTRY: Registry[Metric] = Registry("metric", "transduce.metrics", _metric_of, METRICS)

STANDARD = ("bleu", "chrf", "ter")
"""What `evaluate` and `compare` always tell."""
