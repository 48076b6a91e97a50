"""Answering questions from passages as a task: what a run and the verbs ask of it; see tasks/task.py."""

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
from transduce.corpora.example_sets import open_questions
from transduce.corpora.examples import ExampleCorpus
from transduce.corpora.questions import Question, question_corpus
from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData
from transduce.data.passages import PassageWindow, encode_passages, window_lengths
from transduce.data.text_batch import make_text_batch
from transduce.errors import DataError
from transduce.evaluation.answers import ANSWER_METRICS, count_answers
from transduce.evaluation.measured import Measured, describe_test
from transduce.inference.answerer import Answerer, find_answers, find_span_logits
from transduce.models.heads import SpanHeadConfig
from transduce.objectives.spans import SpanBatch, SpanLoss, span_losses
from transduce.probe import PROBE_CHARACTERS, PROBES
from transduce.tasks.answering.settings import AnsweringConfig
from transduce.tasks.encoder_data import Examples, Openers, all_of, open_examples, open_test
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import check_encoder
from transduce.tasks.inputs import Input, tokenizer_inputs
from transduce.tasks.measuring import make_measure
from transduce.tasks.task import Measure, Prepared, Rate, Tell
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

Corpus = ExampleCorpus[Question]


@dataclass(frozen=True)
class Asked:
    """Questions as windows, and where in each window's row the answer begins and ends."""

    questions: Sequence[Question]
    windows: list[PassageWindow]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]


@dataclass(frozen=True)
class AnsweringExperiment:
    """The questions of a run; see Experiment."""

    config: AnsweringConfig
    folder: Path
    texts: Examples[Question]

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
        """The beginnings of a few questions and their passages."""
        few = islice(self.texts.train, PROBES)
        return [(one.question[:PROBE_CHARACTERS], one.passage[:PROBE_CHARACTERS]) for one in few]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config, texts = self.config, self.texts
        train, validation = (all_of(corpus) for corpus in (texts.train, texts.validation))
        origin = find_encoder(config, self.folder, checkpoint, processes, self._make_tokenizers, tell).without_pooler()
        tokenizer, longest = origin.tokenizers.target, config.batching.max_tokens
        learned, held_out = (as_windows(asked, config.head, tokenizer, longest) for asked in (train, validation))
        if texts.test is not None:  # so that what is wrong with it is not told after the training
            all_of(texts.test)
        bundle = origin.bundle(config.task, config.data.language, config.head, longest)
        for kind, corpus, found in (("training", texts.train, learned), ("validation", texts.validation, held_out)):
            asked, windows = len(found.questions), len(found.windows)
            tell(f"{kind} data: {asked:,} questions, {windows:,} windows of passages from {corpus.name}")
        make = partial(_batch, learned, bundle.special)
        data = ExampleData(window_lengths(learned.windows), make, config.batching, config.seed)
        validator = AnsweringValidator(config.head, bundle.special, held_out, config.validation.best_by)
        return Prepared(bundle, data, SpanLoss(), validator, f"{len(train):,} questions", "windows")

    def validator(self, bundle: ModelBundle) -> "AnsweringValidator":
        """See Experiment."""
        head, longest = head_of(bundle), bundle.config.longest_source
        asked = as_windows(list(self.texts.validation), head, bundle.tokenizers.target, longest)
        return AnsweringValidator(head, bundle.special, asked, self.config.validation.best_by)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Scores on the test data, with an interval."""
        return None if self.texts.test is None else measure(bundle, self.texts.test).history()

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; F1 is usual."""
        return make_measure(metric, ANSWER_METRICS, self.texts.test or self.texts.validation, "questions", measure)

    def _make_tokenizers(self) -> Tokenizers:
        texts = (text for asked in self.texts.train for text in (asked.question, asked.passage))
        return train_tokenizers(self.config.tokenizer, texts, (), self.folder)


