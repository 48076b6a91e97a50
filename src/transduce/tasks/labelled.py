"""One experiment and one validator for all tasks on labelled texts.

A `Labelling` holds the particulars of a task: its examples, how they become numbers, the model's head, its loss and
its outputs. There are three: classes, tags and answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import PROBE_CHARACTERS, PROBES
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData
from transduce.evaluation.metric import PLAIN, Metric, Outcome, Scoring
from transduce.evaluation.metrics import METRICS, TITLES, Measured, MetricName, count_all, find_metric, metric_key
from transduce.evaluation.score_table import Scores
from transduce.models.heads import HeadConfig, reads_pooler
from transduce.objectives.objective import Objective
from transduce.tasks.encoder_data import Examples, Openers, all_of, open_examples, open_test
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import EncoderExperimentConfig, check_encoder
from transduce.tasks.task import Input, Prepared, Rate, Tell, TestData, Wanted, tokenizer_inputs
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation, ValidationConfig

Example = TypeVar("Example")
Encoded = TypeVar("Encoded")
Predicted = TypeVar("Predicted")


class Labelling(Protocol[Example, Encoded, Predicted]):
    """The parts that are particular to one task on labelled texts: examples, head, loss and outputs.

    `Example` is a labelled text, `Encoded` many of them as numbers, and `Predicted` a model's outputs for these.
    """

    config: type[Any]
    """The class of the task's settings."""
    unit: str
    """The name of an example, plural, such as "sentences"."""
    learned: str
    """The unit of mean losses, plural, such as "words"."""

    def measured(self, settings: Any) -> Measured:
        """Returns the kind of output, which determines the metrics; `settings` are the run's, or those of a model's
        head."""

    def openers(self, data: Any, progress: Progress | None = None) -> Openers[Example]:
        """Returns functions that open examples; `data` are the settings of the data, None for a model outside a run."""

    def open_file(self, path: Path, head: Any) -> ExampleCorpus[Example]:
        """Opens the examples of a file without settings, as a model with this head reads them."""

    def texts(self, example: Example) -> tuple[str, str]:
        """Returns an example's text and the second text read with it, "" if there is none."""

    def make_head(self, config: Any, examples: Sequence[Example], name: str) -> HeadConfig:
        """Returns the head for training examples' labels; raises DataError if nothing can be learned from them."""

    def check(self, examples: Sequence[Example], head: HeadConfig) -> None:
        """Raises DataError for an example whose label a head cannot learn."""

    def encode(self, examples: Sequence[Example], head: HeadConfig, tokenizer: Tokenizer, longest: int) -> Encoded:
        """Encodes examples as token ids, at most `longest` tokens a row, special ones included."""

    def describe(self, encoded: Encoded) -> str:
        """Describes the number of examples, such as "10 sentences, 120 words"."""

    def describe_head(self, head: HeadConfig) -> str:
        """Describes the possible labels, such as "tags: O, B-name"; "" if there is nothing to list."""

    def lengths(self, encoded: Encoded) -> NDArray[np.int64]:
        """Returns the tokens of each row, special ones included."""

    def batch(self, encoded: Encoded, head: HeadConfig, special: SpecialIds, rows: NDArray[np.int64]) -> Any:
        """Makes a batch of some rows for the objective."""

    def objective(self, config: Any, head: HeadConfig) -> Objective:
        """Returns the training objective."""

    def tell(self, model: nn.Module, encoded: Encoded, head: HeadConfig, special: SpecialIds) -> Predicted:
        """Returns the outputs of a model in evaluation mode for examples."""

    def outcome(self, encoded: Encoded, predicted: Predicted, head: HeadConfig) -> Outcome:
        """Returns the prediction and the reference for each example."""

    def loss(self, encoded: Encoded, predicted: Predicted, head: HeadConfig) -> float:
        """Returns the mean loss of the outputs, without label smoothing."""


