"""A trained model that answers questions, as a tool: questions with passages in, parts of the passages out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from transduce.analysis.findings import Confidence, RunnerUp
from transduce.analysis.look_at_reading import ReadingResult
from transduce.analysis.look_at_text import RUNNERS_UP, Look
from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.data.batch import SpecialIds
from transduce.data.passages import PassageWindow, encode_passages
from transduce.data.text_batch import row_length
from transduce.inference.batched_texts import read_texts, softmax
from transduce.inference.classifier import is_pair
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.inference.looking import check_length, check_not_blank, look_at_texts
from transduce.models.heads import SpanHeadConfig

N_BEST = 1
CANDIDATES = 20  # likeliest beginnings and ends of a window that are paired


@dataclass(frozen=True)
class FoundAnswer:
    """A part of a passage that may answer a question."""

    text: str
    """The text of the part; empty if the model finds that the passage has no answer."""
    start: int
    """The start of the part, in characters of the passage, from 0."""
    end: int
    """The end of the part, after its last character."""
    probability: float
    """The probability of the part, 0 to 1, among all parts of the passage that were weighed."""


@dataclass(frozen=True)
class Answered:
    """The answers that a model found in a passage."""

    question: str
    answers: list[FoundAnswer]
    """The answers, the likeliest first."""

    @property
    def text(self) -> str:
        """The likeliest answer."""
        return self.answers[0].text

    def __str__(self) -> str:
        return self.text


Asked = tuple[str, str]
"""A question and a passage."""


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Answerer:
    """Answers questions from passages by a bundle's model, on its device and at its precision.

    Raises InputError for a model that is for something else.
    """

    def __init__(self, bundle: ModelBundle) -> None:
        check_tool("the model", bundle.config.task, "answerer")
        self.bundle = bundle
        assert isinstance(bundle.config.head, SpanHeadConfig)
        self.head = bundle.config.head

    @staticmethod
    def load(path: str | Path, device: str = "auto", precision: InferencePrecision = "float32") -> "Answerer":
        """Loads an answerer from the folder of a model or a run: see `transduce.load`."""
        return Answerer(load_bundle(path, device, precision))

    @overload
    def answer(self, question: str, passage: str, n_best: int = N_BEST) -> Answered: ...

    @overload
    def answer(self, question: Iterable[Asked], passage: None = None, n_best: int = N_BEST) -> list[Answered]: ...

    def answer(
        self, question: str | Iterable[Asked], passage: str | None = None, n_best: int = N_BEST
    ) -> Answered | list[Answered]:
        """Answers one question from a passage, or several pairs of both: as many results, in the same order.

        Long passages are read in windows that overlap; the best answer of all windows is reported. There are fewer than
        n_best answers where fewer were weighed.

        Raises InputError for a question without a passage, or several beside one.
        """
        if isinstance(question, str):
            if passage is None:
                raise InputError(f"the question {question[:60]!r} has no passage; give it as the second argument")
            return self._answer([(question, passage)], n_best)[0]
        asked = [tuple(pair) if isinstance(pair, list) else pair for pair in question]
        if passage is not None or not all(map(is_pair, asked)):
            raise InputError("expected one question and a passage, or several pairs of a question and its passage")
        return self._answer(asked, n_best)

    def look(self, question: str, passage: str) -> Look:
        """Shows how the model reads a question and a passage: attention, and which tokens its answer rests on.

        Raises InputError for either that is blank, or a passage that is not read at once.
        """
        check_not_blank(question, passage)
        longest = self.bundle.config.longest_source
        windows = encode_passages([(question, passage)], self.bundle.tokenizers.target, longest, self.head.overlap)
        window = windows[0]
        if len(windows) > 1:
            tokens = len(self.bundle.tokenizers.target.encode(passage))
            check_length(row_length(window.question, range(tokens)), longest)
        answers = self.answer(question, passage, n_best=RUNNERS_UP + 1).answers
        (logits,) = find_span_logits(self.bundle.model, windows, self.bundle.special)
        start, end = _tokens_of(answers[0], window, logits)

        def chosen(outputs: Tensor) -> Tensor:
            log_probabilities = outputs.float().log_softmax(1)  # over the tokens  [rows, tokens, 2]
            return log_probabilities[:, [start], 0] + log_probabilities[:, [end], 1]  # log p(start) + log p(end)

        names = [answer.text or "(no answer)" for answer in answers]
        others = [RunnerUp(name, answer.probability) for name, answer in zip(names[1:], answers[1:], strict=True)]
        result = ReadingResult(names[0], names[:1], [Confidence(names[0], answers[0].probability, 1, others)], chosen)
        return look_at_texts(self.bundle, [question, passage], (window.question, window.passage), result)

    def _answer(self, asked: Sequence[Asked], n_best: int) -> list[Answered]:
        if n_best < 1:
            raise InputError(f"n_best = {n_best}: at least one answer must be asked for")
        tokenizer, longest = self.bundle.tokenizers.target, self.bundle.config.longest_source
        windows = encode_passages(asked, tokenizer, longest, self.head.overlap)
        logits = find_span_logits(self.bundle.model, windows, self.bundle.special)
        return find_answers(asked, windows, logits, self.head, n_best)


def find_span_logits(
    model: nn.Module, windows: Sequence[PassageWindow], special: SpecialIds
) -> list[NDArray[np.float32]]:
    """Returns the logits of an answer's beginning and end at each token of each window's row: [tokens, 2]."""
    return read_texts(model, [(window.question, window.passage) for window in windows], special)


def find_answers(
    asked: Sequence[Asked],
    windows: Sequence[PassageWindow],
    logits: Sequence[NDArray[np.float32]],
    head: SpanHeadConfig,
    n_best: int,
) -> list[Answered]:
    """Returns the best pairs of a beginning and an end, of all windows of each question.

    "No answer", where it is allowed, has its lowest score of all windows.
    """
    best_scores: list[dict[tuple[int, int], float]] = [{} for _ in asked]
    without = [np.inf for _ in asked]
    for window, scores in zip(windows, logits, strict=True):
        number = window.number
        without[number] = min(without[number], float(scores[0].sum()))
        for start, end, score in _spans(scores[window.first : -1].astype(np.float64), head.longest_answer):
            span = _without_spaces(asked[number][1], window.places[start][0], window.places[end][1])
            if span[0] < span[1]:
                best_scores[number][span] = max(score, best_scores[number].get(span, -np.inf))
    return [
        Answered(question, _best(passage, spans, none if head.no_answer or not spans else None, n_best))
        for (question, passage), spans, none in zip(asked, best_scores, without, strict=True)
    ]


def _tokens_of(answer: FoundAnswer, window: PassageWindow, logits: NDArray[np.float32]) -> tuple[int, int]:
    """Returns the tokens of a window's row at which an answer begins and ends; the first token for no answer."""
    if not answer.text:
        return 0, 0
    spans = list(enumerate(window.places, window.first))
    starts = [token for token, (start, end) in spans if start <= answer.start < end]
    ends = [token for token, (start, end) in spans if start < answer.end <= end]
    return max(starts, key=lambda token: logits[token, 0]), max(ends, key=lambda token: logits[token, 1])


