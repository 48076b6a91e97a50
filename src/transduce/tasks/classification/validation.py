"""How well a classifier tells the classes, or the scores, of texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.bundle import ModelBundle
from transduce.data.batch import SpecialIds
from transduce.evaluation.labels import CLASS_METRICS, SCORE_METRICS, confusion, count_classes, count_scores
from transduce.evaluation.measured import Confusion, Measured
from transduce.evaluation.metrics import SentenceCounts
from transduce.inference.classifier import find_probabilities, find_scores
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig
from transduce.tasks.classification.data import Corpus, Labelled, as_numbers
from transduce.tasks.encoder_data import all_of
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

METRICS = {**CLASS_METRICS, **SCORE_METRICS}
LOWER_IS_BETTER = {"loss", *(name for name, metric in METRICS.items() if not metric.higher_is_better)}


@dataclass(frozen=True)
class Predictions:
    """What a model made of labelled texts."""

    predicted: NDArray[np.float64]
    """The probability of each class [texts, classes], or scores [texts]."""
    truth: NDArray[np.int64] | NDArray[np.float64]
    """Numbers of the true classes, or true scores."""

    @property
    def counts(self) -> dict[str, SentenceCounts]:
        """What each metric counts."""
        if self.predicted.ndim == 2:
            return count_classes(self.predicted, self.truth.astype(np.int64))
        return count_scores(self.predicted, self.truth.astype(np.float64))

    def loss(self, head: ClassHeadConfig | ScoreHeadConfig) -> float:
        """In nats a text, or in squared deviations."""
        if isinstance(head, ScoreHeadConfig):
            return float(np.square((self.predicted - self.truth) / head.deviation).mean())
        of_truth = self.predicted[np.arange(len(self.truth)), self.truth.astype(np.int64)]
        return float(-np.log(np.maximum(of_truth, 1e-30)).mean())


def predict(
    model: nn.Module, head: ClassHeadConfig | ScoreHeadConfig, special: SpecialIds, labelled: Labelled
) -> Predictions:
    """What a model in evaluation mode makes of labelled texts."""
    if isinstance(head, ScoreHeadConfig):
        return Predictions(find_scores(model, labelled.texts, special, head), labelled.labels)
    return Predictions(find_probabilities(model, labelled.texts, special), labelled.labels)


def measure(bundle: ModelBundle, corpus: Corpus) -> Measured:
    """What a bundle's model makes of labelled texts; raises DataError for a label that it does not know.

    Classes are counted in the order of the alphabet, whatever that of the model, so that models can be compared.
    """
    head, examples = head_of(bundle), all_of(corpus)
    labelled = as_numbers(examples, head, bundle.tokenizers.target, bundle.config.longest_source)
    found = predict(bundle.model, head, bundle.special, labelled)
    if isinstance(head, ScoreHeadConfig):
        return Measured(SCORE_METRICS, found.counts, "texts")
    order = sorted(range(len(head.labels)), key=head.labels.__getitem__)
    found = Predictions(found.predicted[:, order], np.argsort(order)[found.truth.astype(np.int64)])
    matrix = confusion(found.predicted.argmax(1).tolist(), found.truth.tolist(), len(order))
    return Measured(CLASS_METRICS, found.counts, "texts", Confusion(sorted(head.labels), matrix))


def head_of(bundle: ModelBundle) -> ClassHeadConfig | ScoreHeadConfig:
    """The settings of a classifier's head."""
    head = bundle.config.head
    assert isinstance(head, ClassHeadConfig | ScoreHeadConfig)
    return head


@dataclass(frozen=True)
class ClassificationValidator:
    """Validates a classifier; see tasks/task.py."""

    head: ClassHeadConfig | ScoreHeadConfig
    special: SpecialIds
    labelled: Labelled
    best_by: str

    def __call__(self, model: nn.Module) -> Validation:
        """See Validator."""
        found = predict(model, self.head, self.special, self.labelled)
        scores = {"loss": found.loss(self.head)} | {name: counts.score for name, counts in found.counts.items()}
        return Validation.by(self.best_by, scores, rises=self.best_by not in LOWER_IS_BETTER)

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Nothing: what is read at once keeps no gradients, and is no larger than a usual batch."""
        return ()
