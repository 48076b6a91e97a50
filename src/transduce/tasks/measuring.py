"""What `evaluate` and `compare` ask of the tasks of text encoders."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from transduce.bundle import ModelBundle
from transduce.bundle_config import BundleConfig
from transduce.corpora.examples import ExampleCorpus
from transduce.evaluation.measured import LabelMetric, Measured, find_label_metric
from transduce.evaluation.metrics import SentenceCounts
from transduce.tasks.task import Measure


class MeasuringTask(Protocol):
    """A task whose models tell something of texts that can be right or wrong."""

    def test_data(
        self, model: BundleConfig, config: Any, folder: Path, file: str | None, dataset: str | None, split: str
    ) -> ExampleCorpus[Any]:
        """A file for a model, or a split of a built-in data set, else the test data of a run with these settings.

        There are none (None) for a model that stands in no run.

        Raises InputError where none of these is given, ConfigError or DataError for what cannot be read.
        """
        ...

    def measured(self, bundle: ModelBundle, data: Any) -> Measured:
        """What is counted of a bundle's model on such data."""
        ...


def make_measure(
    metric: str | None,
    metrics: Mapping[str, LabelMetric],
    corpus: ExampleCorpus[Any],
    unit: str,
    measured: Callable[[ModelBundle, ExampleCorpus[Any]], Measured],
) -> Measure:
    """How runs are compared by a metric, the first where none is named; raises InputError for one that there is not."""
    name = metric or next(iter(metrics))
    found = find_label_metric(name, metrics)

    def count(run: Path, device: torch.device, lowercase: bool) -> SentenceCounts:
        return measured(ModelBundle.load(run, device), corpus).counts[name]

    size = sum(1 for _ in corpus)
    return Measure(name, found.title, found.digits, corpus.name, corpus.content(), size, unit, False, count)
