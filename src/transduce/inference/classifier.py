"""A trained classifier as a tool: texts, or pairs of texts, in; their classes with probabilities, or scores, out."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.analysis.look_at_reading import ReadingResult
from transduce.analysis.look_at_text import Look, confidence_in
from transduce.base.errors import InputError
from transduce.base.reprs import shown_by
from transduce.base.task_table import check_tool
from transduce.bundle.model_bundle import ModelBundle, bundle_facts
from transduce.data.batch import SpecialIds
from transduce.data.examples import EncodedTexts, encode_texts
from transduce.inference.batched_texts import read_texts, softmax
from transduce.inference.engines.inference_precision import InferencePrecision, load_bundle
from transduce.inference.looking import look_at_texts, whole_row
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig

Text = str | tuple[str, str]
"""One text, or two that are read together."""


@dataclass(frozen=True)
class Classification:
    """The class that a model gives a text."""

    label: str
    """The likeliest class."""
    probability: float
    """The probability of the likeliest class, 0 to 1."""
    probabilities: dict[str, float]
    """The probabilities of all classes."""
    truncated: bool = False
    """True if the text was longer than the model reads, so that its end was left out."""

    def __str__(self) -> str:
        return self.label


@dataclass(frozen=True)
class Rating:
    """The number that a model gives a text."""

    score: float
    truncated: bool = False
    """True if the text was longer than the model reads, so that its end was left out."""

    def __str__(self) -> str:
        return f"{self.score:.4f}"


@shown_by(lambda tool: bundle_facts(tool.bundle))
class Classifier:
    """Classifies texts by a bundle's model, or gives them scores, on its device and at its precision.

    Raises InputError for a model that is not a classifier.
    """

    def __init__(self, bundle: ModelBundle) -> None:
        check_tool("the model", bundle.config.task, "classifier")
        self.bundle = bundle
        assert isinstance(bundle.config.head, ClassHeadConfig | ScoreHeadConfig)
        self.head = bundle.config.head

    @staticmethod
    def load(path: str | Path, device: str = "auto", precision: InferencePrecision = "float32") -> "Classifier":
        """Loads a classifier from the folder of a model or a run: see `transduce.load`."""
        return Classifier(load_bundle(path, device, precision))

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the classes; none for a model that gives scores."""
        return self.head.labels if isinstance(self.head, ClassHeadConfig) else ()

    @property
    def reads_pairs(self) -> bool:
        """True if the model reads pairs of texts, the two together."""
        return self.head.pair

    @overload
    def classify(  # type: ignore[overload-overlap] # a text is an iterable of texts, too
        self, texts: Text
    ) -> Classification | Rating: ...

    @overload
    def classify(self, texts: Iterable[Text]) -> list[Classification | Rating]: ...

    def classify(self, texts: Text | Iterable[Text]) -> Classification | Rating | list[Classification | Rating]:
        """Classifies one text or several, in their order; a text is a tuple of two if the model reads pairs.

        Raises InputError for a pair if the model reads single texts, and for a single text if it reads pairs.
        """
        if isinstance(texts, str) or is_pair(texts):
            return self._classify([cast(Text, texts)])[0]
        return self._classify(list(texts))

    def look(self, text: Text) -> Look:
        """Shows how the model reads a text, or a pair: attention, and which tokens its class or score rests on.

        Raises InputError for one that is blank, or longer than the model reads.
        """
        first, second = self._checked(text)
        row = whole_row(self.bundle, first, second, self.bundle.config.longest_source)
        (result,) = self._classify([text])
        return look_at_texts(self.bundle, [first] if second is None else [first, second], row, self._prediction(result))

    def _prediction(self, result: Classification | Rating) -> ReadingResult:
        if isinstance(result, Rating):
            head = self.head
            assert isinstance(head, ScoreHeadConfig)
            return ReadingResult(
                str(result), ["score"], [], lambda scores: head.mean + head.deviation * scores.float(), "score"
            )
        best = self.labels.index(result.label)
        log_probabilities = torch.tensor([list(result.probabilities.values())]).log()
        confidence = confidence_in(log_probabilities, [best], self.labels.__getitem__)
        return ReadingResult(
            result.label, [result.label], confidence, lambda logits: logits.float().log_softmax(-1)[:, [best]]
        )

    def _classify(self, texts: Sequence[Text]) -> list[Classification | Rating]:
        rows = [self._checked(text) for text in texts]
        if not rows:
            return []
        encoded = encode_texts(rows, self.bundle.tokenizers.target, self.bundle.config.longest_source)
        model, special, is_cut = self.bundle.model, self.bundle.special, encoded.is_cut.tolist()
        if isinstance(self.head, ScoreHeadConfig):
            scores = find_scores(model, encoded, special, self.head).tolist()
            return [Rating(score, cut) for score, cut in zip(scores, is_cut, strict=True)]
        probabilities = find_probabilities(model, encoded, special)
        return [_classification(row, self.labels, cut) for row, cut in zip(probabilities, is_cut, strict=True)]

    def _checked(self, text: Text) -> tuple[str, str | None]:
        if is_pair(text) if self.head.pair else isinstance(text, str):
            return (text, None) if isinstance(text, str) else text
        raise InputError(
            f"the model reads {'pairs of texts' if self.head.pair else 'single texts'}, but found {text!r}"
        )


def is_pair(value: object) -> bool:
    """Returns True if a value is two texts to be read together."""
    return isinstance(value, tuple) and len(value) == 2 and all(isinstance(text, str) for text in value)


def find_probabilities(model: nn.Module, texts: EncodedTexts, special: SpecialIds) -> NDArray[np.float64]:
    """Returns the probability of each class: [texts, classes]."""
    return softmax(np.stack(read_texts(model, texts.rows, special)))


def find_scores(
    model: nn.Module, texts: EncodedTexts, special: SpecialIds, head: ScoreHeadConfig
) -> NDArray[np.float64]:
    """Returns the score of each text: [texts]."""
    outputs = np.stack(read_texts(model, texts.rows, special)).astype(np.float64)[:, 0]
    return head.mean + head.deviation * outputs


def _classification(row: NDArray[np.float64], labels: tuple[str, ...], truncated: bool) -> Classification:
    best = int(row.argmax())
    return Classification(labels[best], float(row[best]), dict(zip(labels, row.tolist(), strict=True)), truncated)
