"""The task of classifying texts and pairs of texts: its labelling; see tasks/labelled.py."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from transduce.base.errors import DataError
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.example_sets import open_labelled
from transduce.corpora.labelled_text import ExampleCorpus, LabelColumns, LabelledText, labelled_corpus, usual_columns
from transduce.data.batch import SpecialIds
from transduce.data.examples import EncodedTexts, encode_texts
from transduce.data.text_batch import make_text_batch
from transduce.evaluation.labels import PredictedClasses
from transduce.evaluation.metric import Outcome, Texts
from transduce.evaluation.metrics import Measured
from transduce.inference.classifier import find_probabilities, find_scores
from transduce.models.heads import ClassHeadConfig, HeadConfig, ScoreHeadConfig
from transduce.models.interface import Pooling
from transduce.objectives.label_losses import ClassLoss, LabelledBatch, ScoreLoss
from transduce.objectives.objective import Objective
from transduce.tasks.encoder_data import Openers
from transduce.tasks.encoder_settings import EncoderExperimentConfig, ExamplesConfig
from transduce.tasks.labelled import LabelledTask
from transduce.text.tokenizer import Tokenizer

Corpus = ExampleCorpus[LabelledText]
Numbers = NDArray[np.float64]
Column = int | str
MAX_CLASSES = 1000


class LabelledConfig(ExamplesConfig, frozen=True):
    """A built-in data set of labelled texts, or files of them; paths are relative to the file that names them.

    A .tsv file has a text, or two, and a label on each line, with tabs between; a .jsonl file an object on each line.
    """

    text: Column | None = None
    """Column of the text: its number, or its name in the first line, or its key; default: the first, or "text"."""
    second: Column | None = None
    """Column of a second text, which is read together with the first; default: there is none."""
    label: Column | None = None
    """Column of the label; default: the one after the texts, or "label"."""


class ClassificationConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that trains a classifier."""

    data: LabelledConfig
    """The labelled texts to learn from."""
    predict: Literal["class", "score"] = "class"
    """The kind of label: one of several classes, or a number."""
    pooling: Pooling = "pooler"
    """The vector that labels are predicted from: a layer on the first token's vector (pooler, Devlin et al. 2019), the
    mean of all tokens' vectors, as in encoders for sentence similarity (mean, Reimers and Gurevych 2019), or the first
    token's vector itself (first)."""


@dataclass(frozen=True)
class Labelled:
    """Texts and their labels as numbers."""

    examples: Sequence[LabelledText]
    texts: EncodedTexts
    labels: NDArray[np.int64] | Numbers
    """Class indices, or scores."""


