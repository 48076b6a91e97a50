"""What a run and the verbs ask of a task; all that only one task knows stands in its own folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from transduce.bundle import ModelBundle
from transduce.bundle_config import BundleConfig
from transduce.corpora.catalogue.download import Progress
from transduce.data.planned import PlannedData
from transduce.evaluation.metric import PLAIN, Scoring
from transduce.evaluation.metrics import Measured, MetricName
from transduce.evaluation.scores import Scores
from transduce.objectives.objective import Objective
from transduce.tasks.inputs import Input
from transduce.tasks.settings import ExperimentConfig
from transduce.training.distributed import Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

Tell = Callable[[str], None]
"""Is given a line for whoever waits."""

Rate = Callable[[], float]
"""How often the decoder reads the true tokens, 0 to 1, as training stands: see TeacherForcing."""

NO_RUN = "the model is not in a run's folder, so it has no test data; name a file or a data set"
"""Why a model outside a run cannot be tested as it is."""

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
    data: PlannedData[Any]
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


class Corpus(Protocol):
    """Texts that models are tested on."""

    @property
    def name(self) -> str:
        """The files, or the data set's split."""
        ...

    def content(self) -> str:
        """A hash that changes when the texts do."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


@dataclass(frozen=True)
class TestData:
    """Texts that models are scored on, and what is scored."""

    texts: Corpus
    unit: str
    """What the texts are, such as "sentences"."""
    measured: Measured
    """What a model makes of them, by which metrics are found."""
    folds_case: bool = False
    """Whether the run's model writes one case alone, so that its outputs must be scored case-insensitively."""

    @property
    def size(self) -> int:
        """The number of texts."""
        return sum(1 for _ in self.texts)


@dataclass(frozen=True)
class Wanted:
    """Which test data a model is to be scored on: a file, a split of a built-in data set, or those of its run."""

    model: BundleConfig
    config: Any
    """The settings of the model's run; None for a model outside a run, which has no data of its own."""
    folder: Path
    """The folder that relative paths of the settings start from."""
    file: str | None = None
    dataset: str | None = None
    split: str = "test"


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

    @property
    def tested(self) -> TestData:
        """The test data, else the validation data, on which trainings are compared.

        Raises InputError for a task whose trainings are not compared.
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

    def test_data(self, wanted: Wanted) -> TestData:
        """Open test data, of a run without any the validation data.

        Raises InputError where none are named and there is no run, ConfigError or DataError for what cannot be read.
        """
        ...

    def score(
        self, bundle: ModelBundle, data: TestData, metrics: Sequence[MetricName] = (), scoring: Scoring = PLAIN
    ) -> Scores:
        """Score a model on test data, by the metrics named, else by the task's usual ones."""
        ...
