"""Language modelling as a task: what a run and the verbs ask of it; see tasks/task.py."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import torch

from transduce.bundle import FORMAT, BundleConfig, ModelBundle
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.files import cache_folder
from transduce.data.text_store import TextStore, open_text_store
from transduce.data.windows import WindowData
from transduce.errors import ConfigError, DataError
from transduce.evaluation.metrics import SentenceCounts
from transduce.evaluation.running_text import count_text, find_text_metric, scored
from transduce.models.families import build_model
from transduce.objectives.next_token import NextToken
from transduce.probe import PROBES
from transduce.tasks.inputs import Input, corpus_input, tokenizer_inputs
from transduce.tasks.language.data import LanguageTexts, open_texts
from transduce.tasks.language.settings import LanguageConfig
from transduce.tasks.language.validation import LanguageValidator, measure_text
from transduce.tasks.origin import find_origin
from transduce.tasks.task import Measure, Prepared, Rate, Tell
from transduce.text.tokenizer import Tokenizers, train_tokenizers
from transduce.training.distributed import Processes

PROBE_CHARACTERS = 60


@dataclass(frozen=True)
class LanguageExperiment:
    """The texts of a run; see Experiment."""

    config: LanguageConfig
    folder: Path
    texts: LanguageTexts

    @property
    def name(self) -> str:
        """See Experiment."""
        return self.config.data.dataset or self.texts.train.name

    @property
    def inputs(self) -> list[Input]:
        """See Experiment."""
        texts = self.texts
        named = [("data.validation", texts.validation), ("data.test", texts.test), ("data.train", texts.train)]
        files = tokenizer_inputs(self.config.tokenizer, self.folder)
        return [*files, *(corpus_input(setting, text) for setting, text in named if text is not None)]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """The beginnings of a few lines of validation text."""
        lines = (line[:PROBE_CHARACTERS] for line in self.texts.validation if line.strip())
        return [(line, line) for line in islice(lines, PROBES)]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config = self.config
        origin = find_origin(
            config, config.model, config.tokenizer, self.folder, checkpoint, processes, self._make_tokenizers
        )
        tokenizer = origin.tokenizers.target
        tell(f"vocabulary: {len(tokenizer):,} tokens")
        with processes.first_process_first():
            train = open_text_store(self.texts.train, tokenizer, cache_folder())
            validation = open_text_store(self.texts.validation, tokenizer, cache_folder())
            if self.texts.test is not None:  # so that what is wrong with it is not told after the training
                open_text_store(self.texts.test, tokenizer, cache_folder())
        stores = {"training": (train, self.texts.train), "validation": (validation, self.texts.validation)}
        for kind, (store, text) in stores.items():
            tell(f"{kind} data: {len(store):,} tokens, {store.characters:,} characters from {text.name}")
        model = origin.model or build_model(config.model, len(tokenizer), len(tokenizer))
        data = WindowData(train, config.batching, config.seed)
        bundle = BundleConfig(
            format=FORMAT,
            task=config.task,
            source=config.data.language,
            target=config.data.language,
            model=config.model,
            tokenizer=origin.config,
            longest_source=data.window,
            begin="eos",
        )
        made = ModelBundle(bundle, model, origin.tokenizers)
        objective = NextToken(config.training.label_smoothing, teacher_forcing)
        return Prepared(made, data, objective, self._validator(made, validation))

    def validator(self, bundle: ModelBundle) -> LanguageValidator:
        """See Experiment."""
        return self._validator(bundle, open_text_store(self.texts.validation, bundle.tokenizers.target, cache_folder()))

    def test(self, bundle: ModelBundle) -> dict[str, Any] | None:
        """Scores on the test text."""
        if self.texts.test is None:
            return None
        store = open_text_store(self.texts.test, bundle.tokenizers.target, cache_folder())
        return dict(measure_text(bundle.model, store, self.config.batching))

    def measure(self, metric: str | None) -> Measure:
        """See Experiment; bits per character are usual."""
        name = metric or "bits_per_character"
        found, text = find_text_metric(name), self.texts.test or self.texts.validation

        def count(run: Path, device: torch.device) -> SentenceCounts:
            bundle = ModelBundle.load(run, device)
            tokenizer = bundle.tokenizers.target
            store = open_text_store(text, tokenizer, cache_folder())
            return scored(count_text(bundle.model, store, tokenizer.eos, text, self.config.batching), name)

        lines = sum(1 for _ in text)
        return Measure(name, found.title, found.digits, text.name, text.content(), lines, "lines", count)

    def _validator(self, bundle: ModelBundle, store: TextStore) -> LanguageValidator:
        return LanguageValidator(bundle, store, self.config.batching, self.config.validation.samples)

    def _make_tokenizers(self) -> Tokenizers:
        return train_tokenizers(self.config.tokenizer, self._lines(), (), self.folder, keep_spaces=True)

    def _lines(self) -> Iterator[str]:
        empty = True
        for line in self.texts.train:
            empty = empty and not line.strip()
            yield line
        if empty:
            raise DataError(f"{self.texts.train.name}: there is no text")


class LanguageTask:
    """See Task."""

    config = LanguageConfig

    def check(self, config: LanguageConfig) -> None:
        """Raise ConfigError for metrics of translations, two vocabularies, or a window beyond the positions."""
        if config.validation.metrics or config.validation.best_by != "loss":
            raise ConfigError(
                "validation.metrics and best_by: a language model is validated by its loss alone; leave them out"
            )
        if config.model.positions == "learned" and config.batching.window > config.model.max_positions:
            raise ConfigError(
                f"batching.window = {config.batching.window}, but model.max_positions = {config.model.max_positions}; "
                "there must be a position for each token of a window"
            )
        if not config.tokenizer.is_shared:
            raise ConfigError("tokenizer: a language model has one vocabulary; leave out shared, source and target")

    def open(self, config: LanguageConfig, folder: Path, progress: Progress | None = None) -> LanguageExperiment:
        """See Task."""
        return LanguageExperiment(config, folder, open_texts(config.data, folder, progress))

    def describe_test(self, test: dict[str, Any]) -> str:
        """Perplexities, and bits a character."""
        return (
            f"test perplexity {test['perplexity']:.2f} a token, {test['word_perplexity']:.2f} a word, "
            f"{test['bits_per_character']:.3f} bits a character"
        )


LANGUAGE = LanguageTask()
