"""Validation on two texts: the new one that a model is adapted to, and a general one that it should not forget."""

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn

from transduce.base.errors import ConfigError
from transduce.evaluation.metrics import metric_key
from transduce.tasks.task import Validator
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation, ValidationConfig

GENERAL = "general_"
"""Prefix of the names of scores on the general text."""
DEFAULT_WEIGHT = 0.5


@dataclass(frozen=True)
class TwoTextsValidator:
    """Scores of both texts; the best model has the best weighted mean, (1 - weight) new + weight general."""

    new: Validator
    general: Validator
    weight: float
    """The weight of the general text, 0 to 1."""
    best_by: str
    """The name of the score that is weighted."""

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        new, general = self.new(model, processes), self.general(model, processes)
        both = {f"{GENERAL}{name}": score for name, score in general.scores.items()}
        scores = {**new.scores, **both}
        if self.best_by in new.scores and self.best_by in general.scores:  # unless a loss is not finite
            weighted = self._mean(new.scores[self.best_by], general.scores[self.best_by])
            scores[f"weighted_{self.best_by}"] = weighted
        return Validation(scores, self._mean(new.cost, general.cost), new.samples)

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """See Validator."""
        return [*self.new.trials(model), *self.general.trials(model)]

    def _mean(self, new: float, general: float) -> float:
        return (1 - self.weight) * new + self.weight * general


def validate_both(new: Validator, general: Validator | None, config: ValidationConfig) -> Validator:
    """Returns a validator of both texts, or of the new one alone if there is no general one."""
    if general is None:
        return new
    weight = DEFAULT_WEIGHT if config.general_weight is None else config.general_weight
    return TwoTextsValidator(new, general, weight, metric_key(config.best_by))


def check_weight(config: ValidationConfig, has_general: bool) -> None:
    """Raises ConfigError for a weight without a general text."""
    if config.general_weight is not None and not has_general:
        raise ConfigError("validation.general_weight: there is no data.general_validation to weigh; leave it out")