class Classifying:
    """The classes of texts, or scores; see Labelling."""

    config = ClassificationConfig
    unit = "texts"
    learned = "texts"

    def measured(self, settings: ClassificationConfig | HeadConfig) -> Measured:
        """See Labelling."""
        if isinstance(settings, ClassificationConfig):
            return "numbers" if settings.predict == "score" else "classes"
        return "numbers" if isinstance(settings, ScoreHeadConfig) else "classes"

    def openers(self, data: LabelledConfig | None, progress: Progress | None = None) -> Openers[LabelledText]:
        """See Labelling; with the columns that the settings name."""
        columns = LabelColumns(data.text, data.second, data.label) if data else LabelColumns()

        def open_part(dataset: str, split: str) -> Corpus:
            chosen = columns if data and data.dataset == dataset else LabelColumns()
            return open_labelled(dataset, split, chosen, progress)

        return Openers(lambda file: labelled_corpus(file, columns), open_part, lambda example: example.first)

    def open_file(self, path: Path, head: HeadConfig) -> Corpus:
        """See Labelling."""
        return labelled_corpus(path, usual_columns(path, _class_head(head).pair))

    def texts(self, example: LabelledText) -> tuple[str, str]:
        """See Labelling."""
        return example.first, example.second or ""

    def make_head(self, config: ClassificationConfig, examples: Sequence[LabelledText], name: str) -> HeadConfig:
        """Returns a head with the classes of the labels, in alphabetical order, or with the mean and deviation of the
        scores."""
        pair = examples[0].second is not None
        if config.predict == "score":
            scores = np.array([_score_of(example) for example in examples])
            if not scores.std() > 0:
                raise DataError(f"{name}: all scores are {scores[0]:g}; there is nothing to learn")
            deviation = float(scores.std())
            return ScoreHeadConfig(mean=float(scores.mean()), deviation=deviation, pair=pair, pooling=config.pooling)
        counts = Counter(example.label for example in examples)
        if len(counts) < 2:
            raise DataError(f"{name}: all labels are {next(iter(counts))!r}; a classifier needs two classes or more")
        if len(counts) > MAX_CLASSES:
            raise DataError(
                f"{name}: {len(counts):,} different labels, of which {MAX_CLASSES:,} are the most; are they numbers? "
                'then set predict = "score"'
            )
        return ClassHeadConfig(labels=tuple(sorted(counts)), pair=pair, pooling=config.pooling)

    def check(self, examples: Sequence[LabelledText], head: HeadConfig) -> None:
        """Raises DataError for single texts where the head reads pairs, or vice versa, and for labels that it does not
        know."""
        head = _class_head(head)
        if any((example.second is not None) != head.pair for example in examples):
            wanted = "pairs of texts" if head.pair else "single texts"
            raise DataError(f"{examples[0].place}: the model reads {wanted} (see data.second)")
        for example in examples:
            if isinstance(head, ScoreHeadConfig):
                _score_of(example)
            elif example.label not in head.labels:
                raise DataError(
                    f"{example.place}: the label {example.label!r} does not occur in the training data, whose labels "
                    f"are {', '.join(head.labels[:10])}{', ...' if len(head.labels) > 10 else ''}"
                )

    def encode(
        self, examples: Sequence[LabelledText], head: HeadConfig, tokenizer: Tokenizer, longest: int
    ) -> Labelled:
        """See Labelling; raises what `check` does."""
        self.check(examples, head)
        encoded = encode_texts([example.texts for example in examples], tokenizer, longest)
        if not isinstance(head, ClassHeadConfig):
            return Labelled(examples, encoded, np.array([_score_of(example) for example in examples]))
        numbers = {label: number for number, label in enumerate(head.labels)}
        return Labelled(examples, encoded, np.array([numbers[example.label] for example in examples]))

    def describe(self, encoded: Labelled) -> str:
        """See Labelling."""
        texts = encoded.texts
        cut = f" ({int(texts.is_cut.sum()):,} cut to batching.max_tokens)" if texts.is_cut.any() else ""
        kind = "pairs of texts" if texts.rows[0][1] is not None else "texts"
        return f"{len(texts.rows):,} {kind}, {int(texts.lengths.sum()):,} tokens{cut}"

    def describe_head(self, head: HeadConfig) -> str:
        """See Labelling."""
        if not isinstance(head, ClassHeadConfig):
            return ""
        return f"classes: {', '.join(head.labels[:10])}{', ...' if len(head.labels) > 10 else ''}"

    def lengths(self, encoded: Labelled) -> NDArray[np.int64]:
        """See Labelling."""
        return encoded.texts.lengths

    def batch(self, encoded: Labelled, head: HeadConfig, special: SpecialIds, rows: NDArray[np.int64]) -> LabelledBatch:
        """See Labelling."""
        labels = torch.from_numpy(encoded.labels[rows])
        text = make_text_batch([encoded.texts.rows[row] for row in rows], special)
        return LabelledBatch(text, labels.float() if labels.is_floating_point() else labels)

    def objective(self, config: ClassificationConfig, head: HeadConfig) -> Objective:
        """See Labelling."""
        if isinstance(head, ScoreHeadConfig):
            return ScoreLoss(head.mean, head.deviation)
        return ClassLoss(config.training.label_smoothing)

    def tell(self, model: nn.Module, encoded: Labelled, head: HeadConfig, special: SpecialIds) -> Numbers:
        """Returns the probability of each class, [texts, classes], or scores, [texts]."""
        if isinstance(head, ScoreHeadConfig):
            return find_scores(model, encoded.texts, special, head)
        return find_probabilities(model, encoded.texts, special)

    def outcome(self, encoded: Labelled, predicted: Numbers, head: HeadConfig) -> Outcome:
        """See Labelling. Classes are in alphabetical order, not in the model's, so that models can be compared."""
        sources = [" ".join(text for text in example.texts if text) for example in encoded.examples]
        if not isinstance(head, ClassHeadConfig):
            return Texts(predicted.tolist(), encoded.labels.tolist(), sources)
        order = np.argsort(np.array(head.labels, dtype=object))
        truth = np.argsort(order)[encoded.labels.astype(np.int64)]
        return PredictedClasses(sorted(head.labels), predicted[:, order], truth, sources)

    def loss(self, encoded: Labelled, predicted: Numbers, head: HeadConfig) -> float:
        """Returns the cross-entropy of the true classes, in nats a text, or the mean squared error in deviations."""
        if isinstance(head, ScoreHeadConfig):
            return float(np.square((predicted - encoded.labels) / head.deviation).mean())
        of_truth = predicted[np.arange(len(predicted)), encoded.labels.astype(np.int64)]
        return float(-np.log(np.maximum(of_truth, 1e-30)).mean())


def _class_head(head: HeadConfig) -> ClassHeadConfig | ScoreHeadConfig:
    assert isinstance(head, ClassHeadConfig | ScoreHeadConfig)
    return head


def _score_of(example: LabelledText) -> float:
    """Returns a label as a number."""
    try:
        score = float(example.label)
    except ValueError:
        score = float("nan")
    if not np.isfinite(score):
        raise DataError(f"{example.place}: the label {example.label!r} is no number")
    return score


CLASSIFICATION = LabelledTask(Classifying())
