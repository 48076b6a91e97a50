"""A recipe's model and a batch for it, of assumed texts: what can be said of a run before its data are read."""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn

from transduce.corpora.catalogue.registry import find_dataset
from transduce.data.batch import SpecialIds, Stream, make_batch
from transduce.data.examples import EXAMPLES, TextBatchingConfig
from transduce.data.masked_words import MaskedBatch
from transduce.data.planned import Epoch, PlannedData, Rows
from transduce.data.text_batch import TextBatch, make_text_batch
from transduce.data.windows import batch_of
from transduce.errors import ConfigError
from transduce.models.adapters import add_adapters
from transduce.models.families import build_model
from transduce.models.heads import (
    ClassHeadConfig,
    HeadConfig,
    ScoreHeadConfig,
    TagHeadConfig,
    WordHeadConfig,
    reads_pooler,
)
from transduce.models.interface import SegmentRecurrence
from transduce.objectives.labels import ClassLoss, LabelledBatch, ScoreLoss, SpanBatch, SpanLoss, TaggedBatch, TagLoss
from transduce.objectives.masked_words import MaskedWords
from transduce.objectives.objective import OBJECTIVES, Objective
from transduce.tasks.answering import AnsweringConfig
from transduce.tasks.classification import ClassificationConfig
from transduce.tasks.encoder import PretrainingConfig
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import EncoderExperimentConfig
from transduce.tasks.language.settings import LanguageConfig
from transduce.tasks.language.task import objective_of_segments
from transduce.tasks.origin import find_origin
from transduce.tasks.settings import ExperimentConfig
from transduce.tasks.task import next_token_objective
from transduce.tasks.translation.settings import TranslationConfig
from transduce.text.tokenizer import DEFAULT_SUBWORDS, SideConfig, Tokenizer, TokenizerConfig, Tokenizers
from transduce.text.tokenizer_training import train_tokenizer
from transduce.training.distributed import Processes

SPECIAL = SpecialIds(source_pad=0, source_eos=2, target_pad=0, target_bos=1, target_eos=2)
TOKEN = 3
CLASSES, TAGS = 2, 9
"""Labels of classifiers and taggers, whose number the data say."""
USUAL_SIZES = {"words": 10_000, "whitespace": 10_000, "characters": 300, "bytes": 300}
"""Tokens of vocabularies that take all that a text has, unless `tokenizer.size` is set."""


