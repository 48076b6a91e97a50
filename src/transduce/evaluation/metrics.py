"""Scores of detokenised output against untouched references, each with its signature and confidence interval.

METRICS is the table of those that have names. sacreBLEU counts and scores. The counts of each sentence are kept: they
are enough to score the whole test set, any part of it, and the resamples that intervals and significance tests need.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import entry_points

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.errors import DataError, InputError
from transduce.evaluation.bleu_tokenizers import BleuTokenizer, bleu_tokenizer, has_chinese_characters, make_bleu
from transduce.evaluation.comet import MODEL, comet_scores, comet_version
from transduce.evaluation.significance import RESAMPLES, SEED, Counts, bootstrap_sums, confidence_interval


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
    """A metric: an entry of METRICS, or an entry point of the group `transduce.metrics` of an installed package."""

    title: str
    """What it is called in tables."""
    count: Callable[[Texts, Scoring], SentenceCounts]
    """Counts in each sentence; raises InputError for what it lacks, such as sources or a package."""
    higher_is_better: bool = True
    digits: int = 2
    """Decimals shown."""


def find_metric(name: str, others: Sequence[str] = ()) -> Metric:
    """The metric of that name; InputError where there is none, which lists others that may be had in its place."""
    if name in METRICS:
        return METRICS[name]
    found = {entry.name: entry for entry in entry_points(group="transduce.metrics")}
    if name not in found:
        raise InputError(f"no metric '{name}'; there are {', '.join([*METRICS, *sorted(found), *others])}")
    metric = found[name].load()
    if not isinstance(metric, Metric):
        raise InputError(f"metric '{name}': {found[name].value} is not a transduce.evaluation.metrics.Metric")
    return metric


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

STANDARD = ("bleu", "chrf", "ter")
"""What `evaluate` and `compare` always tell."""
