"""Opening the examples that a text encoder is trained, validated and tested on."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from transduce.base.errors import DataError, InputError
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.tasks.encoder_settings import ExamplesConfig
from transduce.tasks.task import NO_RUN, Input, corpus_input

DEFAULT_SHARE = 0.1
T = TypeVar("T")


@dataclass(frozen=True)
class Examples(Generic[T]):
    """The training, validation and test examples of a run."""

    train: ExampleCorpus[T]
    validation: ExampleCorpus[T]
    test: ExampleCorpus[T] | None

    @property
    def inputs(self) -> list[Input]:
        """See Experiment."""
        named = [("data.validation", self.validation), ("data.test", self.test), ("data.train", self.train)]
        return [corpus_input(setting, corpus) for setting, corpus in named if corpus is not None]


@dataclass(frozen=True)
class Openers(Generic[T]):
    """Functions that open the examples of a task."""

    file: Callable[[Path], ExampleCorpus[T]]
    """Opens the examples of a file."""
    part: Callable[[str, str], ExampleCorpus[T]]
    """Opens a split of a built-in data set, by their names."""
    key: Callable[[T], str]
    """Returns an example's text, the first of a pair; examples with the same text are held out together."""


def open_examples(config: ExamplesConfig, folder: Path, openers: Openers[T]) -> Examples[T]:
    """Opens the examples that the settings name; relative paths start from the folder."""
    if config.dataset is not None:
        dataset = find_dataset(config.dataset)
        train = openers.part(dataset.name, "train")
        test = openers.part(dataset.name, dataset.test) if dataset.test is not None else None
        if config.validation_share is None:
            return Examples(train, openers.part(dataset.name, dataset.validation), test)
        return Examples(*train.drawn(config.validation_share, openers.key), test)

    def open_files(files: str | list[str]) -> ExampleCorpus[T]:
        names = [folder / file for file in ([files] if isinstance(files, str) else files)]
        return ExampleCorpus.joined(", ".join(map(str, names)), [openers.file(name) for name in names])

    assert config.train is not None
    train = open_files(config.train)
    test = open_files(config.test) if config.test is not None else None
    if config.validation is not None:
        return Examples(train, open_files(config.validation), test)
    return Examples(*train.drawn(config.validation_share or DEFAULT_SHARE, openers.key), test)


def open_test(
    config: ExamplesConfig | None, folder: Path, openers: Openers[T], file: str | None, dataset: str | None, split: str
) -> ExampleCorpus[T]:
    """Opens a file, or a split of a data set, else the test data of a run with these settings; see Task."""
    if file is not None:
        return openers.file(Path(file))
    if dataset is not None:
        return openers.part(dataset, split)
    if config is None:
        raise InputError(NO_RUN)
    examples = open_examples(config, folder, openers)
    return examples.test or examples.validation


def all_of(corpus: ExampleCorpus[T]) -> list[T]:
    """Returns all examples of a corpus; DataError if there are none."""
    examples = list(corpus)
    if not examples:
        raise DataError(f"{corpus.name}: it holds no examples")
    return examples
