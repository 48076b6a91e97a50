"""The task of answering questions from passages: its labelling; see tasks/labelled.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import DataError
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.example_sets import open_questions
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.corpora.questions import Question, question_corpus
from transduce.data.batch import SpecialIds
from transduce.data.passages import PassageWindow, encode_passages, window_lengths
from transduce.data.text_batch import make_text_batch
from transduce.evaluation.metric import Texts
from transduce.evaluation.metrics import Measured
from transduce.inference.answerer import find_answers, find_span_logits
from transduce.models.heads import HeadConfig, SpanHeadConfig
from transduce.objectives.label_losses import SpanBatch, SpanLoss, span_losses
from transduce.tasks.encoder_data import Openers
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig
from transduce.tasks.labelled import LabelledTask
from transduce.text.tokenizer import Tokenizer


class AnsweringConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a model to answer questions."""

    data: ExamplesConfig
    """The data to learn from: files in SQuAD's JSON format, or a built-in data set."""
    head: SpanHeadConfig = SpanHeadConfig()
    """The head that finds answers."""


@dataclass(frozen=True)
class AnswerSpans:
    """Questions as windows of their passages, and the indices in each window's row where the answer begins and ends."""

    questions: Sequence[Question]
    windows: list[PassageWindow]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @property
    def texts(self) -> list[tuple[str, str]]:
        """Pairs of question and passage."""
        return [(asked.question, asked.passage) for asked in self.questions]


class Answering:
    """The answers to questions, as spans of passages; see Labelling."""

    config = AnsweringConfig
    unit = "questions"
    learned = "windows"

    def measured(self, settings: AnsweringConfig | HeadConfig) -> Measured:
        """See Labelling."""
        return "answers"

    def openers(self, data: ExamplesConfig | None, progress: Progress | None = None) -> Openers[Question]:
        """See Labelling."""
        return Openers(
            question_corpus,
            lambda dataset, split: open_questions(dataset, split, progress),
            lambda question: question.passage,
        )

    def open_file(self, path: Path, head: HeadConfig) -> ExampleCorpus[Question]:
        """See Labelling."""
        return question_corpus(path)

    def texts(self, example: Question) -> tuple[str, str]:
        """See Labelling."""
        return example.question, example.passage

    def make_head(self, config: AnsweringConfig, examples: Sequence[Question], name: str) -> SpanHeadConfig:
        """See Labelling."""
        return config.head

    def check(self, examples: Sequence[Question], head: HeadConfig) -> None:
        """Raises DataError for a question without an answer if the head requires one."""
        for asked in examples:
            if not asked.answers and not _span_head(head).no_answer:
                raise DataError(f"{asked.place}: it has no answer; set head.no_answer = true where that may be so")

    def encode(self, examples: Sequence[Question], head: HeadConfig, tokenizer: Tokenizer, longest: int) -> AnswerSpans:
        """See Labelling. Of several answers the first is learned; a window that does not hold all of it is learned as
        one without an answer."""
        texts = [(asked.question, asked.passage) for asked in examples]
        windows = encode_passages(texts, tokenizer, longest, _span_head(head).overlap)
        spans = [_span(window, examples[window.number]) for window in windows]
        starts, ends = (np.array([span[side] for span in spans], dtype=np.int64) for side in (0, 1))
        return AnswerSpans(examples, windows, starts, ends)

    def describe(self, encoded: AnswerSpans) -> str:
        """See Labelling."""
        return f"{len(encoded.questions):,} questions, {len(encoded.windows):,} windows of passages"

    def describe_head(self, head: HeadConfig) -> str:
        """See Labelling."""
        return ""

    def lengths(self, encoded: AnswerSpans) -> NDArray[np.int64]:
        """See Labelling."""
        return window_lengths(encoded.windows)

    def batch(self, encoded: AnswerSpans, head: HeadConfig, special: SpecialIds, rows: NDArray[np.int64]) -> SpanBatch:
        """See Labelling."""
        windows = [encoded.windows[row] for row in rows]
        text = make_text_batch([(window.question, window.passage) for window in windows], special)
        return SpanBatch(text, torch.from_numpy(encoded.starts[rows]), torch.from_numpy(encoded.ends[rows]))

    def objective(self, config: AnsweringConfig, head: HeadConfig) -> SpanLoss:
        """See Labelling."""
        return SpanLoss()

    def tell(
        self, model: nn.Module, encoded: AnswerSpans, head: HeadConfig, special: SpecialIds
    ) -> list[NDArray[np.float32]]:
        """Returns the logits of an answer's first and last token, for each window."""
        return find_span_logits(model, encoded.windows, special)

    def outcome(self, encoded: AnswerSpans, predicted: list[NDArray[np.float32]], head: HeadConfig) -> Texts:
        """See Labelling."""
        answers = find_answers(encoded.texts, encoded.windows, predicted, _span_head(head), 1)
        truth = [[answer.text for answer in asked.answers] for asked in encoded.questions]
        return Texts([answer.text for answer in answers], truth, [asked.question for asked in encoded.questions])

    def loss(self, encoded: AnswerSpans, predicted: list[NDArray[np.float32]], head: HeadConfig) -> float:
        """Returns the mean cross-entropy of the first and last tokens of answers, in nats a window."""
        losses = [
            span_losses(
                torch.from_numpy(row)[None],
                torch.ones(1, len(row), dtype=torch.bool),
                torch.tensor([start]),
                torch.tensor([end]),
            )
            for row, start, end in zip(predicted, encoded.starts, encoded.ends, strict=True)
        ]
        return float(torch.cat(losses).mean())


def _span_head(head: HeadConfig) -> SpanHeadConfig:
    assert isinstance(head, SpanHeadConfig)
    return head


def _span(window: PassageWindow, question: Question) -> tuple[int, int]:
    """Returns the indices of an answer's first and last token in the window's row; (0, 0) if the window lacks part of
    it."""
    if not question.answers or not window.places:
        return 0, 0
    answer = question.answers[0]
    if answer.start < window.places[0][0] or answer.end > window.places[-1][1]:
        return 0, 0
    within = [i for i, (start, end) in enumerate(window.places) if start < answer.end and end > answer.start]
    return (window.first + within[0], window.first + within[-1]) if within else (0, 0)


ANSWERING = LabelledTask(Answering())
