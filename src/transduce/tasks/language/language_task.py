"""The task of language modelling; see tasks/task.py."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, cast

from transduce.base.errors import ConfigError, DataError, InputError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import PROBE_CHARACTERS, PROBES
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import TextCorpus
from transduce.corpora.formats import text_file
from transduce.corpora.splits import open_text
from transduce.data.planned import count_parts
from transduce.data.streams import Streams
from transduce.data.text_store import TextStore, open_text_store
from transduce.data.windows import Windows
from transduce.evaluation.metric import PLAIN, Scoring
from transduce.evaluation.metrics import MetricName
from transduce.evaluation.score_table import Scores
from transduce.models.causal import CausalTransformerConfig
from transduce.models.families import build_model
from transduce.models.interface import SegmentRecurrence
from transduce.models.recurrent.language import RecurrentLanguageConfig
from transduce.models.transformer_xl import TransformerXLConfig
from transduce.models.xlnet import XLNetConfig
from transduce.objectives.next_segment import NextSegment, Permutation
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.tasks.language.language_settings import DEFAULT_SHARE, LanguageConfig, TextConfig
from transduce.tasks.language.language_validation import (
    TOKENS_AT_ONCE,
    LanguageValidator,
    count_lines,
    score_text,
    windows_of,
)
from transduce.tasks.origin import find_origin, with_new_words
from transduce.tasks.task import (
    NO_RUN,
    Input,
    Prepared,
    Rate,
    Tell,
    TestData,
    Validator,
    Wanted,
    corpus_input,
    tokenizer_inputs,
)
from transduce.tasks.two_texts import GENERAL, check_weight, validate_both
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes
from transduce.training.training_settings import TeacherForcing

REMEMBERING = (TransformerXLConfig, XLNetConfig, RecurrentLanguageConfig)
"""Settings of models that carry a memory from one segment of a text to the next."""


@dataclass(frozen=True)
class LanguageTexts:
    """The training, validation and test text of a run."""

    train: TextCorpus
    validation: TextCorpus
    test: TextCorpus | None
    general_validation: TextCorpus | None = None
    """Validation text of the kind that the initial model was trained on."""
    general_test: TextCorpus | None = None


def open_texts(config: TextConfig, folder: Path, progress: Progress | None = None) -> LanguageTexts:
    """Opens the texts that the settings name; relative paths start from the folder."""
    general = [
        _joined(_files(files, folder)) if files else None for files in (config.general_validation, config.general_test)
    ]
    return replace(_open_own(config, folder, progress), general_validation=general[0], general_test=general[1])


def _open_own(config: TextConfig, folder: Path, progress: Progress | None) -> LanguageTexts:
    if config.dataset is not None:
        dataset = find_dataset(config.dataset)
        train, validation = (open_text(dataset.name, part, progress) for part in ("train", dataset.validation))
        has_test = dataset.test is not None and dataset.test in dataset.splits
        return LanguageTexts(
            train, validation, open_text(dataset.name, str(dataset.test), progress) if has_test else None
        )
    train_files = _files(config.train, folder)
    test = _joined(_files(config.test, folder)) if config.test is not None else None
    if config.validation is not None:
        return LanguageTexts(_joined(train_files), _joined(_files(config.validation, folder)), test)
    share = DEFAULT_SHARE if config.validation_share is None else config.validation_share
    cuts = [_cut(file, share) for file in train_files]
    train = TextCorpus.joined(_names(train_files), [text_file(f, 0, c) for f, c in zip(train_files, cuts, strict=True)])
    last = [text_file(file, cut) for file, cut in zip(train_files, cuts, strict=True)]
    return LanguageTexts(train, TextCorpus.joined(f"the last lines of {_names(train_files)}", last), test)


def _files(named: str | list[str] | None, folder: Path) -> list[Path]:
    return [folder / file for file in ([named] if isinstance(named, str) else named or [])]


def _joined(files: Sequence[Path]) -> TextCorpus:
    return TextCorpus.joined(_names(files), [text_file(file) for file in files])


def _names(files: Sequence[Path]) -> str:
    return ", ".join(map(str, files))


def _cut(file: Path, share: float) -> int:
    """Returns the index of a file's first validation line."""
    lines = sum(1 for _ in text_file(file))
    held_out = max(round(share * lines), 1)
    if lines <= held_out:
        raise DataError(f"{file}: {lines} lines are too few to train and validate on; name validation files")
    return lines - held_out


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
        named = [("data.validation", texts.validation), ("data.test", texts.test)]
        named += [("data.general_validation", texts.general_validation), ("data.general_test", texts.general_test)]
        named.append(("data.train", texts.train))
        files = tokenizer_inputs(self.config.tokenizer, self.folder)
        return [*files, *(corpus_input(setting, text) for setting, text in named if text is not None)]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """The beginnings of a few lines of validation text; of training text if these are all blank."""
        lines = _beginnings(self.texts.validation) or _beginnings(self.texts.train)
        return [(line, line) for line in lines]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config = self.config
        if not _beginnings(self.texts.train):
            raise DataError(f"{self.texts.train.name}: there is no text")
        origin = find_origin(
            config,
            config.model,
            config.tokenizer,
            self.folder,
            checkpoint,
            processes,
            lambda: self._make_tokenizers(tell),
            tell,
        )
        source, target = (lambda: self.texts.train), (lambda: ())  # one text, one vocabulary
        origin = with_new_words(origin, config.training, config.model, self.folder, source, target, tell)
        tokenizer = origin.tokenizers.target
        tell(f"vocabulary: {len(tokenizer):,} tokens")
        with processes.first_process_first():
            train = open_text_store(self.texts.train, tokenizer, cache_folder())
            validation = open_text_store(self.texts.validation, tokenizer, cache_folder())
            for text in (self.texts.test, self.texts.general_test):  # so that its errors come before training
                if text is not None:
                    open_text_store(text, tokenizer, cache_folder())
        stores = {"training": (train, self.texts.train), "validation": (validation, self.texts.validation)}
        for kind, (store, text) in stores.items():
            tell(f"{kind} data: {len(store):,} tokens, {store.characters:,} characters from {text.name}")
        model = origin.model or build_model(config.model, len(tokenizer), len(tokenizer))
        read: Windows | Streams
        objective: Objective
        if isinstance(model, SegmentRecurrence):
            read, objective = Streams(train, config.batching), objective_of_segments(config)
        else:
            read = Windows(train, config.batching, config.seed)
            objective = NextToken(config.training.label_smoothing, teacher_forcing)
        bundle = BundleConfig(
            format=FORMAT,
            task=config.task,
            source=config.data.language,
            target=config.data.language,
            model=config.model,
            tokenizer=origin.config,
            longest_source=read.window,
            begin="eos",
        )
        made = ModelBundle(bundle, model, origin.tokenizers, origin.history)
        validator = self._validator(made, validation, processes)
        size = f"{len(train):,} tokens, {train.characters:,} characters"
        is_adapted = config.training.start_from is not None
        return Prepared(made, read.planned(), objective, validator, size, is_adapted=is_adapted)

    def validator(self, bundle: ModelBundle) -> Validator:
        """See Experiment."""
        store = open_text_store(self.texts.validation, bundle.tokenizers.target, cache_folder())
        return self._validator(bundle, store, Processes())

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Returns scores on the test text; None without one."""
        if self.texts.test is None:
            return None
        scores = dict(score_text(bundle, self.texts.test, self._tokens_at_once(processes)))
        if self.texts.general_test is None:
            return scores
        general = score_text(bundle, self.texts.general_test, self._tokens_at_once(processes))
        return scores | {f"{GENERAL}{name}": score for name, score in general.items()}

    @property
    def tested(self) -> TestData:
        """See Experiment."""
        return TestData(self.texts.test or self.texts.validation, "lines", "lines")

    def _validator(self, bundle: ModelBundle, store: TextStore, processes: Processes) -> Validator:
        windows = windows_of(bundle, self._tokens_at_once(processes))
        new, general = LanguageValidator(bundle, store, windows, self.config.validation.samples), None
        if self.texts.general_validation is not None:
            known = open_text_store(self.texts.general_validation, bundle.tokenizers.target, cache_folder())
            general = LanguageValidator(bundle, known, windows, samples=0)
        return validate_both(new, general, self.config.validation)

    def _tokens_at_once(self, processes: Processes) -> int:
        """Returns the tokens of the largest part of a training batch, so that measuring needs no more memory than
        training."""
        windows, accumulate = self.config.batching.windows, self.config.training.accumulate
        if accumulate == "auto":  # the same however many parts will fit
            return min(windows * self.config.batching.window, TOKENS_AT_ONCE)
        parts = count_parts(windows, accumulate, processes.count)
        return -(-windows // parts) * self.config.batching.window

    def _make_tokenizers(self, tell: Tell) -> Tokenizers:
        return train_tokenizers(self.config.tokenizer, self.texts.train, (), self.folder, keep_spaces=True, tell=tell)


def _beginnings(text: TextCorpus) -> list[str]:
    """Returns the beginnings of a text's first few lines that are not blank."""
    return [line[:PROBE_CHARACTERS] for line in islice(filter(str.strip, text), PROBES)]


