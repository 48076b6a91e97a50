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

from transduce.corpora.tagged_sentences import entities_of
from transduce.evaluation.metric import Outcome, Scoring, SentenceCounts

BINS = 15
"""Number of bins of probabilities in which calibration is measured."""
ARTICLES = re.compile(r"\b(a|an|the)\b")
WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)

Numbers = NDArray[np.float64]
ClassNumbers = NDArray[np.int64]


@dataclass(frozen=True)
class PredictedClasses:
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
        true, predicted = (_one_hot(numbers, len(self.labels)) for numbers in (self.truth, self.predicted))
        return np.hstack([true * predicted, true, predicted])

    @property
    def confusion(self) -> NDArray[np.int64]:
        """The confusion matrix: [true classes, predicted classes]."""
        matrix = np.zeros((len(self.labels), len(self.labels)), dtype=np.int64)
        np.add.at(matrix, (self.truth, self.predicted), 1)
        return matrix


def count_right_classes(outcome: PredictedClasses, scoring: Scoring) -> SentenceCounts:
    """Counts the texts whose true class was predicted."""
    return SentenceCounts.of_sentence_scores((outcome.predicted == outcome.truth).tolist())


def count_macro_f1(outcome: PredictedClasses, scoring: Scoring) -> SentenceCounts:
    """Counts for F1 of each class; the score is the mean over classes that are true for a text or predicted."""
    return SentenceCounts(outcome.by_class, _macro_f1)


def count_matthews(outcome: PredictedClasses, scoring: Scoring) -> SentenceCounts:
    """Counts for Matthews' correlation, for any number of classes (Gorodkin 2004)."""
    return SentenceCounts(outcome.by_class, _matthews)


def count_calibration_error(outcome: PredictedClasses, scoring: Scoring) -> SentenceCounts:
    """Counts for the expected calibration error (Guo et al. 2017): the distance between probability and accuracy, over
    15 bins of the likeliest class's probability."""
    certainty = outcome.probabilities.max(1)  # [texts]
    is_right = (outcome.predicted == outcome.truth).astype(np.float64)
    bins = _one_hot(np.minimum((certainty * BINS).astype(np.int64), BINS - 1), BINS)
    by_bin = np.hstack([bins * is_right[:, None], bins * certainty[:, None], bins])
    return SentenceCounts(by_bin, _calibration_error)


