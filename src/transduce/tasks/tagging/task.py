"""Tagging words as a task: what a run and the verbs ask of it; see tasks/task.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.bundle import ModelBundle
from transduce.bundle_config import BundleConfig
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.example_sets import open_tagged
from transduce.corpora.examples import ExampleCorpus
from transduce.corpora.tagged import OUTSIDE, TagColumns, TaggedSentence, kind_of, tagged_corpus
from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData
from transduce.data.tagged import WordRows, encode_words
from transduce.data.text_batch import make_text_batch
from transduce.errors import DataError
from transduce.evaluation.measured import Measured, describe_test
from transduce.evaluation.tags import TAG_METRICS, count_tags
from transduce.inference.tagger import find_tag_probabilities
from transduce.models.heads import TagHeadConfig
from transduce.objectives.tags import TaggedBatch, TagLoss
from transduce.probe import PROBE_CHARACTERS, PROBES
from transduce.tasks.encoder_data import Examples, Openers, all_of, open_examples, open_test
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import check_encoder
from transduce.tasks.inputs import Input, tokenizer_inputs
from transduce.tasks.measuring import make_measure
from transduce.tasks.tagging.settings import TaggedConfig, TaggingConfig
from transduce.tasks.task import Measure, Prepared, Rate, Tell
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

Corpus = ExampleCorpus[TaggedSentence]


@dataclass(frozen=True)
class Tagged:
    """Sentences as rows of pieces, and the number of the tag of each word of a row."""

    rows: WordRows
    tags: list[NDArray[np.int64]]
    truth: list[tuple[str, ...]]
    """The tags of each sentence."""


@dataclass(frozen=True)
class TaggingExperiment:
    """The sentences of a run; see Experiment."""

    config: TaggingConfig
    folder: Path
    texts: Examples[TaggedSentence]

    @property
    def name(self) -> str:
        """See Experiment."""
        return self.config.data.dataset or self.texts.train.name

    @property
    def inputs(self) -> list[Input]:
        """See Experiment."""
        return [*tokenizer_inputs(self.config.tokenizer, self.folder), *self.texts.inputs]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """The beginnings of a few training sentences."""
        return [(" ".join(one.words)[:PROBE_CHARACTERS], "") for one in islice(self.texts.train, PROBES)]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config, texts = self.config, self.texts
        train, validation = (all_of(corpus) for corpus in (texts.train, texts.validation))
        origin = find_encoder(config, self.folder, checkpoint, processes, self._make_tokenizers, tell).without_pooler()
        head = TagHeadConfig(labels=_labels(train, texts.train.name))
        tokenizer, longest = origin.tokenizers.target, config.batching.max_tokens
        learned, held_out = (as_numbers(some, head, tokenizer, longest) for some in (train, validation))
        if texts.test is not None:  # so that what is wrong with it is not told after the training
            as_numbers(all_of(texts.test), head, tokenizer, longest)
        bundle = origin.bundle(config.task, config.data.language, head, longest)
        for kind, corpus, found in (("training", texts.train, learned), ("validation", texts.validation, held_out)):
            words = sum(map(len, found.truth))
            tell(f"{kind} data: {len(found.truth):,} sentences, {words:,} words from {corpus.name}")
        tell(f"tags: {', '.join(head.labels)}")
        data = ExampleData(learned.rows.lengths, partial(_batch, learned, bundle.special), config.batching, config.seed)
        objective = TagLoss(config.training.label_smoothing)
        validator = TaggingValidator(head, bundle.special, held_out, config.validation.best_by)
        return Prepared(bundle, data, objective, validator, f"{len(train):,} sentences", "words")

    def validator(self, bundle: ModelBundle) -> "TaggingValidator":
        """See Experiment."""
        head = head_of(bundle)
        tagged = as_numbers(list(self.texts.validation), head, bundle.tokenizers.target, bundle.config.longest_source)
        return TaggingValidator(head, bundle.special, tagged, self.config.validation.best_by)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Scores on the test data, with an interval."""
        return None if self.texts.test is None else measure(bundle, self.texts.test).history()

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; the F1 of entities is usual."""
        return make_measure(metric, TAG_METRICS, self.texts.test or self.texts.validation, "sentences", measure)

    def _make_tokenizers(self) -> Tokenizers:
        texts = (" ".join(sentence.words) for sentence in self.texts.train)
        return train_tokenizers(self.config.tokenizer, texts, (), self.folder)


@dataclass(frozen=True)
class TaggingValidator:
    """Validates a tagger; see tasks/task.py."""

    head: TagHeadConfig
    special: SpecialIds
    tagged: Tagged
    best_by: str

    def __call__(self, model: nn.Module) -> Validation:
        """See Validator."""
        probabilities = find_tag_probabilities(model, self.tagged.rows, self.special)
        numbers = {label: number for number, label in enumerate(self.head.labels)}
        truth = np.array([numbers[tag] for tags in self.tagged.truth for tag in tags])
        of_truth = np.concatenate(probabilities)[np.arange(len(truth)), truth]
        scores = {"loss": float(-np.log(np.maximum(of_truth, 1e-30)).mean())}
        told = [_told(rows, self.head) for rows in probabilities]
        scores |= {name: counts.score for name, counts in count_tags(told, self.tagged.truth).items()}
        return Validation.by(self.best_by, scores, rises=self.best_by != "loss")

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Nothing: what is read at once keeps no gradients, and is no larger than a usual batch."""
        return ()


