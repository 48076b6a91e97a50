"""Settings shared by the runs of all tasks."""

from transduce.base.config import Settings
from transduce.base.ranges import Seed
from transduce.bundle.model_card import IDENTIFIER
from transduce.training.checkpoint import CheckpointConfig
from transduce.training.optimizer import OptimizerConfig
from transduce.training.training_settings import TrainingConfig
from transduce.training.validation import ValidationConfig


class ExperimentConfig(Settings, frozen=True, kw_only=True):
    """All settings of a run; each task adds its own."""

    training: TrainingConfig
    """Length and method of training."""
    task: str = "translation"
    """translation, language (a language model of running text), classification (of texts or pairs of texts),
    tagging (of words), answering (of questions from passages), or encoder (a text encoder, pre-trained)."""
    license: str | None = None
    """Licence of the model, for its card, as the Hugging Face hub spells it, such as cc-by-4.0 (default: not
    stated)."""
    seed: Seed = 1
    """Random seed of initial weights, data order and dropout."""
    optimizer: OptimizerConfig = OptimizerConfig()
    """Optimiser and learning-rate schedule."""
    checkpoint: CheckpointConfig = CheckpointConfig()
    """The checkpoints to keep, and how often they are written."""
    validation: ValidationConfig = ValidationConfig()
    """When and how the model is validated."""

    def _check_together(self) -> None:
        if self.license is not None and not IDENTIFIER.fullmatch(self.license):
            raise ValueError(f"license: expected an identifier such as cc-by-4.0, mit or other, not {self.license!r}")
