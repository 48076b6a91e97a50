"""Settings of training."""

from typing import ClassVar, Literal

from transduce.base.config import Settings
from transduce.base.plugins import name_of, names_of
from transduce.base.ranges import (
    Minutes,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
    Share,
    ShareBelowOne,
    ShareWithin,
)
from transduce.models.adapters import AdaptersConfig
from transduce.text.new_words import NewWordsConfig
from transduce.training.precision import Precision

Sharding = Literal["none", "optimizer", "full"]


class TeacherForcing(Settings, frozen=True):
    """The probability with which each token that the decoder reads is the true one, else its own last prediction
    (scheduled sampling, Bengio et al. 2015); below 1, the decoder runs token by token, which is slower."""

    first: Share = 1.0
    """Initial probability, 0 to 1."""
    last: Share = 1.0
    """Probability at the end of the linear change."""
    after: NonNegativeInt = 0
    """Updates before the probability begins to change."""
    updates: PositiveInt | None = None
    """Updates until the change is complete (default: the length of the run)."""

    def _check_together(self) -> None:
        if self.updates is not None and self.updates <= self.after:
            raise ValueError("after must be below updates")

    def rate(self, update: int, updates: int) -> float:
        """Returns the probability at an update, counted from 1, of a run of `updates`."""
        span = (self.updates or updates) - self.after
        passed = min(max((update - self.after) / max(span, 1), 0.0), 1.0)
        return self.first + (self.last - self.first) * passed


class TrainingConfig(Settings, frozen=True):
    """Length and method of training."""

    objects: ClassVar = {"objective": name_of, "observers": names_of}
    retired: ClassVar = {"r_drop": 0.0}

    updates: PositiveInt | None = None
    """Updates of the weights to make."""
    epochs: PositiveInt | None = None
    """Passes over the training data to make, instead of updates."""
    minutes: Minutes | None = None
    """Minutes that the whole run may take on this machine, from reading the data to the final test, instead of updates:
    as many as fit are made, planned anew while it trains. A resumed run has what is left of them."""
    label_smoothing: ShareBelowOne = 0.1
    """Label smoothing: probability mass spread uniformly over the vocabulary."""
    teacher_forcing: TeacherForcing = TeacherForcing()
    """Teacher-forcing probability over time (scheduled sampling)."""
    objective: str | None = None
    """Name of an objective of your own or of an installed package, in place of the task's own."""
    clip_norm: NonNegativeFloat = 1.0
    """Maximum global norm of the gradient of the mean loss per token; 0 for no clipping."""
    precision: Precision = "auto"
    """Precision of forward and backward, on a GPU also of validation: float32, bfloat16 (with float32 master weights),
    or auto: bfloat16 where it is native."""
    accumulate: PositiveInt | Literal["auto"] = 1
    """Number of parts a batch is split into, whose gradients are accumulated, to save memory; the batch size stays the
    same. auto: the fewest of 1, 2, 4, 8 and so on that fit into memory, tried before the first update."""
    compile: bool = False
    """Let PyTorch compile the layers for training, which takes minutes at first: for GPUs; slower on a CPU."""
    activation_checkpointing: bool = False
    """Keep only the inputs of each layer until the backward pass, which computes the rest again (Chen et al. 2016):
    less memory, for a third more work."""
    sharding: Sharding = "none"
    """The memory that several processes share out among themselves, instead of each having all: nothing (none), the
    optimiser's state, the float32 weights and their gradients (optimizer), or also the weights of layers that are not
    at work (full)."""
    moving_average: ShareWithin | None = None
    """Decay of an exponential moving average of the weights, such as 0.999; the average is then validated and saved."""
    report_every: PositiveInt = 50
    """Updates between lines of the log."""
    observers: tuple[str, ...] = ()
    """Names of further observers of every report and validation: mlflow, wandb, trackio or aim, or one of your own or
    of an installed package."""
    start_from: str | None = None
    """A bundle whose weights and tokenizers training starts from, to adapt it to other data."""
    adapters: AdaptersConfig | None = None
    """Low-rank adapters, which alone are trained; with `start_from`."""
    new_words: NewWordsConfig | None = None
    """Words to add to the vocabulary; with `start_from`."""

    def _check_together(self) -> None:
        for name in ("adapters", "new_words"):
            if getattr(self, name) is not None and self.start_from is None:
                raise ValueError(f"{name}: there is no model to adapt; name it in start_from, or leave {name} out")
        if [self.updates, self.epochs, self.minutes].count(None) != 2:
            raise ValueError("give one of updates, epochs and minutes")
        if self.objective is not None and self.teacher_forcing != TeacherForcing():
            raise ValueError("objective stands in place of the task's own: leave teacher_forcing out")