def measure(bundle: ModelBundle, corpus: Corpus) -> Measured:
    """What a bundle's model makes of tagged sentences; it may have met none of their kinds of entities."""
    sentences, head = all_of(corpus), head_of(bundle)
    words = [sentence.words for sentence in sentences]
    rows = encode_words(words, bundle.tokenizers.target, bundle.config.longest_source)
    told = [_told(found, head) for found in find_tag_probabilities(bundle.model, rows, bundle.special)]
    return Measured(TAG_METRICS, count_tags(told, [sentence.tags for sentence in sentences]), "sentences")


def head_of(bundle: ModelBundle) -> TagHeadConfig:
    """The settings of a tagger's head."""
    assert isinstance(bundle.config.head, TagHeadConfig)
    return bundle.config.head


def as_numbers(
    sentences: Sequence[TaggedSentence], head: TagHeadConfig, tokenizer: Tokenizer, max_tokens: int
) -> Tagged:
    """Sentences for a head; raises DataError for a tag that it does not know."""
    numbers = {label: number for number, label in enumerate(head.labels)}
    for sentence in sentences:
        if unknown := [tag for tag in sentence.tags if tag not in numbers]:
            raise DataError(
                f"{sentence.place}: the tag {unknown[0]!r} does not occur in the training data, whose tags are "
                f"{', '.join(head.labels)}"
            )
    rows = encode_words([sentence.words for sentence in sentences], tokenizer, max_tokens)
    tags = [
        np.array([numbers[tag] for tag in sentences[place].tags[first:stop]], dtype=np.int64)
        for place, first, stop in rows.words
    ]
    return Tagged(rows, tags, [sentence.tags for sentence in sentences])


def _labels(sentences: Sequence[TaggedSentence], name: str) -> tuple[str, ...]:
    """O, then both tags of each kind of entity, in the order of the alphabet."""
    kinds = sorted({kind_of(tag) for sentence in sentences for tag in sentence.tags if tag != OUTSIDE})
    if not kinds:
        raise DataError(f"{name}: all tags are {OUTSIDE}; there is nothing to learn")
    return (OUTSIDE, *(f"{begin}-{kind}" for kind in kinds for begin in "BI"))


def _told(probabilities: NDArray[np.float64], head: TagHeadConfig) -> list[str]:
    return [head.labels[number] for number in probabilities.argmax(1).tolist()]


def _batch(tagged: Tagged, special: SpecialIds, examples: NDArray[np.int64]) -> TaggedBatch:
    text = make_text_batch([(tagged.rows.ids[example], None) for example in examples], special)
    time = text.tokens.shape[1]
    places = [
        row * time + 1 + begin  # after [CLS]
        for row, example in enumerate(examples)
        for begin in tagged.rows.first_pieces[example]
    ]
    tags = np.concatenate([tagged.tags[example] for example in examples])
    return TaggedBatch(text, torch.tensor(places), torch.from_numpy(tags))


def _openers(config: TaggedConfig | None, progress: Progress | None = None) -> Openers[TaggedSentence]:
    columns = TagColumns(config.word, config.tag) if config else TagColumns()
    return Openers(
        lambda file: tagged_corpus(file, columns),
        lambda dataset, split: open_tagged(dataset, split, columns, progress),
        lambda sentence: " ".join(sentence.words),
    )


class TaggingTask:
    """See Task."""

    config = TaggingConfig

    def check(self, config: TaggingConfig) -> None:
        """See `check_encoder`."""
        check_encoder(config, list(TAG_METRICS))

    def open(self, config: TaggingConfig, folder: Path, progress: Progress | None = None) -> TaggingExperiment:
        """See Task."""
        return TaggingExperiment(config, folder, open_examples(config.data, folder, _openers(config.data, progress)))

    def describe_test(self, test: dict[str, Any]) -> str:
        """All scores, the first with its interval."""
        return describe_test(TAG_METRICS, "sentences", test)

    def test_data(
        self,
        model: BundleConfig,
        config: TaggingConfig | None,
        folder: Path,
        file: str | None,
        dataset: str | None,
        split: str,
    ) -> Corpus:
        """See MeasuringTask."""
        data = config.data if config else None
        return open_test(data, folder, _openers(data), file, dataset, split)

    def measured(self, bundle: ModelBundle, data: Corpus) -> Measured:
        """See MeasuringTask."""
        return measure(bundle, data)


TAGGING = TaggingTask()
