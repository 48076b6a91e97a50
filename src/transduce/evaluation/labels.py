"""Metrics of predicted classes, numbers and tags of texts, and of answers to questions.

Every metric counts in each example; sums of these counts make the score of a test set, of its resamples and of systems
that exchange outputs, as in evaluation/metric.py.
"""

import re
import string
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.tagged import entities_of
from transduce.evaluation.metric import Outcome, Scoring, SentenceCounts

BINS = 15
"""Number of bins of probabilities in which calibration is measured."""
ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)

Numbers = NDArray[np.float64]
ClassNumbers = NDArray[np.int64]


@dataclass(frozen=True)
class ToldClasses:
    """Predicted classes of texts, with probabilities, and the true ones; an Outcome."""

    labels: Sequence[str]
    probabilities: Numbers
    """The probability of each class, [texts, classes]."""
    truth: ClassNumbers
    """The index of the true class, [texts]."""
    sources: Sequence[str] | None = None

    @cached_property
    def predicted(self) -> ClassNumbers:
        """The index of the likeliest class, [texts]."""
        return self.probabilities.argmax(1)

    @property
    def outputs(self) -> list[str]:
        """The name of the likeliest class of each text."""
        return [self.labels[number] for number in self.predicted.tolist()]

    @property
    def references(self) -> list[str]:
        """The name of the true class of each text."""
        return [self.labels[number] for number in self.truth.tolist()]

    @cached_property
    def by_class(self) -> Numbers:
        """Ones where a class was predicted rightly, is true, and was predicted: [texts, 3 * classes]."""
        true, told = (_one_hot(numbers, len(self.labels)) for numbers in (self.truth, self.predicted))
        return np.hstack([true * told, true, told])

    @property
    def confusion(self) -> NDArray[np.int64]:
        """The confusion matrix: [true classes, predicted classes]."""
        found = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        np.add.at(found, (self.truth, self.predicted), 1)
        return found


def count_right_classes(told: ToldClasses, scoring: Scoring) -> SentenceCounts:
    """Count the texts whose true class was predicted."""
    return SentenceCounts.of_sentence_scores((told.predicted == told.truth).tolist())


def count_macro_f1(told: ToldClasses, scoring: Scoring) -> SentenceCounts:
    """Count for F1 of each class; the score is the mean over classes that are true for a text or predicted."""
    return SentenceCounts(told.by_class, _macro_f1)


def count_matthews(told: ToldClasses, scoring: Scoring) -> SentenceCounts:
    """Count for Matthews' correlation, for any number of classes (Gorodkin 2004)."""
    return SentenceCounts(told.by_class, _matthews)


def count_calibration_error(told: ToldClasses, scoring: Scoring) -> SentenceCounts:
    """Count for the expected calibration error (Guo et al. 2017): the distance between probability and accuracy, over
    15 bins of the likeliest class's probability."""
    certainty, is_right = told.probabilities.max(1), (told.predicted == told.truth).astype(np.float64)
    bins = _one_hot(np.minimum((certainty * BINS).astype(np.int64), BINS - 1), BINS)
    by_bin = np.hstack([bins * is_right[:, None], bins * certainty[:, None], bins])
    return SentenceCounts(by_bin, _calibration_error)


def count_pearson(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count the moments for Pearson's correlation."""
    return SentenceCounts(_moments(*_arrays(told)), _pearson)


def count_spearman(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count for Spearman's correlation: Pearson's of ranks, which are those among all texts in resamples too."""
    return SentenceCounts(_moments(*map(ranks, _arrays(told))), _pearson)


def count_squared_errors(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count squared errors of each number; the score is their mean."""
    numbers, truth = _arrays(told)
    return SentenceCounts.of_sentence_scores(np.square(numbers - truth).tolist())


def ranks(values: Numbers) -> Numbers:
    """Returns ranks from 1; equal values share their mean rank."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[places]


def count_entity_f1(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count whole entities, exact in words and kind, as the scorer of CoNLL does; the score is their F1."""
    return _count_entities(told, lambda sums: 2 * sums[0] / max(sums[1] + sums[2], 1.0))


def count_entity_precision(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count whole entities; the score is the share of predicted ones that are right."""
    return _count_entities(told, lambda sums: sums[0] / max(sums[1], 1.0))


def count_entity_recall(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count whole entities; the score is the share of true ones that were predicted."""
    return _count_entities(told, lambda sums: sums[0] / max(sums[2], 1.0))


def count_right_tags(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count the words whose tag is right."""
    words = [
        (sum(map(str.__eq__, tags, true)), len(tags)) for tags, true in zip(told.outputs, told.references, strict=True)
    ]
    return SentenceCounts(np.array(words, dtype=np.float64), lambda sums: sums[0] / max(sums[1], 1.0))


def count_answer_f1(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count the F1 of the words of each answer, "" for none, with the nearest right answer, as SQuAD's scorer does
    (Rajpurkar et al. 2016)."""
    return _best_of_answers(told, word_f1)


def count_right_answers(told: Outcome, scoring: Scoring) -> SentenceCounts:
    """Count the answers that equal a right one, except for case, punctuation and articles (SQuAD)."""
    return _best_of_answers(told, lambda answer, true: float(normalized(answer) == normalized(true)))


def word_f1(told: str, true: str) -> float:
    """Returns the F1 of the words of two answers, as bags; without words, 1 if both are empty, else 0."""
    one, other = normalized(told).split(), normalized(true).split()
    if not one or not other:
        return float(one == other)
    common = sum((Counter(one) & Counter(other)).values())
    return 2 * common / (len(one) + len(other))


def normalized(answer: str) -> str:
    """Returns an answer in lower case, without punctuation, articles and superfluous spaces."""
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(WITHOUT_PUNCTUATION)).split())


def _one_hot(numbers: ClassNumbers, classes: int) -> Numbers:
    return (numbers[:, None] == np.arange(classes)).astype(np.float64)


def _arrays(told: Outcome) -> tuple[Numbers, Numbers]:
    return np.asarray(told.outputs, dtype=np.float64), np.asarray(told.references, dtype=np.float64)


def _moments(scores: Numbers, truth: Numbers) -> Numbers:
    """Returns the moments, [texts, 6], of values minus the mean of the true ones, so that differences of sums lose few
    digits.

    That mean is the same for all systems, so that rows of different systems can be exchanged.
    """
    one, other = scores - truth.mean(), truth - truth.mean()
    return np.stack([np.ones_like(one), one, other, one * one, other * other, one * other], 1)


def _pearson(sums: list[float]) -> float:
    count, one, other, of_one, of_other, of_both = sums
    spread = (count * of_one - one * one) * (count * of_other - other * other)
    return float((count * of_both - one * other) / spread**0.5) if spread > 0 else 0.0


def _macro_f1(sums: list[float]) -> float:
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


def _count_entities(told: Outcome, score_of: Callable[[list[float]], float]) -> SentenceCounts:
    """Count entities predicted rightly, predicted, and true: [sentences, 3]."""
    counts = []
    for tags, true_tags in zip(told.outputs, told.references, strict=True):
        found, true = set(entities_of(tags)), set(entities_of(true_tags))
        counts.append((len(found & true), len(found), len(true)))
    return SentenceCounts(np.array(counts, dtype=np.float64), score_of)


def _best_of_answers(told: Outcome, score: Callable[[str, str], float]) -> SentenceCounts:
    return SentenceCounts.of_sentence_scores(
        [
            max(score(answer, true) for true in each or [""])
            for answer, each in zip(told.outputs, told.references, strict=True)
        ]
    )