@dataclass(frozen=True)
class AnsweringValidator:
    """Validates a model that answers; see tasks/task.py."""

    head: SpanHeadConfig
    special: SpecialIds
    asked: Asked
    best_by: str

    def __call__(self, model: nn.Module) -> Validation:
        """See Validator."""
        asked = self.asked
        logits = find_span_logits(model, asked.windows, self.special)
        losses = [
            span_losses(
                torch.from_numpy(row)[None],
                torch.ones(1, len(row), dtype=torch.bool),
                torch.tensor([start]),
                torch.tensor([end]),
            )
            for row, start, end in zip(logits, asked.starts, asked.ends, strict=True)
        ]
        texts = [(one.question, one.passage) for one in asked.questions]
        told = find_answers(texts, asked.windows, logits, self.head, 1)
        counts = count_answers([one.text for one in told], _truth(asked.questions))
        scores = {"loss": float(torch.cat(losses).mean())} | {name: one.score for name, one in counts.items()}
        return Validation.by(self.best_by, scores, rises=self.best_by != "loss")

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Nothing: what is read at once keeps no gradients, and is no larger than a usual batch."""
        return ()


def measure(bundle: ModelBundle, corpus: Corpus) -> Measured:
    """What a bundle's model answers to questions."""
    questions = all_of(corpus)
    told = Answerer(bundle).answer([(one.question, one.passage) for one in questions])
    return Measured(ANSWER_METRICS, count_answers([one.text for one in told], _truth(questions)), "questions")


def head_of(bundle: ModelBundle) -> SpanHeadConfig:
    """The settings of the head of a model that answers."""
    assert isinstance(bundle.config.head, SpanHeadConfig)
    return bundle.config.head


def as_windows(questions: Sequence[Question], head: SpanHeadConfig, tokenizer: Tokenizer, max_tokens: int) -> Asked:
    """Questions for a head; raises DataError for one without an answer where each must have one.

    Of several answers the first is learned. A window that does not hold all of it is learned as one without an answer.
    """
    for one in questions:
        if not one.answers and not head.no_answer:
            raise DataError(f"{one.place}: it has no answer; set head.no_answer = true where that may be so")
    texts = [(one.question, one.passage) for one in questions]
    windows = encode_passages(texts, tokenizer, max_tokens, head.overlap)
    spans = [_span(window, questions[window.number]) for window in windows]
    starts, ends = (np.array([span[side] for span in spans], dtype=np.int64) for side in (0, 1))
    return Asked(questions, windows, starts, ends)


def _span(window: PassageWindow, question: Question) -> tuple[int, int]:
    """Where in a window's row the answer's first and last tokens stand; (0, 0) where it does not hold all of it."""
    if not question.answers or not window.places:
        return 0, 0
    answer = question.answers[0]
    if answer.start < window.places[0][0] or answer.end > window.places[-1][1]:
        return 0, 0
    within = [i for i, (start, end) in enumerate(window.places) if start < answer.end and end > answer.start]
    return (window.first + within[0], window.first + within[-1]) if within else (0, 0)


def _truth(questions: Sequence[Question]) -> list[list[str]]:
    return [[answer.text for answer in one.answers] for one in questions]


def _batch(asked: Asked, special: SpecialIds, examples: NDArray[np.int64]) -> SpanBatch:
    windows = [asked.windows[example] for example in examples]
    text = make_text_batch([(window.question, window.passage) for window in windows], special)
    return SpanBatch(text, torch.from_numpy(asked.starts[examples]), torch.from_numpy(asked.ends[examples]))


def _openers(progress: Progress | None = None) -> Openers[Question]:
    return Openers(
        question_corpus,
        lambda dataset, split: open_questions(dataset, split, progress),
        lambda question: question.passage,
    )


class AnsweringTask:
    """See Task."""

    config = AnsweringConfig

    def check(self, config: AnsweringConfig) -> None:
        """See `check_encoder`."""
        check_encoder(config, list(ANSWER_METRICS))

    def open(self, config: AnsweringConfig, folder: Path, progress: Progress | None = None) -> AnsweringExperiment:
        """See Task."""
        return AnsweringExperiment(config, folder, open_examples(config.data, folder, _openers(progress)))

    def describe_test(self, test: dict[str, Any]) -> str:
        """All scores, the first with its interval."""
        return describe_test(ANSWER_METRICS, "questions", test)

    def test_data(
        self,
        model: BundleConfig,
        config: AnsweringConfig | None,
        folder: Path,
        file: str | None,
        dataset: str | None,
        split: str,
    ) -> Corpus:
        """See MeasuringTask."""
        return open_test(config.data if config else None, folder, _openers(), file, dataset, split)

    def measured(self, bundle: ModelBundle, data: Corpus) -> Measured:
        """See MeasuringTask."""
        return measure(bundle, data)


ANSWERING = AnsweringTask()