def count_pearson(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts the moments for Pearson's correlation."""
    return SentenceCounts(_moments(*_arrays(outcome)), _pearson)


def count_spearman(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts for Spearman's correlation: Pearson's of ranks, which are those among all texts in resamples too."""
    return SentenceCounts(_moments(*map(ranks, _arrays(outcome))), _pearson)


def count_squared_errors(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts squared errors of each number; the score is their mean."""
    numbers, truth = _arrays(outcome)
    return SentenceCounts.of_sentence_scores(np.square(numbers - truth).tolist())


def ranks(values: Numbers) -> Numbers:
    """Returns ranks from 1; equal values share their mean rank."""
    _, indices, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)  # highest rank of each value
    return (last - (counts - 1) / 2)[indices]


def count_entity_f1(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts whole entities, exact in words and kind, as the scorer of CoNLL does; the score is their F1."""
    return _count_entities(outcome, lambda sums: 2 * sums[0] / max(sums[1] + sums[2], 1.0))


def count_entity_precision(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts whole entities; the score is the share of predicted ones that are right."""
    return _count_entities(outcome, lambda sums: sums[0] / max(sums[1], 1.0))


def count_entity_recall(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts whole entities; the score is the share of true ones that were predicted."""
    return _count_entities(outcome, lambda sums: sums[0] / max(sums[2], 1.0))


def count_right_tags(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts the words whose tag is right."""
    pairs = zip(outcome.outputs, outcome.references, strict=True)
    words = [(sum(map(str.__eq__, tags, true)), len(tags)) for tags, true in pairs]
    return SentenceCounts(np.array(words, dtype=np.float64), lambda sums: sums[0] / max(sums[1], 1.0))


def count_answer_f1(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts the F1 of the words of each answer, "" for none, with the nearest right answer, as SQuAD's scorer does
    (Rajpurkar et al. 2016)."""
    return _best_of_answers(outcome, word_f1)


def count_right_answers(outcome: Outcome, scoring: Scoring) -> SentenceCounts:
    """Counts the answers that equal a right one, except for case, punctuation and articles (SQuAD)."""
    return _best_of_answers(outcome, lambda answer, true: float(normalized(answer) == normalized(true)))


def word_f1(answer: str, true: str) -> float:
    """Returns the F1 of the words of two answers, as bags; without words, 1 if both are empty, else 0."""
    words, true_words = normalized(answer).split(), normalized(true).split()
    if not words or not true_words:
        return float(words == true_words)
    common = sum((Counter(words) & Counter(true_words)).values())
    return 2 * common / (len(words) + len(true_words))


def normalized(answer: str) -> str:
    """Returns an answer in lower case, without punctuation, articles and superfluous spaces."""
    return " ".join(ARTICLES.sub(" ", answer.lower().translate(WITHOUT_PUNCTUATION)).split())


def _one_hot(numbers: ClassNumbers, classes: int) -> Numbers:
    return (numbers[:, None] == np.arange(classes)).astype(np.float64)


def _arrays(outcome: Outcome) -> tuple[Numbers, Numbers]:
    return np.asarray(outcome.outputs, dtype=np.float64), np.asarray(outcome.references, dtype=np.float64)


def _moments(scores: Numbers, truth: Numbers) -> Numbers:
    """Returns the moments, [texts, 6], of values minus the mean of the true ones, so that differences of sums lose few
    digits.

    That mean is the same for all systems, so that rows of different systems can be exchanged.
    """
    x, y = scores - truth.mean(), truth - truth.mean()  # [texts]
    return np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], 1)


def _pearson(sums: list[float]) -> float:
    count, x, y, xx, yy, xy = sums  # n, Σx, Σy, Σx², Σy², Σxy
    spread = (count * xx - x * x) * (count * yy - y * y)  # n² var(x) n² var(y)
    return float((count * xy - x * y) / spread**0.5) if spread > 0 else 0.0


def _macro_f1(sums: list[float]) -> float:
    right, true, predicted = np.array(sums).reshape(3, -1)
    occurs = true + predicted > 0
    return float((2 * right[occurs] / (true + predicted)[occurs]).mean()) if occurs.any() else 0.0


def _matthews(sums: list[float]) -> float:
    right, true, predicted = np.array(sums).reshape(3, -1)
    texts = true.sum()
    spread = (texts**2 - (predicted**2).sum()) * (texts**2 - (true**2).sum())
    return float((right.sum() * texts - predicted @ true) / spread**0.5) if spread > 0 else 0.0


def _calibration_error(sums: list[float]) -> float:
    right, certainty, texts = np.array(sums).reshape(3, -1)
    return float(np.abs(right - certainty).sum() / max(texts.sum(), 1.0))


def _count_entities(outcome: Outcome, score_of: Callable[[list[float]], float]) -> SentenceCounts:
    """Counts entities predicted rightly, predicted, and true: [sentences, 3]."""
    counts = []
    for tags, true_tags in zip(outcome.outputs, outcome.references, strict=True):
        predicted, true = set(entities_of(tags)), set(entities_of(true_tags))
        counts.append((len(predicted & true), len(predicted), len(true)))
    return SentenceCounts(np.array(counts, dtype=np.float64), score_of)


def _best_of_answers(outcome: Outcome, score: Callable[[str, str], float]) -> SentenceCounts:
    pairs = zip(outcome.outputs, outcome.references, strict=True)
    scores = [max(score(answer, true) for true in right or [""]) for answer, right in pairs]
    return SentenceCounts.of_sentence_scores(scores)
