"""When a run is validated, and the result."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from torch import nn

from transduce.base.config import Settings
from transduce.base.plugins import name_of, names_of
from transduce.base.ranges import NonNegativeInt, PositiveInt, Share
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class Sample:
    """A validation sentence and the model's output."""

    source: str
    reference: str
    output: str


@dataclass(frozen=True)
class Validation:
    """The result of a validation."""

    scores: Mapping[str, float]
    """Scores by name: `loss`, in nats per real target token, and the requested metrics."""
    cost: float
    """The cost, which is lowest for the best model."""
    samples: Sequence[Sample] = ()
    """Outputs for the same few sentences each time."""

    @staticmethod
    def by(name: str, scores: Mapping[str, float], rises: bool, samples: Sequence[Sample] = ()) -> "Validation":
        """Returns a validation whose cost is the score of that name; `rises`: the highest score is the best."""
        return Validation(scores, -scores[name] if rises else scores[name], samples)


Validate = Callable[[nn.Module, Processes], Validation]
"""Validates a model, of which all processes have a copy; the result of the first process counts."""


class ValidationConfig(Settings, frozen=True):
    """When and how the model is validated; early stopping."""

    objects: ClassVar = {"metrics": names_of, "best_by": name_of}

    every_updates: PositiveInt | None = None
    """Updates between validations (default: 500, or an epoch in a run measured in epochs)."""
    every_epochs: PositiveInt | None = None
    """Passes over the training data between validations."""
    metrics: tuple[str, ...] = ()
    """Metrics to report beside the loss, by name (bleu, chrf, ter, exact_match, comet, or one of an installed package):
    the validation set is translated greedily for them. For generated data sets exact_match is always reported."""
    best_by: str = "loss"
    """The score that selects the best model: loss, or a metric, which is then always reported."""
    general_weight: Share | None = None
    """With data.general_validation: weight w of its score for selecting the best model, and for patience, in (1 - w)
    new + w general (default: 0.5)."""
    samples: NonNegativeInt = 3
    """Validation sentences whose translations each validation writes to the log."""
    patience: PositiveInt | None = None
    """Early stopping: validations without improvement before the run ends; no early stopping by default."""

    def is_due(self, updates: int, epochs: int, ends_epoch: bool, by_epochs: bool) -> bool:
        """Returns True if validation is due after these updates and whole epochs; `by_epochs`: the run is measured in
        epochs."""
        if self.every_epochs is not None:
            return ends_epoch and epochs % self.every_epochs == 0
        if self.every_updates is None and by_epochs:
            return ends_epoch
        return updates % (self.every_updates or 500) == 0

    def _check_together(self) -> None:
        if self.every_updates is not None and self.every_epochs is not None:
            raise ValueError("give either every_updates or every_epochs")
