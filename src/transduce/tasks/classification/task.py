"""Classification as a task, of texts and of pairs of texts: what a run and the verbs ask of it; see tasks/task.py."""

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.bundle import ModelBundle
from transduce.bundle_config import BundleConfig
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.examples import LabelledText, labelled_corpus, usual_columns
from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData
from transduce.data.text_batch import make_text_batch
from transduce.evaluation.labels import CLASS_METRICS, SCORE_METRICS
from transduce.evaluation.measured import Measured, describe_test
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig, reads_pooler
from transduce.objectives.labels import ClassLoss, LabelledBatch, ScoreLoss
from transduce.objectives.objective import Objective
from transduce.probe import PROBE_CHARACTERS, PROBES
from transduce.tasks.classification.data import (
    Corpus,
    Labelled,
    as_numbers,
    make_class_head,
    make_score_head,
    openers_of,
)
from transduce.tasks.classification.settings import ClassificationConfig
from transduce.tasks.classification.validation import METRICS, ClassificationValidator, head_of, measure
from transduce.tasks.encoder_data import Examples, all_of, open_examples, open_test
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import check_encoder
from transduce.tasks.inputs import Input, tokenizer_inputs
from transduce.tasks.measuring import make_measure
from transduce.tasks.task import Measure, Prepared, Rate, Tell
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class ClassificationExperiment:
    """The texts of a run; see Experiment."""

    config: ClassificationConfig
    folder: Path
    texts: Examples[LabelledText]

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
        """The beginnings of a few training texts."""
        first_few = islice(self.texts.train, PROBES)
        return [(one.first[:PROBE_CHARACTERS], (one.second or "")[:PROBE_CHARACTERS]) for one in first_few]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config, texts = self.config, self.texts
        train, validation = (all_of(corpus) for corpus in (texts.train, texts.validation))
        origin = find_encoder(config, self.folder, checkpoint, processes, self._make_tokenizers, tell)
        make_head = make_score_head if config.predict == "score" else make_class_head
        head = make_head(train, texts.train.name, config.pooling)
        origin = origin if reads_pooler(head) else origin.without_pooler()
        tokenizer, longest = origin.tokenizers.target, config.batching.max_tokens
        learned, held_out = (as_numbers(examples, head, tokenizer, longest) for examples in (train, validation))
        if texts.test is not None:  # so that what is wrong with it is not told after the training
            as_numbers(all_of(texts.test), head, tokenizer, longest)
        bundle = origin.bundle(config.task, config.data.language, head, longest)
        for kind, corpus, found in (("training", texts.train, learned), ("validation", texts.validation, held_out)):
            tell(f"{kind} data: {_described(found)} from {corpus.name}")
        objective: Objective = ClassLoss(config.training.label_smoothing)
        if isinstance(head, ScoreHeadConfig):
            objective = ScoreLoss(head.mean, head.deviation)
        else:
            tell(f"classes: {', '.join(head.labels[:10])}{', ...' if len(head.labels) > 10 else ''}")
        make = partial(_batch, learned, bundle.special)
        data = ExampleData(learned.texts.lengths, make, config.batching, config.seed)
        validator = ClassificationValidator(head, bundle.special, held_out, config.validation.best_by)
        return Prepared(bundle, data, objective, validator, f"{len(train):,} texts", "texts")

    def validator(self, bundle: ModelBundle) -> ClassificationValidator:
        """See Experiment."""
        examples, head = list(self.texts.validation), head_of(bundle)
        labelled = as_numbers(examples, head, bundle.tokenizers.target, bundle.config.longest_source)
        return ClassificationValidator(head, bundle.special, labelled, self.config.validation.best_by)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Scores on the test data, with their intervals."""
        if self.texts.test is None:
            return None
        return measure(bundle, self.texts.test).history()

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; accuracy is usual, of scores Pearson's correlation."""
        metrics = SCORE_METRICS if self.config.predict == "score" else CLASS_METRICS
        return make_measure(metric, metrics, self.texts.test or self.texts.validation, "texts", measure)

    def _make_tokenizers(self) -> Tokenizers:
        texts = (text for one in self.texts.train for text in one.texts if text is not None)
        return train_tokenizers(self.config.tokenizer, texts, (), self.folder)


def _batch(labelled: Labelled, special: SpecialIds, examples: NDArray[np.int64]) -> LabelledBatch:
    rows = [labelled.texts.rows[example] for example in examples]
    labels = torch.from_numpy(labelled.labels[examples])
    return LabelledBatch(make_text_batch(rows, special), labels.float() if labels.is_floating_point() else labels)


def _described(labelled: Labelled) -> str:
    texts = labelled.texts
    cut = f" ({int(texts.is_cut.sum()):,} cut to batching.max_tokens)" if texts.is_cut.any() else ""
    what = "pairs of texts" if texts.rows[0][1] is not None else "texts"
    return f"{len(texts.rows):,} {what}, {int(texts.lengths.sum()):,} tokens{cut}"


class ClassificationTask:
    """See Task."""

    config = ClassificationConfig

    def check(self, config: ClassificationConfig) -> None:
        """See `check_encoder`."""
        known = list(SCORE_METRICS if config.predict == "score" else CLASS_METRICS)
        check_encoder(config, known)

    def open(
        self, config: ClassificationConfig, folder: Path, progress: Progress | None = None
    ) -> ClassificationExperiment:
        """See Task."""
        return ClassificationExperiment(
            config, folder, open_examples(config.data, folder, openers_of(config.data, progress))
        )

    def describe_test(self, test: dict[str, Any]) -> str:
        """All scores, the first with its interval."""
        return describe_test(METRICS, "texts", test)

    def test_data(
        self,
        model: BundleConfig,
        config: ClassificationConfig | None,
        folder: Path,
        file: str | None,
        dataset: str | None,
        split: str,
    ) -> Corpus:
        """See MeasuringTask."""
        data, openers = config.data if config else None, openers_of(config.data if config else None)
        if file is not None and (data is None or data.dataset is not None):  # no settings tell a file's columns
            assert isinstance(model.head, ClassHeadConfig | ScoreHeadConfig)
            return labelled_corpus(file, usual_columns(file, model.head.pair))
        return open_test(data, folder, openers, file, dataset, split)

    def measured(self, bundle: ModelBundle, data: Corpus) -> Measured:
        """See MeasuringTask."""
        return measure(bundle, data)


CLASSIFICATION = ClassificationTask()
