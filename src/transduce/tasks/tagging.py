"""The task of tagging the words of sentences: its labelling; see tasks/labelled.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import DataError
from transduce.base.ranges import PositiveInt
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.example_sets import open_tagged
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.corpora.tagged_sentences import OUTSIDE, TagColumns, TaggedSentence, kind_of, tagged_corpus
from transduce.data.batch import SpecialIds
from transduce.data.text_batch import make_text_batch
from transduce.data.word_rows import WordRows, encode_words
from transduce.evaluation.metric import Texts
from transduce.evaluation.metrics import Measured
from transduce.inference.tagger import find_tag_probabilities
from transduce.models.heads import HeadConfig, TagHeadConfig
from transduce.objectives.label_losses import TaggedBatch, TagLoss
from transduce.tasks.encoder_data import Openers
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig
from transduce.tasks.labelled import LabelledTask
from transduce.text.tokenizer import Tokenizer


class TaggedConfig(ExamplesConfig, frozen=True):
    """A built-in data set of tagged sentences, or files of them; paths are relative to the file that names them.

    A file has a word and its tag (O, B-kind or I-kind) on each line and a blank line between sentences, or ends in
    .jsonl and has "words" and "tags" in the object on each line.
    """

    word: PositiveInt | None = None
    """Column of words; default: the first."""
    tag: PositiveInt | None = None
    """Column of tags; default: the last."""


class TaggingConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a tagger."""

    data: TaggedConfig
    """The tagged sentences to learn from."""


@dataclass(frozen=True)
class Tagged:
    """Sentences as rows of pieces, and their tags."""

    sentences: Sequence[TaggedSentence]
    rows: WordRows


class Tagging:
    """The kinds of entities that words of sentences belong to; see Labelling."""

    config = TaggingConfig
    unit = "sentences"
    learned = "words"

    def measured(self, settings: TaggingConfig | HeadConfig) -> Measured:
        """See Labelling."""
        return "tags"

    def openers(self, data: TaggedConfig | None, progress: Progress | None = None) -> Openers[TaggedSentence]:
        """See Labelling."""
        columns = TagColumns(data.word, data.tag) if data else TagColumns()
        return Openers(
            lambda file: tagged_corpus(file, columns),
            lambda dataset, split: open_tagged(dataset, split, columns, progress),
            lambda sentence: " ".join(sentence.words),
        )

    def open_file(self, path: Path, head: HeadConfig) -> ExampleCorpus[TaggedSentence]:
        """See Labelling."""
        return tagged_corpus(path, TagColumns())

    def texts(self, example: TaggedSentence) -> tuple[str, str]:
        """See Labelling."""
        return " ".join(example.words), ""

    def make_head(self, config: TaggingConfig, examples: Sequence[TaggedSentence], name: str) -> TagHeadConfig:
        """Returns a head with O, then both tags of each kind of entity, in alphabetical order."""
        kinds = sorted({kind_of(tag) for sentence in examples for tag in sentence.tags if tag != OUTSIDE})
        if not kinds:
            raise DataError(f"{name}: all tags are {OUTSIDE}; there is nothing to learn")
        return TagHeadConfig(labels=(OUTSIDE, *(f"{begin}-{kind}" for kind in kinds for begin in "BI")))

    def check(self, examples: Sequence[TaggedSentence], head: HeadConfig) -> None:
        """Raises DataError for a tag that training sentences do not have."""
        known = _numbers(head)
        for sentence in examples:
            if unknown := [tag for tag in sentence.tags if tag not in known]:
                raise DataError(
                    f"{sentence.place}: the tag {unknown[0]!r} does not occur in the training data, whose tags are "
                    f"{', '.join(known)}"
                )

    def encode(
        self, examples: Sequence[TaggedSentence], head: HeadConfig, tokenizer: Tokenizer, longest: int
    ) -> Tagged:
        """See Labelling; the sentences may have tags that the head does not know."""
        return Tagged(examples, encode_words([sentence.words for sentence in examples], tokenizer, longest))

    def describe(self, encoded: Tagged) -> str:
        """See Labelling."""
        words = sum(len(sentence.tags) for sentence in encoded.sentences)
        return f"{len(encoded.sentences):,} sentences, {words:,} words"

    def describe_head(self, head: HeadConfig) -> str:
        """See Labelling."""
        return f"tags: {', '.join(_numbers(head))}"

    def lengths(self, encoded: Tagged) -> NDArray[np.int64]:
        """See Labelling."""
        return encoded.rows.lengths

    def batch(self, encoded: Tagged, head: HeadConfig, special: SpecialIds, rows: NDArray[np.int64]) -> TaggedBatch:
        """See Labelling."""
        words = encoded.rows
        text = make_text_batch([(words.ids[row], None) for row in rows], special)
        time = text.tokens.shape[1]
        positions = [
            number * time + 1 + begin  # after [CLS]
            for number, row in enumerate(rows)
            for begin in words.first_pieces[row]
        ]
        numbers = _numbers(head)
        tags = [
            numbers[tag]
            for row in rows
            for sentence, first, stop in [words.words[row]]
            for tag in encoded.sentences[sentence].tags[first:stop]
        ]
        return TaggedBatch(text, torch.tensor(positions), torch.tensor(tags))

    def objective(self, config: TaggingConfig, head: HeadConfig) -> TagLoss:
        """See Labelling."""
        return TagLoss(config.training.label_smoothing)

    def tell(
        self, model: nn.Module, encoded: Tagged, head: HeadConfig, special: SpecialIds
    ) -> list[NDArray[np.float64]]:
        """Returns the probability of each tag, [words, tags] for each sentence."""
        return find_tag_probabilities(model, encoded.rows, special)

    def outcome(self, encoded: Tagged, predicted: list[NDArray[np.float64]], head: HeadConfig) -> Texts:
        """See Labelling."""
        labels = list(_numbers(head))
        tags = [[labels[number] for number in rows.argmax(1).tolist()] for rows in predicted]
        sources = [" ".join(sentence.words) for sentence in encoded.sentences]
        return Texts(tags, [list(sentence.tags) for sentence in encoded.sentences], sources)

    def loss(self, encoded: Tagged, predicted: list[NDArray[np.float64]], head: HeadConfig) -> float:
        """Returns the cross-entropy of the true tags, in nats a word."""
        numbers = _numbers(head)
        truth = np.array([numbers[tag] for sentence in encoded.sentences for tag in sentence.tags])
        of_truth = np.concatenate(predicted)[np.arange(len(truth)), truth]
        return float(-np.log(np.maximum(of_truth, 1e-30)).mean())


def _numbers(head: HeadConfig) -> dict[str, int]:
    """Returns the index of each tag of a head, by its name."""
    assert isinstance(head, TagHeadConfig)
    return {label: number for number, label in enumerate(head.labels)}


TAGGING = LabelledTask(Tagging())
