"""The task of pre-training a text encoder with hidden words and next sentences; see tasks/task.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from msgspec import Meta
from torch import nn
from torch.nn import functional

from transduce.base.config import Settings
from transduce.base.errors import ConfigError, DataError, InputError
from transduce.base.ranges import ShareWithin
from transduce.bundle.model_bundle import ModelBundle
from transduce.bundle.probe import PROBE_CHARACTERS, PROBES
from transduce.corpora.catalogue.download import Progress
from transduce.corpora.formats import text_file
from transduce.corpora.labelled_text import ExampleCorpus
from transduce.corpora.text_documents import TextDocument, documents_of, open_dataset_text
from transduce.data.batch import SpecialIds
from transduce.data.examples import TextBatchingConfig
from transduce.data.masked_texts import MaskedBatch, MaskedTexts, SentenceStore, store_sentences
from transduce.data.masking import Masking, MaskingConfig
from transduce.data.planned import Epoch
from transduce.models.bert import BertConfig
from transduce.models.heads import WordHeadConfig
from transduce.objectives.masked_words import MaskedWords, masked_logits
from transduce.tasks.encoder_data import Examples
from transduce.tasks.encoder_origin import find_encoder
from transduce.tasks.encoder_settings import EncoderExperimentConfig, check_encoder
from transduce.tasks.task import Input, Prepared, Rate, Tell, TestData, tokenizer_inputs
from transduce.text.tokenizer import Tokenizer, Tokenizers
from transduce.text.tokenizer_settings import TokenizerConfig
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Validation

DEFAULT_SHARE = 0.02
VALIDATION_SEED = 1
SCORES = ["masked_accuracy", "next_accuracy"]


class DocumentsConfig(Settings, frozen=True):
    """Built-in data sets, or files of text, a sentence a line and a blank line between documents; paths are relative to
    the file that names them."""

    dataset: str | list[str] | None = None
    """Names of built-in texts, or of sentence pairs, of which one side is read."""
    language: str = "en"
    """Language of the text."""
    train: str | list[str] | None = None
    """Training files, plain text or .gz, .xz and .zst."""
    validation: str | list[str] | None = None
    """Validation files (default: a share of the documents)."""
    validation_share: ShareWithin | None = None
    """Share of the documents to validate on, drawn at random (default: 0.02)."""
    document_lines: Annotated[int, Meta(ge=2, le=1_000_000)] = 100
    """Maximum lines of a document; text without blank lines is cut into documents of this length."""

    def _check_together(self) -> None:
        for name in ("dataset", "train", "validation"):
            if (named := getattr(self, name)) is not None and not named:
                raise ValueError(f"{name} is empty; name one or more, or leave it out")
        if (self.dataset is None) == (self.train is None):
            raise ValueError("give either dataset or train")
        if self.validation_share is not None and self.validation is not None:
            raise ValueError("validation_share: validation data are given; leave one of them out")


class PretrainingConfig(EncoderExperimentConfig, frozen=True, kw_only=True):
    """All settings of a run that pre-trains a text encoder."""

    data: DocumentsConfig
    """The documents to learn from."""
    tokenizer: TokenizerConfig = TokenizerConfig(kind="bert", lowercase=True)
    """The tokenizer, which makes tokens of text and must have [MASK]. A model to start from keeps its own."""
    masking: MaskingConfig = MaskingConfig()
    """Settings for hiding tokens."""
    next_sentence: bool = True
    """Also learn whether a text follows another (RoBERTa leaves it out)."""


@dataclass(frozen=True)
class EncoderExperiment:
    """The documents of a run; see Experiment."""

    config: PretrainingConfig
    folder: Path
    texts: Examples[TextDocument]

    @property
    def name(self) -> str:
        """See Experiment."""
        return self.texts.train.name

    @property
    def inputs(self) -> list[Input]:
        """See Experiment."""
        return [*tokenizer_inputs(self.config.tokenizer, self.folder), *self.texts.inputs]

    @cached_property
    def examples(self) -> list[tuple[str, str]]:
        """The beginnings of a few documents."""
        return [(document.sentences[0][:PROBE_CHARACTERS], "") for document in islice(self.texts.train, PROBES)]

    def prepare(self, checkpoint: Path | None, processes: Processes, teacher_forcing: Rate, tell: Tell) -> Prepared:
        """See Experiment."""
        config, texts = self.config, self.texts
        for corpus in (texts.train, texts.validation):
            if next(iter(corpus), None) is None:
                raise DataError(f"{corpus.name}: there are no documents")
        origin = find_encoder(config, self.folder, checkpoint, processes, lambda: self._make_tokenizers(tell), tell)
        tokenizer = origin.tokenizers.target
        if tokenizer.mask is None:
            raise ConfigError('tokenizer: it has no [MASK] to hide words; set kind = "bert", or bring one that has')
        if config.next_sentence and isinstance(origin.config, BertConfig) and not origin.config.pooler:
            raise ConfigError("next_sentence needs model.pooler; set next_sentence = false")
        bundle = origin.bundle(
            config.task,
            config.data.language,
            WordHeadConfig(next_sentence=config.next_sentence),
            config.batching.max_tokens,
        )
        train, validation = (
            store_sentences(corpus, tokenizer, corpus.name) for corpus in (texts.train, texts.validation)
        )
        for kind, store, corpus in (("training", train, texts.train), ("validation", validation, texts.validation)):
            documents, sentences = len(store.documents) - 1, len(store.sentences) - 1
            tell(
                f"{kind} data: {len(store):,} tokens, {sentences:,} sentences, {documents:,} documents of {corpus.name}"
            )
        tell(f"vocabulary: {len(tokenizer):,} tokens")
        validator = self._validator(bundle.special, tokenizer, validation)
        for name, share in validator.baselines.items():
            tell(f"always the most frequent answer: {name} {share:.4f}")
        masking = Masking.of(config.masking, tokenizer)
        rows = MaskedTexts(train, masking, bundle.special, config.batching, config.next_sentence, config.seed)
        return Prepared(
            bundle, rows.planned(), MaskedWords(), validator, f"{len(train.sentences) - 1:,} sentences", "hidden words"
        )

    def validator(self, bundle: ModelBundle) -> "EncoderValidator":
        """See Experiment."""
        tokenizer = bundle.tokenizers.target
        store = store_sentences(self.texts.validation, tokenizer, self.texts.validation.name)
        return self._validator(bundle.special, tokenizer, store)

    def test(self, bundle: ModelBundle, processes: Processes) -> dict[str, Any] | None:
        """Returns None: an encoder is judged by the tasks it is fine-tuned for."""
        return None

    @property
    def tested(self) -> TestData:
        """Raises InputError: pre-trained encoders are compared on the tasks they are fine-tuned for."""
        raise InputError("pre-trained encoders cannot be compared by a sweep; sweep what is fine-tuned from them")

    def _validator(self, special: SpecialIds, tokenizer: Tokenizer, store: SentenceStore) -> "EncoderValidator":
        config = self.config
        # the same rows and hidden tokens for all models of one tokenizer, not those of training
        masking = Masking.of(MaskingConfig(share=config.masking.share), tokenizer)
        batching = TextBatchingConfig(tokens=4096, max_tokens=config.batching.max_tokens)
        rows = MaskedTexts(store, masking, special, batching, config.next_sentence, VALIDATION_SEED)
        return EncoderValidator(rows.planned().epoch(0), config.validation.best_by)

    def _make_tokenizers(self, tell: Tell) -> Tokenizers:
        texts = (sentence for document in self.texts.train for sentence in document.sentences)
        return train_tokenizers(self.config.tokenizer, texts, (), self.folder, tell=tell)


@dataclass(frozen=True)
class EncoderValidator:
    """Validates a pre-trained encoder; see tasks/task.py."""

    data: Epoch[MaskedBatch]
    best_by: str

    @cached_property
    def baselines(self) -> dict[str, float]:
        """The accuracies of a baseline that always gives the most frequent answer."""
        batches = [self.data.make(rows) for rows in self.data.batches]
        words = np.bincount(torch.cat([batch.words for batch in batches]).numpy())
        accuracies = {"masked_accuracy": float(words.max() / words.sum())}
        follow = [batch.follows for batch in batches if batch.follows is not None]
        if follow:
            follows = np.bincount(torch.cat(follow).numpy())
            accuracies["next_accuracy"] = float(follows.max() / follows.sum())
        return accuracies

    @torch.inference_mode()
    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        device = next(model.parameters()).device

        def count(logits: torch.Tensor, truth: torch.Tensor) -> tuple[float, float, int]:
            """Returns the sum of losses, the number of right predictions, and that of all."""
            loss = functional.cross_entropy(logits.float(), truth, reduction="sum")
            return float(loss), float((logits.argmax(-1) == truth).sum()), len(truth)

        own: list[dict[str, tuple[float, float, int]]] = []
        for rows in processes.share(self.data.batches):
            batch = self.data.make(rows).to(device)
            logits = masked_logits(model, batch)
            counts = {"masked": count(logits.words, batch.words)}
            if logits.follows is not None and batch.follows is not None:
                counts["next"] = count(logits.follows, batch.follows)
            own.append(counts)
        of_batches = processes.gather_shares(own)
        scores: dict[str, float] = {}
        for name in of_batches[0]:
            loss, right, total = (sum(numbers) for numbers in zip(*(each[name] for each in of_batches), strict=True))
            scores |= {f"{name}_loss": loss / max(total, 1), f"{name}_accuracy": right / max(total, 1)}
        loss = sum(score for name, score in scores.items() if name.endswith("_loss"))
        scores = {"loss": loss} | scores
        if self.best_by not in scores:
            raise ConfigError(f"validation.best_by = '{self.best_by}', but there are no pairs of texts; choose another")
        return Validation.by(self.best_by, scores, rises=self.best_by != "loss")

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Returns nothing: validation keeps no gradients."""
        return ()


