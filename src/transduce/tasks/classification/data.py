"""The labelled texts that a classifier learns from, as texts and as numbers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.corpora.catalogue.download import Progress
from transduce.corpora.example_sets import open_labelled
from transduce.corpora.examples import ExampleCorpus, LabelColumns, LabelledText, labelled_corpus
from transduce.data.examples import EncodedTexts, encode_texts
from transduce.errors import DataError
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig
from transduce.models.interface import Pooling
from transduce.tasks.classification.settings import LabelledConfig
from transduce.tasks.encoder_data import Openers
from transduce.text.tokenizer import Tokenizer

Corpus = ExampleCorpus[LabelledText]
MAX_CLASSES = 1000


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels as numbers."""

    texts: EncodedTexts
    labels: NDArray[np.int64] | NDArray[np.float64]
    """Numbers of classes, or scores."""


def openers_of(config: LabelledConfig | None, progress: Progress | None = None) -> Openers[LabelledText]:
    """How labelled texts are opened: with the columns that the settings name, if there are settings."""
    columns = LabelColumns(config.text, config.second, config.label) if config else LabelColumns()

    def open_part(dataset: str, split: str) -> Corpus:
        own = columns if config and config.dataset == dataset else LabelColumns()
        return open_labelled(dataset, split, own, progress)

    return Openers(lambda file: labelled_corpus(file, columns), open_part, lambda example: example.first)


def make_class_head(examples: Sequence[LabelledText], name: str, pooling: Pooling) -> ClassHeadConfig:
    """The classes that labels name, in the order of the alphabet."""
    counts = Counter(example.label for example in examples)
    if len(counts) < 2:
        raise DataError(f"{name}: all labels are {next(iter(counts))!r}; a classifier needs two classes or more")
    if len(counts) > MAX_CLASSES:
        raise DataError(
            f"{name}: {len(counts):,} different labels, of which {MAX_CLASSES:,} are the most; are they numbers? then "
            'set predict = "score"'
        )
    return ClassHeadConfig(labels=tuple(sorted(counts)), pair=examples[0].second is not None, pooling=pooling)


def make_score_head(examples: Sequence[LabelledText], name: str, pooling: Pooling) -> ScoreHeadConfig:
    """The mean and the standard deviation of scores."""
    scores = np.array([score_of(example) for example in examples])
    if not scores.std() > 0:
        raise DataError(f"{name}: all scores are {scores[0]:g}; there is nothing to learn")
    pair = examples[0].second is not None
    return ScoreHeadConfig(mean=float(scores.mean()), deviation=float(scores.std()), pair=pair, pooling=pooling)


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
