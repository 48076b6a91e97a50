"""How well classes and scores are told: what is counted in each text, of which every figure is made.

Figures of a whole test set, of its resamples and of systems that exchange outputs are made of sums of these counts, as
in evaluation/metrics.py.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from transduce.evaluation.measured import LabelMetric
from transduce.evaluation.metrics import SentenceCounts

BINS = 15
"""Of the probabilities, in which calibration is measured."""

Numbers = NDArray[np.float64]
ClassNumbers = NDArray[np.int64]


CLASS_METRICS: Mapping[str, LabelMetric] = {
    "accuracy": LabelMetric("accuracy"),
    "macro_f1": LabelMetric("macro F1"),
    "matthews": LabelMetric("Matthews"),
    "calibration_error": LabelMetric("calibration error", higher_is_better=False),
}

SCORE_METRICS: Mapping[str, LabelMetric] = {
    "pearson": LabelMetric("Pearson"),
    "spearman": LabelMetric("Spearman"),
    "squared_error": LabelMetric("mean squared error", higher_is_better=False),
}


def count_classes(probabilities: Numbers, truth: ClassNumbers) -> dict[str, SentenceCounts]:
    """What each of CLASS_METRICS counts, of the probability of each class [texts, classes].

    Accuracy; F1, the mean over classes; the correlation of Matthews for any number of classes (Gorodkin 2004); and the
    expected calibration error (Guo et al. 2017): how far probability and accuracy are apart, over 15 bins of the
    likeliest class's probability.
    """
    predicted, certainty = probabilities.argmax(1), probabilities.max(1)
    is_right = (predicted == truth).astype(np.float64)
    of_truth, of_predicted = _one_hot(truth, probabilities.shape[1]), _one_hot(predicted, probabilities.shape[1])
    by_class = np.hstack([of_truth * of_predicted, of_truth, of_predicted])
    bins = _one_hot(np.minimum((certainty * BINS).astype(np.int64), BINS - 1), BINS)
    by_bin = np.hstack([bins * is_right[:, None], bins * certainty[:, None], bins])
    return {
        "accuracy": SentenceCounts.of_sentence_scores(is_right.tolist(), ""),
        "macro_f1": SentenceCounts(by_class, _macro_f1, ""),
        "matthews": SentenceCounts(by_class, _matthews, ""),
        "calibration_error": SentenceCounts(by_bin, _calibration_error, ""),
    }


def count_scores(scores: Numbers, truth: Numbers) -> dict[str, SentenceCounts]:
    """What each of SCORE_METRICS counts, of a score for each text.

    Spearman's correlation is Pearson's of ranks, which are those among all texts in resamples too.
    """
    return {
        "pearson": SentenceCounts(_moments(scores, truth), _pearson, ""),
        "spearman": SentenceCounts(_moments(ranks(scores), ranks(truth)), _pearson, ""),
        "squared_error": SentenceCounts.of_sentence_scores(np.square(scores - truth).tolist(), ""),
    }


def confusion(predicted: Sequence[int], truth: Sequence[int], classes: int) -> NDArray[np.int64]:
    """How many texts of each true class were told to be of each: [true classes, predicted classes]."""
    found = np.zeros((classes, classes), dtype=np.int64)
    np.add.at(found, (np.asarray(truth), np.asarray(predicted)), 1)
    return found


def ranks(values: Numbers) -> Numbers:
    """Ranks from 1, equal values having the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[places]


def _one_hot(numbers: ClassNumbers, classes: int) -> Numbers:
    return (numbers[:, None] == np.arange(classes)).astype(np.float64)


def _moments(scores: Numbers, truth: Numbers) -> Numbers:
    """[texts, 6], of values less the mean of the true ones, so that differences of sums lose few digits.

    That mean is the same for all systems, so that rows of several make up one system's when outputs are exchanged.
    """
    one, other = scores - truth.mean(), truth - truth.mean()
    return np.stack([np.ones_like(one), one, other, one * one, other * other, one * other], 1)


def _pearson(sums: list[float]) -> float:
    count, one, other, of_one, of_other, of_both = sums
    spread = (count * of_one - one * one) * (count * of_other - other * other)
    return float((count * of_both - one * other) / spread**0.5) if spread > 0 else 0.0


def _macro_f1(sums: list[float]) -> float:
    """Classes that neither are nor were told have no part in it."""
    right, true, told = np.array(sums).reshape(3, -1)
    met = true + told > 0
    return float((2 * right[met] / (true + told)[met]).mean()) if met.any() else 0.0


def _matthews(sums: list[float]) -> float:
    right, true, told = np.array(sums).reshape(3, -1)
    texts = true.sum()
    spread = (texts**2 - (told**2).sum()) * (texts**2 - (true**2).sum())
    return float((right.sum() * texts - told @ true) / spread**0.5) if spread > 0 else 0.0


def _calibration_error(sums: list[float]) -> float:
    right, certainty, texts = np.array(sums).reshape(3, -1)
    return float(np.abs(right - certainty).sum() / max(texts.sum(), 1.0))
