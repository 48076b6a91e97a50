"""Measuring how well a language model predicts a text, and samples of its continuations."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from torch import nn

from transduce.base.errors import InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.corpus import TextCorpus
from transduce.data.text_store import TextStore, open_text_store
from transduce.data.windows import WindowsConfig
from transduce.evaluation.dynamic import DynamicEvaluation, read_dynamically
from transduce.evaluation.loss import BatchLoss, mean_loss, sum_losses
from transduce.evaluation.perplexity import LineCounts, count_text, read_in_order
from transduce.inference.generator import Generator
from transduce.inference.growing_text import text_of
from transduce.models.transformer_xl import SegmentDecoder
from transduce.models.xlnet import XLNetDecoder
from transduce.search.beam import Beam
from transduce.training.distributed import ALONE, Processes
from transduce.training.memory_check import MemoryTrial
from transduce.training.validation import Sample, Validation

SAMPLE_TOKENS = 32  # of a prompt, and of its continuation
TOKENS_AT_ONCE = WindowsConfig().target_tokens  # if the needs of training are unknown


@dataclass(frozen=True)
class Reading:
    """Settings by which a model reads the text that it is measured on."""

    memory: int | None = None
    """Number of preceding tokens that the model remembers (default: as in training)."""
    dynamic: DynamicEvaluation | None = None
    """Settings for learning from the text while reading (dynamic evaluation); None: off."""


PLAIN = Reading()


def measure_text(
    model: nn.Module, store: TextStore, config: WindowsConfig, dynamic: DynamicEvaluation | None = None
) -> dict[str, float]:
    """Returns a model's scores on a text, read with `read_in_order` or `read_dynamically`.

    `loss` is in nats per token, `perplexity` its exponential; perplexity per word (line ends count as words) and bits
    per character are comparable across tokenizers.
    """
    read = read_dynamically(model, store, config, dynamic) if dynamic else read_in_order(model, store, config)
    return _scores_of(sum_losses(read), store)


def _scores_of(losses: Iterable[BatchLoss], store: TextStore) -> dict[str, float]:
    scores = mean_loss(losses)
    nats = scores["loss"] * (len(store) - 1)
    of_a_word = math.exp(min(nats / max(store.words, 1), 700))
    return scores | {"word_perplexity": of_a_word, "bits_per_character": nats / math.log(2) / max(store.characters, 1)}


def score_text(
    bundle: ModelBundle, text: TextCorpus, tokens_at_once: int = TOKENS_AT_ONCE, reading: Reading = PLAIN
) -> dict[str, float]:
    """Scores a bundle's model with `measure_text`, in windows as long as those that it was trained on.

    Raises InputError if the model has no memory to set.
    """
    store = open_text_store(text, bundle.tokenizers.target, cache_folder())
    with remembering(bundle.model, reading.memory):
        return measure_text(bundle.model, store, windows_of(bundle, tokens_at_once), reading.dynamic)


@contextmanager
def remembering(model: nn.Module, tokens: int | None) -> Iterator[None]:
    """Sets a model's memory to this many tokens within the block (Dai et al. 2019, section 4.3); None keeps its own.

    Raises InputError for a model without such a memory.
    """
    if tokens is None:
        yield
        return
    decoder: Any = getattr(model, "decoder", None)
    if not isinstance(decoder, SegmentDecoder | XLNetDecoder):
        raise InputError("memory is for models that attend to a memory of earlier segments: Transformer-XL and XLNet")
    trained, decoder.memory = decoder.memory, tokens
    try:
        yield
    finally:
        decoder.memory = trained


def count_lines(bundle: ModelBundle, text: TextCorpus, tokens_at_once: int = TOKENS_AT_ONCE) -> LineCounts:
    """Counts for a bundle's model with `count_text`, in windows as long as those that it was trained on."""
    tokenizer = bundle.tokenizers.target
    store = open_text_store(text, tokenizer, cache_folder())
    return count_text(bundle.model, tokenizer, store, text, windows_of(bundle, tokens_at_once))


def windows_of(bundle: ModelBundle, tokens_at_once: int = TOKENS_AT_ONCE) -> WindowsConfig:
    """Returns the settings of windows in which a model reads a text it is measured on, up to `tokens_at_once`
    together."""
    return WindowsConfig(window=bundle.config.longest_source, target_tokens=tokens_at_once)


@dataclass(frozen=True)
class LanguageValidator:
    """Validates a language model; see tasks/task.py."""

    bundle: ModelBundle
    store: TextStore
    windows: WindowsConfig
    samples: int

    def __call__(self, model: nn.Module, processes: Processes = ALONE) -> Validation:
        """See Validator."""
        own = read_in_order(model, self.store, self.windows, processes.rank, processes.count)
        scores = _scores_of(processes.gather_shares(list(sum_losses(own))), self.store)
        if not processes.is_first:
            return Validation(scores, scores["loss"])
        return Validation(scores, scores["loss"], self._samples(model))

    def trials(self, model: nn.Module) -> Sequence[MemoryTrial]:
        """Returns nothing: validation batches are no larger than a part of a training batch, and keep no gradients."""
        return ()

    def _samples(self, model: nn.Module) -> list[Sample]:
        tokenizer = self.bundle.tokenizers.target
        generator = Generator(ModelBundle(self.bundle.config, model, self.bundle.tokenizers))
        samples = []
        for start in range(0, self.samples * 2 * SAMPLE_TOKENS, 2 * SAMPLE_TOKENS):
            ids = self.store.ids[start : start + 2 * SAMPLE_TOKENS].tolist()
            if len(ids) < 2 * SAMPLE_TOKENS:
                break
            prompt, whole = text_of(tokenizer, ids[:SAMPLE_TOKENS]), text_of(tokenizer, ids)
            generated = generator.generate(prompt, Beam(size=1), max_tokens=SAMPLE_TOKENS)
            samples.append(Sample(prompt, whole[len(prompt) :], generated.continuation))
        return samples
