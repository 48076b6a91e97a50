"""Opens built-in data sets of labelled text, by their names."""

from dataclasses import replace
from typing import TypeVar

from transduce.base.errors import ConfigError
from transduce.corpora.catalogue.dataset_files import find_split
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import DATASETS, Dataset, find_dataset
from transduce.corpora.labelled_text import ExampleCorpus, LabelColumns, LabelledText, labelled_corpus
from transduce.corpora.questions import Question, question_corpus
from transduce.corpora.tagged_sentences import TagColumns, TaggedSentence, tagged_corpus

T = TypeVar("T")
WHAT = {"labels": "labelled texts", "tags": "tagged sentences", "questions": "questions on passages"}
"""The examples of each kind of data set, in words."""


def open_labelled(
    name: str, split: str, columns: LabelColumns, progress: Progress | None = None
) -> ExampleCorpus[LabelledText]:
    """Opens one split of labelled texts; columns that are None are the data set's own."""
    dataset, files = _find(name, split, "labels", progress)
    chosen = LabelColumns(*(getattr(columns, key) or dataset.columns.get(key) for key in ("text", "second", "label")))
    whole = _joined(name, split, [labelled_corpus(file, chosen, any_name=True) for file in files])
    names = dataset.label_names
    return replace(
        whole, read=lambda: (replace(example, label=names.get(example.label, example.label)) for example in whole)
    )


def open_tagged(
    name: str, split: str, columns: TagColumns, progress: Progress | None = None
) -> ExampleCorpus[TaggedSentence]:
    """Opens one split of tagged sentences."""
    _, files = _find(name, split, "tags", progress)
    return _joined(name, split, [tagged_corpus(file, columns) for file in files])


def open_questions(name: str, split: str, progress: Progress | None = None) -> ExampleCorpus[Question]:
    """Opens one split of questions on passages."""
    _, files = _find(name, split, "questions", progress)
    return _joined(name, split, [question_corpus(file) for file in files])


def _joined(name: str, split: str, corpora: list[ExampleCorpus[T]]) -> ExampleCorpus[T]:
    """Returns a split whose name is that of the data set, even if it is one file."""
    return replace(ExampleCorpus.joined(f"{name} {split}", corpora), name=f"{name} {split}")


def _find(name: str, split: str, kind: str, progress: Progress | None) -> tuple[Dataset, tuple[str, ...]]:
    """Returns a data set of a kind, and the files of one of its splits."""
    dataset = find_dataset(name)
    if dataset.kind != kind:
        known = ", ".join(dataset.name for dataset in DATASETS.values() if dataset.kind == kind)
        raise ConfigError(f"{name} has no {WHAT[kind]}; choose one of {known}")
    if split not in dataset.splits:
        raise ConfigError(f"{name} has no split '{split}'; it has {', '.join(dataset.splits)}")
    return dataset, find_split(dataset, split, progress).files
