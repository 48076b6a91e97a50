"""Scores of detokenised output against untouched references, each with its signature and confidence interval.

sacreBLEU counts and scores. The counts of each sentence are kept, since they are enough to score the whole test set,
any part of it, and the resamples that intervals and significance tests need.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from transduce.errors import DataError
from transduce.evaluation.significance import RESAMPLES, SEED, Counts, bootstrap_sums, confidence_interval

BleuTokenizer = Literal["13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char"]


@dataclass(frozen=True)
class Score:
    """A metric's value on a whole test set."""

    score: float
    """On the metric's own scale: BLEU and chrF 0 to 100, TER from 0, lower is better."""
    signature: str
    """sacreBLEU's, by which scores of others may be compared."""
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
    metric: BLEU | CHRF | TER

    def score_rows(self, sums: Counts) -> NDArray[np.float64]:
        """Sums of counts [rows, counts] to scores [rows]; a sentence's own counts give its sentence-level score."""
        return np.array([self.metric._compute_score_from_stats(row).score for row in sums.tolist()])

    @property
    def score(self) -> float:
        """The score of all sentences together."""
        return float(self.score_rows(self.counts.sum(0)[None])[0])

    def choose(self, sentences: NDArray[np.intp]) -> "SentenceCounts":
        """The counts of some of the sentences."""
        return SentenceCounts(self.counts[sentences], self.metric)

    def summary(self) -> Score:
        """The score of all sentences together, signed, with its interval."""
        interval = confidence_interval(self.score_rows(bootstrap_sums(self.counts)))
        return Score(self.score, str(self.metric.get_signature()), interval)


def count_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "13a"
) -> SentenceCounts:
    """What BLEU (Papineni et al. 2002) counts; raises DataError unless there are as many outputs as references."""
    return _count(BLEU(lowercase=lowercase, tokenize=tokenize, force=True), outputs, references)


def count_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """What chrF2 (Popovic 2015) counts; raises DataError unless there are as many outputs as references."""
    return _count(CHRF(lowercase=lowercase), outputs, references)


def count_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> SentenceCounts:
    """What TER (Snover et al. 2006) counts; raises DataError unless there are as many outputs as references."""
    return _count(TER(case_sensitive=not lowercase), outputs, references)


def score_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "13a"
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
    """BLEU in the four ways that papers report it: words split by 13a or intl, with or without regard to case."""
    variants = []
    for tokenize in ("13a", "intl"):
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
    return SentenceCounts(np.array(counts, dtype=np.float64), metric)