def open_documents(config: DocumentsConfig, folder: Path, progress: Progress | None = None) -> Examples[TextDocument]:
    """Opens the documents that the settings name; relative paths start from the folder."""

    def names(named: str | list[str]) -> list[str]:
        return [named] if isinstance(named, str) else named

    def joined(files: str | list[str]) -> ExampleCorpus[TextDocument]:
        paths = [folder / file for file in names(files)]
        corpora = [documents_of(text_file(path), config.document_lines) for path in paths]
        return ExampleCorpus.joined(", ".join(map(str, paths)), corpora)

    if config.dataset is not None:
        texts = [open_dataset_text(name, config.language, progress) for name in names(config.dataset)]
        corpora = [documents_of(text, config.document_lines) for text in texts]
        train = ExampleCorpus.joined(", ".join(text.name for text in texts), corpora)
    else:
        train = joined(config.train or [])
    if config.validation is not None:
        return Examples(train, joined(config.validation), None)
    share = config.validation_share or DEFAULT_SHARE
    return Examples(*train.drawn(share, lambda document: document.place), None)


class EncoderTask:
    """See Task."""

    config = PretrainingConfig

    def check(self, config: PretrainingConfig) -> None:
        """See `check_encoder`; raises ConfigError for other metrics, too."""
        check_encoder(config)
        known = SCORES if config.next_sentence else SCORES[:1]
        if config.validation.metrics:
            raise ConfigError(f"validation.metrics: all of {', '.join(known)} are always reported; leave it out")
        if config.validation.best_by not in ("loss", *known):
            raise ConfigError(
                f"validation.best_by = '{config.validation.best_by}': choose from loss, {', '.join(known)}"
            )

    def open(self, config: PretrainingConfig, folder: Path, progress: Progress | None = None) -> EncoderExperiment:
        """See Task."""
        return EncoderExperiment(config, folder, open_documents(config.data, folder, progress))

    def describe_test(self, test: dict[str, Any]) -> str:
        """Returns "": there is no test."""
        return ""


ENCODER = EncoderTask()
