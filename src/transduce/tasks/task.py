"""What a run and the verbs ask of a task; all that only one task knows stands in its own folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import nn

from transduce.bundle import ModelBundle
from transduce.corpora.catalogue.download import Progress
from transduce.evaluation.metrics import SentenceCounts
from transduce.objectives.objective import Objective
from transduce.tasks.inputs import Input
from transduce.tasks.settings import ExperimentConfig
from transduce.training.batches import TrainingBatches
from transduce.training.distributed import Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

Tell = Callable[[str], None]
"""Is given a line for whoever waits."""

Rate = Callable[[], float]
"""How often the decoder reads the true tokens, 0 to 1, as training stands: see TeacherForcing."""

Config = TypeVar("Config", bound=ExperimentConfig)


class Validator(Protocol):
    """Validates a run's model."""

    def __call__(self, model: nn.Module) -> Validation:
        """The model's scores on the validation data."""
        ...

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """What needs most memory."""
        ...


@dataclass(frozen=True)
class Prepared:
    """A model before its first update, its data as numbers, and what it learns of them."""

    bundle: ModelBundle
    data: TrainingBatches
    objective: Objective
    validator: Validator
    size: str = ""
    """How much the data are that it learns from, such as "29,000 sentence pairs"."""
    unit: str = "target tokens"
    """What the objective's losses are means over, for people."""
    is_adapted: bool = False
    """Whether the model already does the task, so that its scores before the first update are worth knowing."""
    fixed_rows: Mapping[str, int] = field(default_factory=dict)
    """How many of the first rows of a parameter keep their values, by its name; see models/larger_vocabulary.py."""


@dataclass(frozen=True)
class Measure:
    """A metric on a run's test set, by which trainings are compared."""

    name: str
    """The metric's."""
    title: str
    digits: int
    """Decimals shown."""
    test_set: str
    """The test data, else the validation data."""
    content: str
    """A hash of these."""
    size: int
    """How many lines or pairs these have."""
    unit: str
    """What is counted so: "sentences" or "lines"."""
    folds_case: bool
    """Whether the run's model writes one case alone, so that its outputs must be scored case-insensitively."""
    count: Callable[[Path, torch.device, bool], SentenceCounts]
    """What the metric counts of a finished run's model, computed on a device, and whether case-insensitively."""


class Experiment(Protocol):
    """A run's texts, opened but not yet read."""

    @property
    def name(self) -> str:
        """The data set, or the training files, for people."""
        ...

    @property
    def inputs(self) -> list[Input]:
        """All texts and tokenizer files that a run learns from, validation data first, training data last."""
        ...

    @property
    def examples(self) -> list[tuple[str, str]]:
        """A few short texts that the model is to score, as sources and targets, by which a bundle is probed."""
        ...

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """Tokenizers, a model, and data as numbers, anew or as at a checkpoint.

        Raises ConfigError or DataError for what does not fit together.
        """
        ...

    def validator(self, bundle: ModelBundle) -> Validator:
        """What validates a finished model."""
        ...

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Scores of a finished model, which these processes trained, on the test data, if there are any."""
        ...

    def measure(self, metric: str | None) -> Measure:
        """How this run is compared with others, by the task's usual metric where none is named.

        Raises InputError for a metric that there is not.
        """
        ...


class Task(Protocol, Generic[Config]):
    """Something that models are trained for."""

    @property
    def config(self) -> type[Config]:
        """The type of its settings."""
        ...

    def check(self, config: Config) -> None:
        """Raise ConfigError for settings that cannot be followed, before anything is read."""
        ...

    def open(self, config: Config, folder: Path, progress: Progress | None = None) -> Experiment:
        """The texts that the settings name; relative paths start from the folder."""
        ...

    def describe_test(self, test: dict[str, Any]) -> str:
        """What `Experiment.test` has found, on one line."""
        ...