@dataclass(frozen=True)
class AssumedRun:
    """A run whose data are unknown: its model, its objective, and batches of rows that are all alike."""

    model: nn.Module
    """The model, of tensors that have shapes and no numbers."""
    objective: Objective
    vocabulary: int
    make: Callable[[Rows], Any]
    """Makes a batch of some rows."""
    rows: int
    """Rows of a batch."""
    tokens: int
    """Tokens of a row from which or of which something is predicted: of a sentence pair those of the target."""
    row: str
    """A description of a row, such as "sentence pairs of 32 tokens a side"."""
    dataset: str | None
    """The data set whose examples are rows, by name; None for files, and for running text."""

    def data(self) -> PlannedData[Any]:
        """Returns epochs of one batch."""

        def plan(number: int) -> Epoch[Any]:
            return Epoch([np.arange(self.rows)], lambda rows: len(rows) * self.tokens, self.make, _never_too_large)

        return PlannedData(plan)

    @property
    def updates_of_an_epoch(self) -> int | None:
        """The number of batches in the data set, as the catalogue counts its rows; None without one."""
        return None if self.dataset is None else -(-find_dataset(self.dataset).size // self.rows)


def assume_run(config: ExperimentConfig, folder: Path, length: int) -> AssumedRun:
    """Returns what settings train, on sentences of `length` tokens, or on rows as long as they may be."""
    match config:
        case TranslationConfig():
            run = _translation(config, folder, length)
        case LanguageConfig():
            run = _language(config, folder)
        case EncoderExperimentConfig():
            run = _encoder(config, folder)
        case _:
            raise ConfigError(f"task {config.task}: plan does not know what it trains")
    if config.training.adapters is not None:
        add_adapters(run.model, config.training.adapters)
    return run


def _translation(config: TranslationConfig, folder: Path, length: int) -> AssumedRun:
    model, sizes = _writer(config, folder)
    batching, limits = config.batching, (model.source_limit, model.target_limit)
    if (limit := min((each for each in limits if each is not None), default=length)) < length:
        raise ConfigError(f"length = {length}, but model.max_positions = {limit}; give a length of at most {limit}")
    rows = batching.sentences or max(batching.budget // length, 1)

    def make(rows: Rows) -> Any:
        side = [[TOKEN] * (length - 1)] * len(rows)  # and the end of each sentence
        return make_batch(side, side, SPECIAL)

    row = f"sentence pairs of {length} tokens a side"
    return AssumedRun(model, _next_token(config), sizes[1], make, rows, length, row, config.data.dataset)


def _language(config: LanguageConfig, folder: Path) -> AssumedRun:
    model, sizes = _writer(config, folder)
    window, ids = config.batching.window, np.full(config.batching.window + 1, TOKEN)
    has_memory = isinstance(model, SegmentRecurrence)

    def make(rows: Rows) -> Any:
        return batch_of([ids] * len(rows), Stream(int(rows[0]), begins=False) if has_memory else None)

    objective = objective_of_segments(config) if has_memory else _next_token(config)
    row = f"windows of {window} tokens"
    return AssumedRun(model, objective, sizes[1], make, config.batching.windows, window, row, None)


def _next_token(config: TranslationConfig | LanguageConfig) -> Objective:
    forcing = config.training.teacher_forcing
    own = config.training.objective
    rate = min(forcing.first, forcing.last)
    return OBJECTIVES.find(own) if own else next_token_objective(config.training, lambda: rate)


def _writer(config: TranslationConfig | LanguageConfig, folder: Path) -> tuple[Any, tuple[int, int]]:
    """Returns a model that predicts next tokens, and the sizes of its vocabularies."""

    def make_tokenizers() -> Tokenizers:
        return _tokenizers(config.tokenizer, folder)

    origin = find_origin(
        config, config.model, config.tokenizer, folder, None, Processes(), make_tokenizers, _say_nothing
    )
    sizes = len(origin.tokenizers.source), len(origin.tokenizers.target)
    if origin.model is not None:
        return _shapes_of(origin.model), sizes
    with torch.device("meta"):
        return build_model(config.model, *sizes), sizes


def _encoder(config: EncoderExperimentConfig, folder: Path) -> AssumedRun:
    def make_tokenizers() -> Tokenizers:
        return _tokenizers(config.tokenizer, folder)

    head, objective, make_batch_of = _labels(config)
    origin = find_encoder(config, folder, None, Processes(), make_tokenizers, _say_nothing)
    origin = origin if reads_pooler(head) else origin.without_pooler()
    if origin.start is None:
        with torch.device("meta"):
            model: nn.Module = origin.build(head)
    else:
        model = _shapes_of(origin.build(head))
    batching: TextBatchingConfig = config.batching
    length = batching.max_tokens
    rows = max(batching.tokens // length, 1) if batching.tokens else batching.examples or EXAMPLES

    def make(rows: Rows) -> Any:
        half = (length - 3) // 2
        text = make_text_batch([([TOKEN] * half, [TOKEN] * (length - 3 - half))] * len(rows), SPECIAL)
        return make_batch_of(text)

    if config.training.objective is not None:
        objective = OBJECTIVES.find(config.training.objective)
    dataset = None if isinstance(config, PretrainingConfig) else cast(Any, config).data.dataset
    row = f"rows of {length} tokens"
    return AssumedRun(model, objective, len(origin.tokenizers.target), make, rows, length, row, dataset)


def _labels(config: EncoderExperimentConfig) -> tuple[HeadConfig, Objective, Callable[[TextBatch], Any]]:
    """Returns the head of an encoder, its objective, and a function that gives texts labels."""
    smoothing = config.training.label_smoothing
    match config:
        case PretrainingConfig():
            head: HeadConfig = WordHeadConfig(next_sentence=config.next_sentence)

            def hidden(text: TextBatch) -> MaskedBatch:
                count = round(config.masking.share * text.tokens.shape[1]) * len(text)
                follows = torch.zeros(len(text), dtype=torch.int64) if config.next_sentence else None
                return MaskedBatch(text, torch.arange(count), torch.full((count,), TOKEN), follows, count / len(text))

            return head, MaskedWords(), hidden
        case ClassificationConfig(predict="score"):
            head = ScoreHeadConfig(mean=0.0, deviation=1.0, pooling=config.pooling)
            return head, ScoreLoss(0.0, 1.0), lambda text: LabelledBatch(text, torch.zeros(len(text)))
        case ClassificationConfig():
            head = ClassHeadConfig(labels=tuple(map(str, range(CLASSES))), pooling=config.pooling)
            return head, ClassLoss(smoothing), lambda text: LabelledBatch(text, _zeros(len(text)))
        case AnsweringConfig():
            return config.head, SpanLoss(), lambda text: SpanBatch(text, _zeros(len(text)), _zeros(len(text)))
        case _:
            head = TagHeadConfig(labels=tuple(map(str, range(TAGS))))
            return head, TagLoss(smoothing), _tagged


def _tagged(text: TextBatch) -> TaggedBatch:
    return TaggedBatch(text, torch.arange(text.tokens.numel()), _zeros(text.tokens.numel()))


def _zeros(count: int) -> Tensor:
    return torch.zeros(count, dtype=torch.int64)


def _tokenizers(config: TokenizerConfig, folder: Path) -> Tokenizers:
    """Returns tokenizers of the sizes that settings ask for, which know no text."""
    if config.is_shared:
        both = _tokenizer(config, folder)
        return Tokenizers(both, both)
    return Tokenizers(_tokenizer(config.of_source, folder), _tokenizer(config.of_target, folder))


def _tokenizer(config: SideConfig, folder: Path) -> Tokenizer:
    if config.file is not None:
        return train_tokenizer(config, (), folder)
    size = config.size or config.max_size or USUAL_SIZES.get(config.kind, DEFAULT_SUBWORDS)
    words = " ".join(map(str, range(size)))
    return train_tokenizer(SideConfig(kind="whitespace", size=size, min_frequency=1), [words])


def _shapes_of(model: nn.Module) -> nn.Module:
    """Returns a model of the same shapes without numbers; what parts share stays shared."""
    with torch.no_grad():
        made: dict[int, Any] = {id(tensor): tensor.to("meta") for tensor in model.buffers()}
        for parameter in model.parameters():
            made[id(parameter)] = nn.Parameter(parameter.to("meta"), parameter.requires_grad)
    return copy.deepcopy(model, made)


def _never_too_large(rows: Rows) -> tuple[str, str]:
    raise AssertionError("batches of shapes fit into any memory")


def _say_nothing(line: str) -> None:
    pass
