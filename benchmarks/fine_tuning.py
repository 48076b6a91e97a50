"""The fine-tuning of a recipe that tells classes or scores of texts, for Hugging Face transformers to do the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.base.config import Changes
from transduce.base.task_table import find_task
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.labelled_text import ExampleCorpus, LabelledText
from transduce.data.parts import batches_by_length
from transduce.evaluation.metric import PLAIN
from transduce.evaluation.score_table import Scores
from transduce.experiment.recipe import load_recipe
from transduce.models.heads import ClassHeadConfig, ScoreHeadConfig
from transduce.tasks.classification import CLASSIFICATION, ClassificationConfig, Labelled
from transduce.tasks.labelled import LabelledExperiment, head_of
from transduce.tasks.task import Prepared
from transduce.training.distributed import Processes
from transduce.training.schedules import Linear

RECIPES = ("sst2", "sick-entailment", "sick-relatedness")
TOKENS_AT_ONCE = 4096


@dataclass(frozen=True)
class FineTuning:
    """A run of ours before its first update."""

    config: ClassificationConfig
    experiment: LabelledExperiment[LabelledText, Labelled, NDArray[np.float64]]
    prepared: Prepared

    @staticmethod
    def open(recipe: str, changes: Changes) -> "FineTuning":
        """That of a recipe with changes, of which `training.start_from` must be one."""
        loaded = load_recipe(recipe, changes)
        torch.manual_seed(loaded.config.seed)
        experiment = find_task(loaded.config.task).open(loaded.config, loaded.folder)
        prepared = experiment.prepare(None, Processes(), lambda: 1.0, lambda line: None)
        return FineTuning(loaded.config, experiment, prepared)

    @property
    def bundle(self) -> ModelBundle:
        """What learns."""
        return self.prepared.bundle

    @property
    def updates(self) -> int:
        """How many the run makes."""
        training = self.config.training
        return training.updates or (training.epochs or 0) * len(self.prepared.data.epoch(0).batches)

    @cached_property
    def train(self) -> list[LabelledText]:
        """The examples that the numbers in batches are those of."""
        return list(self.experiment.examples_of.train)

    def numbers(self, examples: Sequence[LabelledText]) -> Labelled:
        """Examples with their classes, or scores, as numbers."""
        head, longest = head_of(self.bundle), self.config.batching.max_tokens
        return CLASSIFICATION.labelling.encode(examples, head, self.bundle.tokenizers.target, longest)

    def scores(self, told: NDArray[np.float64], corpus: ExampleCorpus[LabelledText] | None = None) -> Scores:
        """The scores of probabilities, or scores, told of a corpus, of the test data unless given."""
        labelling, head = CLASSIFICATION.labelling, head_of(self.bundle)
        encoded = self.numbers(list(corpus or self.experiment.tested.texts))
        return Scores.of(labelling.outcome(encoded, told, head), labelling.measured(head), (), "texts", PLAIN)


class TransformersClassifier:
    """The model of transformers for a run of ours: the same weights in float32, with a new layer on top.

    Dropout, clipping, the figures of AdamW and a linear schedule are those of the run; each batch is padded to its
    longest text. Scores are learned in standard deviations, as they are here.
    """

    def __init__(self, folder: Path, run: FineTuning) -> None:
        from transformers import AutoTokenizer, BertForSequenceClassification, get_linear_schedule_with_warmup

        optimizer, schedule, head = run.config.optimizer, run.config.optimizer.schedule, head_of(run.bundle)
        assert isinstance(schedule, Linear) and optimizer.kind == "adamw"
        self.run = run
        self.score_head = head if isinstance(head, ScoreHeadConfig) else None
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        outputs = len(head.labels) if isinstance(head, ClassHeadConfig) else 1
        torch.manual_seed(run.config.seed)
        self.model = BertForSequenceClassification.from_pretrained(folder, num_labels=outputs).float()
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(), optimizer.highest_rate, optimizer.betas, optimizer.epsilon, optimizer.weight_decay
        )
        self.schedule = get_linear_schedule_with_warmup(self.optimizer, schedule.warmup, run.updates)
        self.texts = self._encode(run.train)
        self.labels = torch.from_numpy(self._standardized(run.numbers(run.train).labels))

    def update(self, examples: NDArray[np.int64]) -> None:
        """One update of the training examples with these numbers."""
        batch = self.tokenizer.pad([dict(self.texts[number]) for number in examples], return_tensors="pt")
        self.model.train()
        self.model(**batch, labels=self.labels[examples]).loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.run.config.training.clip_norm)
        self.optimizer.step()
        self.schedule.step()
        self.optimizer.zero_grad()

    def predict(self, corpus: ExampleCorpus[LabelledText]) -> NDArray[np.float64]:
        """The probabilities of classes, or scores, of labelled texts."""
        examples = list(corpus)
        found = self._logits(self._encode(examples))
        if self.score_head is None:
            return found.softmax(1).numpy()
        return (self.score_head.mean + self.score_head.deviation * found[:, 0]).numpy()

    @torch.inference_mode()
    def _logits(self, texts: list[dict[str, list[int]]]) -> torch.Tensor:
        """[texts, outputs], float64."""
        self.model.eval()
        found = torch.empty(len(texts), self.model.config.num_labels, dtype=torch.float64)
        for places in batches_by_length([len(text["input_ids"]) for text in texts], TOKENS_AT_ONCE, longest_first=True):
            batch = self.tokenizer.pad([dict(texts[place]) for place in places], return_tensors="pt")
            found[places] = self.model(**batch).logits.double()
        return found

    def _encode(self, examples: Sequence[LabelledText]) -> list[dict[str, list[int]]]:
        longest = self.run.config.batching.max_tokens
        texts = ([text for text in one.texts if text is not None] for one in examples)
        return [dict(self.tokenizer(*each, truncation=True, max_length=longest, padding=False)) for each in texts]

    def _standardized(self, labels: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64] | NDArray[np.float32]:
        if self.score_head is None:
            return labels.astype(np.int64)
        return ((labels - self.score_head.mean) / self.score_head.deviation).astype(np.float32)