@dataclass(frozen=True)
class LabelledExperiment(Generic[Example, Encoded, Predicted]):
    """The labelled texts of a run; see Experiment."""

    labelling: Labelling[Example, Encoded, Predicted]
    config: Any
    """The run's settings, of the type that the labelling names."""
    folder: Path
    examples_of: Examples[Example]

    @property
    def name(self) -> str:
        """See Experiment."""
        return self.config.data.dataset or self.examples_of.train.name

    @property
    def inputs(self) -> list[Input]:
        """See Experiment."""
        return [*tokenizer_inputs(self.config.tokenizer, self.folder), *self.examples_of.inputs]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """The beginnings of a few training texts."""
        few = map(self.labelling.texts, islice(self.examples_of.train, PROBES))
        return [(first[:PROBE_CHARACTERS], second[:PROBE_CHARACTERS]) for first, second in few]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        labelling, config, corpora = self.labelling, self.config, self.examples_of
        train, validation = (all_of(corpus) for corpus in (corpora.train, corpora.validation))
        test = [] if corpora.test is None else all_of(corpora.test)
        origin = find_encoder(config, self.folder, checkpoint, processes, lambda: self._make_tokenizers(tell), tell)
        head = labelling.make_head(config, train, corpora.train.name)
        for examples in (train, validation, test):  # so that errors in a test set come before the training
            labelling.check(examples, head)
        origin = origin if reads_pooler(head) else origin.without_pooler()
        tokenizer, longest = origin.tokenizers.target, config.batching.max_tokens
        learned, held_out = (labelling.encode(examples, head, tokenizer, longest) for examples in (train, validation))
        bundle = origin.bundle(config.task, config.data.language, head, longest)
        for kind, corpus, encoded in (
            ("training", corpora.train, learned),
            ("validation", corpora.validation, held_out),
        ):
            tell(f"{kind} data: {labelling.describe(encoded)} from {corpus.name}")
        if described := labelling.describe_head(head):
            tell(described)
        special = bundle.special
        data = ExampleData(
            labelling.lengths(learned),
            lambda rows: labelling.batch(learned, head, special, rows),
            config.batching,
            config.seed,
        )
        validator = LabelledValidator(labelling, head, special, held_out, config.validation)
        size = f"{len(train):,} {labelling.unit}"
        return Prepared(bundle, data.planned(), labelling.objective(config, head), validator, size, labelling.learned)

    def validator(self, bundle: ModelBundle) -> "LabelledValidator[Example, Encoded, Predicted]":
        """See Experiment."""
        head, examples = head_of(bundle), list(self.examples_of.validation)
        self.labelling.check(examples, head)
        encoded = self.labelling.encode(examples, head, bundle.tokenizers.target, bundle.config.longest_source)
        return LabelledValidator(self.labelling, head, bundle.special, encoded, self.config.validation)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Returns the scores on the test data, the first with its interval."""
        if self.examples_of.test is None:
            return None
        return LabelledTask(self.labelling).score(bundle, self.tested).history()

    @property
    def tested(self) -> TestData:
        """See Experiment."""
        labelling = self.labelling
        corpus = self.examples_of.test or self.examples_of.validation
        return TestData(corpus, labelling.unit, labelling.measured(self.config))

    def _make_tokenizers(self, tell: Tell) -> Tokenizers:
        texts = (text for example in self.examples_of.train for text in self.labelling.texts(example) if text)
        return train_tokenizers(self.config.tokenizer, texts, (), self.folder, tell=tell)


@dataclass(frozen=True)
class LabelledValidator(Generic[Example, Encoded, Predicted]):
    """Validates a model by its loss and all metrics of its outputs; see tasks/task.py."""

    labelling: Labelling[Example, Encoded, Predicted]
    head: HeadConfig
    special: SpecialIds
    encoded: Encoded
    config: ValidationConfig

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator; the first process validates, since a text's outputs are few operations."""
        if not processes.is_first:
            return Validation({}, 0.0)
        predicted = self.labelling.tell(model, self.encoded, self.head, self.special)
        outcome = self.labelling.outcome(self.encoded, predicted, self.head)
        metrics = metrics_of(self.config, self.labelling.measured(self.head))
        scores = {"loss": self.labelling.loss(self.encoded, predicted, self.head)}
        scores |= {name: counts.score for name, counts in count_all(metrics, outcome).items()}
        best_by = metric_key(self.config.best_by)
        return Validation.by(best_by, scores, rises=best_by != "loss" and metrics[best_by].higher_is_better)

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Returns nothing: validation keeps no gradients, and its batches are no larger than usual."""
        return ()


@dataclass(frozen=True)
class LabelledTask(Generic[Example, Encoded, Predicted]):
    """A task defined by its labelling; see Task."""

    labelling: Labelling[Example, Encoded, Predicted]

    @property
    def config(self) -> type[Any]:
        """See Task."""
        return self.labelling.config

    def check(self, config: EncoderExperimentConfig) -> None:
        """See `check_encoder`; raises ConfigError for an unknown metric, too."""
        check_encoder(config)
        metrics_of(config.validation, self.labelling.measured(config))

    def open(
        self, config: Any, folder: Path, progress: Progress | None = None
    ) -> LabelledExperiment[Example, Encoded, Predicted]:
        """See Task."""
        examples = open_examples(config.data, folder, self.labelling.openers(config.data, progress))
        return LabelledExperiment(self.labelling, config, folder, examples)

    def describe_test(self, test: dict[str, Any]) -> str:
        """Returns all scores, the first with its interval."""
        unit = self.labelling.unit
        scores = [f"{TITLES[name]} {value:.4f}" for name, value in test.items() if name not in ("interval", unit)]
        low, high = test["interval"]
        return f"test {scores[0]} [{low:.4f}, {high:.4f}], {', '.join(scores[1:])} ({test[unit]:,} {unit})"

    def test_data(self, wanted: Wanted) -> TestData:
        """See Task."""
        data, head = wanted.config.data if wanted.config else None, wanted.model.head
        openers = self.labelling.openers(data)
        if wanted.file is not None and (data is None or data.dataset is not None):  # no settings name a file's columns
            openers = replace(openers, file=lambda path: self.labelling.open_file(path, head))
        examples = open_test(data, wanted.folder, openers, wanted.file, wanted.dataset, wanted.split)
        return TestData(examples, self.labelling.unit, self.labelling.measured(head))

    def score(
        self, bundle: ModelBundle, data: TestData, metrics: Sequence[MetricName] = (), scoring: Scoring = PLAIN
    ) -> Scores:
        """See Task; raises DataError for a label that the model does not know."""
        labelling, head = self.labelling, head_of(bundle)
        examples = all_of(cast(ExampleCorpus[Example], data.texts))
        encoded = labelling.encode(examples, head, bundle.tokenizers.target, bundle.config.longest_source)
        predicted = labelling.tell(bundle.model, encoded, head, bundle.special)
        outcome = labelling.outcome(encoded, predicted, head)
        return Scores.of(outcome, labelling.measured(head), metrics, labelling.unit, scoring)


def head_of(bundle: ModelBundle) -> HeadConfig:
    """Returns the settings of a model's head."""
    assert bundle.config.head is not None
    return bundle.config.head


def metrics_of(config: ValidationConfig, measured: Measured) -> dict[str, Metric]:
    """Returns all metrics of this kind of output, and the user's own ones that the settings name.

    Raises ConfigError for an unknown metric, or one that is always reported.
    """
    known = METRICS[measured]
    if named := [name for name in config.metrics if name in known]:
        raise ConfigError(f"validation.metrics: all of {', '.join(known)} are always reported; leave {named[0]} out")
    metrics = dict(known)
    for setting, name in (*(("metrics", name) for name in config.metrics), ("best_by", config.best_by)):
        try:
            if name not in ("loss", *known):
                metrics[metric_key(name)] = find_metric(name, measured, ["loss"] if setting == "best_by" else [])
        except InputError as error:
            raise ConfigError(f"validation.{setting} = '{name}': {error}") from None
    return metrics