def objective_of_segments(config: LanguageConfig) -> Objective:
    """Returns the training objective of a model that carries memory between segments."""
    smoothing = config.training.label_smoothing
    if isinstance(config.model, XLNetConfig):
        return Permutation(config.model.predicted, config.model.max_span, smoothing)
    return NextSegment(smoothing)


class LanguageTask:
    """See Task."""

    config = LanguageConfig

    def check(self, config: LanguageConfig) -> None:
        """Raises ConfigError for metrics of translations, two vocabularies, a window longer than the table of
        positions, or settings of other models."""
        if config.validation.metrics or config.validation.best_by != "loss":
            raise ConfigError(
                "validation.metrics and best_by: a language model is validated by its loss alone; leave them out"
            )
        check_weight(config.validation, config.data.general_validation is not None)
        model = config.model
        if (
            isinstance(model, CausalTransformerConfig)
            and model.positions == "learned"
            and config.batching.window > model.max_positions
        ):
            raise ConfigError(
                f"batching.window = {config.batching.window}, but model.max_positions = {model.max_positions}; "
                "lower batching.window, or raise model.max_positions"
            )
        if isinstance(model, REMEMBERING) and config.training.teacher_forcing != TeacherForcing():
            raise ConfigError("training.teacher_forcing: a model that remembers reads the true text; leave it out")
        if config.batching.bidirectional and not isinstance(model, XLNetConfig):
            raise ConfigError('batching.bidirectional is for model.kind = "xlnet"; leave it out')
        if isinstance(model, TransformerXLConfig) and model.cutoffs and config.training.label_smoothing:
            raise ConfigError("training.label_smoothing must be 0 with model.cutoffs: an adaptive softmax takes none")
        if not config.tokenizer.is_shared:
            raise ConfigError("tokenizer: a language model has one vocabulary; leave out shared, source and target")

    def open(self, config: LanguageConfig, folder: Path, progress: Progress | None = None) -> LanguageExperiment:
        """See Task."""
        return LanguageExperiment(config, folder, open_texts(config.data, folder, progress))

    def test_data(self, wanted: Wanted) -> TestData:
        """See Task."""
        if wanted.file is not None:
            return TestData(text_file(wanted.file), "lines", "lines")
        if wanted.dataset is not None:
            return TestData(open_text(wanted.dataset, wanted.split), "lines", "lines")
        if wanted.config is None:
            raise InputError(NO_RUN)
        texts = open_texts(wanted.config.data, wanted.folder)
        return TestData(texts.test or texts.validation, "lines", "lines")

    def score(
        self, bundle: ModelBundle, data: TestData, metrics: Sequence[MetricName] = (), scoring: Scoring = PLAIN
    ) -> Scores:
        """See Task."""
        return Scores.of(count_lines(bundle, cast(TextCorpus, data.texts)), "lines", metrics, "lines", scoring)

    def describe_test(self, test: dict[str, Any]) -> str:
        """Describes perplexities and bits per character."""
        general = f"{GENERAL}perplexity"
        return (
            f"test perplexity {test['perplexity']:.2f} a token, {test['word_perplexity']:.2f} a word, "
            f"{test['bits_per_character']:.3f} bits a character"
            + (f"; perplexity {test[general]:.2f} on the general text" if general in test else "")
        )


LANGUAGE = LanguageTask()
