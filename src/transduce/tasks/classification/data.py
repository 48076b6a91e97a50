"""The labelled texts that a classifier learns from, as texts and as numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.example_sets import open_labelled
from transduce.corpora.examples import ExampleCorpus, LabelColumns, LabelledText, labelled_corpus
from transduce.data.examples import EncodedTexts, encode_texts
from transduce.errors import DataError, InputError
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig
from transduce.tasks.classification.settings import DEFAULT_SHARE, LabelledConfig
from transduce.text.tokenizer import Tokenizer

Corpus = ExampleCorpus[LabelledText]
MAX_CLASSES = 1000


@dataclass(frozen=True)
class LabelledTexts:
    """What a run trains on, validates on, and is tested on at its end."""

    train: Corpus
    validation: Corpus
    test: Corpus | None


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels as numbers."""

    texts: EncodedTexts
    labels: NDArray[np.int64] | NDArray[np.float64]
    """Numbers of classes, or scores."""


def open_texts(config: LabelledConfig, folder: Path, progress: Progress | None = None) -> LabelledTexts:
    """The texts that the settings name; relative paths start from the folder."""
    columns = LabelColumns(config.text, config.second, config.label)
    if config.dataset is not None:
        dataset = find_dataset(config.dataset)

        def open_part(part: str) -> Corpus:
            return open_labelled(dataset.name, part, columns, progress)

        train = open_part("train")
        test = open_part(dataset.test) if dataset.test is not None else None
        if config.validation_share is None:
            return LabelledTexts(train, open_part(dataset.validation), test)
        return LabelledTexts(*train.drawn(config.validation_share), test)

    def open_files(files: str | list[str]) -> Corpus:
        names = [folder / file for file in ([files] if isinstance(files, str) else files)]
        return ExampleCorpus.joined(", ".join(map(str, names)), [labelled_corpus(name, columns) for name in names])

    assert config.train is not None
    train = open_files(config.train)
    test = open_files(config.test) if config.test is not None else None
    if config.validation is not None:
        return LabelledTexts(train, open_files(config.validation), test)
    return LabelledTexts(*train.drawn(config.validation_share or DEFAULT_SHARE), test)


def open_test(config: LabelledConfig | None, folder: Path, file: str | None, dataset: str | None, split: str) -> Corpus:
    """A file or a split of a data set, with the columns of a run's settings if there are some, else its test data.

    Raises InputError where nothing is named.
    """
    columns = LabelColumns(config.text, config.second, config.label) if config else LabelColumns()
    if file is not None:
        return labelled_corpus(file, columns)
    if dataset is not None:
        own = columns if config and config.dataset == dataset else LabelColumns()
        return open_labelled(dataset, split, own)
    if config is None:
        raise InputError("the model is not in a run's folder, so it has no test data; give --dataset or --reference")
    texts = open_texts(config, folder)
    return texts.test or texts.validation


def make_class_head(examples: Sequence[LabelledText], name: str) -> ClassHeadConfig:
    """The classes that labels name, in the order of the alphabet."""
    counts = Counter(example.label for example in examples)
    if len(counts) < 2:
        raise DataError(f"{name}: all labels are {next(iter(counts))!r}; a classifier needs two classes or more")
    if len(counts) > MAX_CLASSES:
        raise DataError(
            f"{name}: {len(counts):,} different labels, of which {MAX_CLASSES:,} are the most; are they numbers? then "
            'set predict = "score"'
        )
    return ClassHeadConfig(labels=tuple(sorted(counts)), pair=examples[0].second is not None)


def make_score_head(examples: Sequence[LabelledText], name: str) -> ScoreHeadConfig:
    """The mean and the standard deviation of scores."""
    scores = np.array([score_of(example) for example in examples])
    if not scores.std() > 0:
        raise DataError(f"{name}: all scores are {scores[0]:g}; there is nothing to learn")
    pair = examples[0].second is not None
    return ScoreHeadConfig(mean=float(scores.mean()), deviation=float(scores.std()), pair=pair)


def score_of(example: LabelledText) -> float:
    """A label as a number."""
    try:
        score = float(example.label)
    except ValueError:
        score = float("nan")
    if not np.isfinite(score):
        raise DataError(f"{example.place}: the label {example.label!r} is no number")
    return score


def as_numbers(
    examples: Sequence[LabelledText], head: ClassHeadConfig | ScoreHeadConfig, tokenizer: Tokenizer, max_tokens: int
) -> Labelled:
    """Examples for a head; raises DataError for a label that it does not know."""
    if any((example.second is not None) != head.pair for example in examples):
        wanted = "pairs of texts" if head.pair else "single texts"
        raise DataError(f"{examples[0].place}: the model reads {wanted} (see data.second)")
    encoded = encode_texts([example.texts for example in examples], tokenizer, max_tokens)
    if isinstance(head, ScoreHeadConfig):
        return Labelled(encoded, np.array([score_of(example) for example in examples]))
    numbers = {label: number for number, label in enumerate(head.labels)}
    for example in examples:
        if example.label not in numbers:
            raise DataError(
                f"{example.place}: the label {example.label!r} does not occur in the training data, whose labels are "
                f"{', '.join(head.labels[:10])}{', ...' if len(head.labels) > 10 else ''}"
            )
    return Labelled(encoded, np.array([numbers[example.label] for example in examples]))
