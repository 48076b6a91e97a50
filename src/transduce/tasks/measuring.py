"""What `evaluate` and `compare` ask of the tasks of text encoders."""

from pathlib import Path
from typing import Any, Protocol

from transduce.bundle import ModelBundle
from transduce.corpora.examples import ExampleCorpus
from transduce.evaluation.measured import Measured


class MeasuringTask(Protocol):
    """A task whose models tell something of texts that can be right or wrong."""

    def test_data(
        self, config: Any, folder: Path, file: str | None, dataset: str | None, split: str
    ) -> ExampleCorpus[Any]:
        """A file, or a split of a built-in data set, else the test data of the run with these settings (None for none).

        Raises InputError where none of these is given, ConfigError or DataError for what cannot be read.
        """
        ...

    def measured(self, bundle: ModelBundle, data: Any) -> Measured:
        """What is counted of a bundle's model on such data."""
        ...
