"""Scores of detokenised output against untouched references, each with its signature and confidence interval."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

BleuTokenizer = Literal["13a", "intl", "none", "zh", "ja-mecab", "ko-mecab", "char"]
RESAMPLES = 1000


@dataclass(frozen=True)
class Score:
    """A metric's value on a whole test set."""

    score: float
    """On the metric's own scale: BLEU and chrF 0 to 100, TER from 0, lower is better."""
    signature: str
    """sacreBLEU's, by which scores of others may be compared."""
    interval: tuple[float, float]
    """95 % confidence, by 1,000 bootstrap resamples of the sentences (Koehn 2004)."""


def score_bleu(
    outputs: Sequence[str], references: Sequence[str], lowercase: bool = False, tokenize: BleuTokenizer = "13a"
) -> Score:
    """Corpus BLEU (Papineni et al. 2002) by sacreBLEU (Post 2018)."""
    return _score(BLEU(lowercase=lowercase, tokenize=tokenize, force=True), outputs, references)


def score_chrf(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Character n-gram F-score, chrF2 (Popovic 2015)."""
    return _score(CHRF(lowercase=lowercase), outputs, references)


def score_ter(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> Score:
    """Translation edit rate (Snover et al. 2006)."""
    return _score(TER(case_sensitive=not lowercase), outputs, references)


def exact_match(outputs: Sequence[str], references: Sequence[str], lowercase: bool = False) -> float:
    """Share of outputs that equal their reference, 0 to 1."""
    pairs = list(zip(outputs, references, strict=True))
    if lowercase:
        pairs = [(output.lower(), reference.lower()) for output, reference in pairs]
    return sum(output == reference for output, reference in pairs) / len(pairs)


def _score(metric: BLEU | CHRF | TER, outputs: Sequence[str], references: Sequence[str]) -> Score:
    os.environ.setdefault("SACREBLEU_SEED", "12345")  # so that the interval is the same each time
    result = metric.corpus_score(list(outputs), [list(references)], n_bootstrap=RESAMPLES)
    low, high = float(result._mean - result._ci), float(result._mean + result._ci)
    return Score(float(result.score), str(metric.get_signature()), (low, high))