def _without_spaces(passage: str, start: int, end: int) -> tuple[int, int]:
    """Returns the span of a part of a passage without the spaces around it, which some tokenizers add to words."""
    start += len(passage[start:end]) - len(passage[start:end].lstrip())
    return start, start + len(passage[start:end].rstrip())


def _spans(scores: NDArray[np.float64], longest: int) -> list[tuple[int, int, float]]:
    """Returns the first token, the last token and the score of likely answers in a window."""
    starts, ends = (np.argsort(-scores[:, side], kind="stable")[:CANDIDATES].tolist() for side in (0, 1))
    return [
        (start, end, float(scores[start, 0] + scores[end, 1]))
        for start in starts
        for end in ends
        if start <= end < start + longest
    ]


def _best(passage: str, spans: dict[tuple[int, int], float], without: float | None, n_best: int) -> list[FoundAnswer]:
    weighed = [(score, span) for span, score in spans.items()] + ([(without, (0, 0))] if without is not None else [])
    weighed.sort(key=lambda scored: -scored[0])
    probabilities = softmax(np.array([score for score, _ in weighed])).tolist()
    return [
        FoundAnswer(passage[start:end], start, end, probability)
        for (_, (start, end)), probability in zip(weighed[:n_best], probabilities, strict=False)
    ]
