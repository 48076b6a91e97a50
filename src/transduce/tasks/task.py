"""The interface of a task, for runs and commands; all that only one task knows is in its own folder."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import nn

from transduce.base.config import Settings
from transduce.base.files import sha256
from transduce.bundle.bundle_config import BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.catalogue.download import Progress
from transduce.data.planned import PlannedData
from transduce.evaluation.metric import PLAIN, Scoring
from transduce.evaluation.metrics import Measured, MetricName
from transduce.evaluation.score_table import Scores
from transduce.objectives.objective import Objective
from transduce.tasks.experiment_settings import ExperimentConfig
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

Tell = Callable[[str], None]
"""Receives a line to show to the user."""

Rate = Callable[[], float]
"""Returns the current teacher-forcing rate, 0 to 1; see TeacherForcing."""

NO_RUN = "the model is not in a run's folder, so it has no test data; name a file or a data set"
"""The error for testing a model outside a run without naming test data."""

Config = TypeVar("Config", bound=ExperimentConfig)


class Validator(Protocol):
    """Validates a run's model."""

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """Returns the model's scores on the validation data, which processes that each have the model share out; what
        the first of them returns counts."""

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Returns the validation steps that need most memory."""


class Input(Settings, frozen=True):
    """A text or folder that a run trains, validates or tests on, or starts from."""

    setting: str
    """The setting that names it."""
    name: str
    """The files, the data set's split, or the folder."""
    content: str
    """A hash of the content."""


class Corpus(Protocol):
    """Texts that a run reads, or that models are tested on."""

    @property
    def name(self) -> str:
        """The files, or the data set's split."""

    def content(self) -> str:
        """Returns a hash that changes when the texts do."""

    def __iter__(self) -> Iterator[Any]: ...


def corpus_input(setting: str, corpus: Corpus) -> Input:
    """Returns a corpus as an input."""
    return Input(setting=setting, name=corpus.name, content=corpus.content())


def tokenizer_inputs(config: TokenizerConfig, folder: Path) -> Iterator[Input]:
    """Yields the tokenizer files that settings name, except missing ones, which are reported when they are opened."""
    for name, side in (("tokenizer", config), ("tokenizer.source", config.source), ("tokenizer.target", config.target)):
        if side is not None and side.file is not None and (path := folder / side.file).is_file():
            yield Input(setting=f"{name}.file", name=str(path), content=sha256(path))


@dataclass(frozen=True)
class Prepared:
    """A model before its first update, its data as numbers, and its objective."""

    bundle: ModelBundle
    data: PlannedData[Any]
    objective: Objective
    validator: Validator
    size: str = ""
    """The size of the training data, such as "29,000 sentence pairs"."""
    unit: str = "target tokens"
    """The unit of the objective's mean losses, for people."""
    is_adapted: bool = False
    """True if the model already does the task, so that it is validated before the first update."""
    fixed_rows: Mapping[str, int] = field(default_factory=dict)
    """The number of first rows of a parameter that keep their values, by its name; see models/larger_vocabulary.py."""


@dataclass(frozen=True)
class TestData:
    """Texts that models are scored on, and the kind of outputs that are scored."""

    texts: Corpus
    unit: str
    """The name of the texts, plural, such as "sentences"."""
    measured: Measured
    """The kind of a model's outputs, which determines the metrics."""
    folds_case: bool = False
    """True if the run's model writes only one case, so that its outputs must be scored case-insensitively."""

    @property
    def size(self) -> int:
        """The number of texts."""
        return sum(1 for _ in self.texts)


@dataclass(frozen=True)
class Wanted:
    """The test data to score a model on: a file, a split of a built-in data set, or the data of its run."""

    model: BundleConfig
    config: Any
    """The settings of the model's run; None for a model outside a run, which has no data."""
    folder: Path
    """The folder that relative paths in the settings start from."""
    file: str | None = None
    dataset: str | None = None
    split: str = "test"


class Experiment(Protocol):
    """A run's texts, opened but not yet read."""

    @property
    def name(self) -> str:
        """The data set, or the training files, for people."""

    @property
    def inputs(self) -> list[Input]:
        """All texts and tokenizer files of a run, validation data first, training data last."""

    @property
    def examples(self) -> list[tuple[str, str]]:
        """A few short pairs of source and target, with which a bundle is probed."""

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """Returns tokenizers, a model and data as numbers, new or from a checkpoint.

        Raises ConfigError or DataError for what does not fit together.
        """

    def validator(self, bundle: ModelBundle) -> Validator:
        """Returns the validator of a finished model."""

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Returns a finished model's scores on the test data, computed by the processes of its run; None without test
        data."""

    @property
    def tested(self) -> TestData:
        """The test data, else the validation data, on which trainings are compared.

        Raises InputError for a task whose trainings are not compared.
        """


class Task(Protocol, Generic[Config]):
    """A task that models are trained for."""

    @property
    def config(self) -> type[Config]:
        """The class of the task's settings."""

    def check(self, config: Config) -> None:
        """Raises ConfigError for invalid settings, before any data is read."""

    def open(self, config: Config, folder: Path, progress: Progress | None = None) -> Experiment:
        """Opens the texts that the settings name; relative paths start from the folder."""

    def describe_test(self, test: dict[str, Any]) -> str:
        """Describes the result of `Experiment.test` on one line."""


class ScoredTask(Task[Config], Protocol):
    """A task whose models are scored: all but the pre-training of encoders."""

    def score(
        self, bundle: ModelBundle, data: TestData, metrics: Sequence[MetricName] = (), scoring: Scoring = PLAIN
    ) -> Scores:
        """Scores a model on test data, by the metrics named, else by the task's usual ones."""


class TestedTask(ScoredTask[Config], Protocol):
    """A task whose models are tested on a single text: all but translation, whose tests have sources and references;
    see cli/test_set.py."""

    def test_data(self, wanted: Wanted) -> TestData:
        """Opens test data; for a run without any, its validation data.

        Raises InputError if none are named and there is no run, ConfigError or DataError for unreadable data.
        """
