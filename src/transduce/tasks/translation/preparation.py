"""From sentence pairs to numbers and a model before its first update."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from torch import nn

from transduce.bundle import FORMAT, BundleConfig, ModelBundle
from transduce.corpora.catalogue.files import cache_folder
from transduce.corpora.corpus import check_not_empty
from transduce.corpora.overlap import find_overlaps
from transduce.corpora.splits import Splits
from transduce.data.store import TokenStore, open_store
from transduce.errors import DataError
from transduce.models.families import build_model
from transduce.tasks.origin import find_origin, with_new_words
from transduce.tasks.translation.settings import TranslationConfig
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_training import train_tokenizers
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class Numbers:
    """A model before its first update, and its data as numbers."""

    bundle: ModelBundle
    stores: list[TokenStore]
    validation: TokenStore
    general: TokenStore | None
    """Validation data of what a model to start from knows already."""
    is_adapted: bool
    """Whether the model is one of `training.start_from`."""


def prepare(
    config: TranslationConfig,
    folder: Path,
    splits: Splits,
    checkpoint: Path | None,
    processes: Processes,
    tell: Callable[[str], None],
) -> Numbers:
    """Tokenizers, token stores and a model; raises ConfigError or DataError for what does not fit together."""
    if checkpoint is None and processes.is_first:
        named = [splits.test] if config.data.test else []  # a part that was drawn may be empty
        for corpus in [
            *(entry.corpus for entry in splits.train),
            *named,
            splits.general_validation,
            splits.general_test,
        ]:
            if corpus is not None:
                check_not_empty(corpus)

    def make_tokenizers() -> Tokenizers:
        return train_tokenizers(config.tokenizer, _side(splits, "source"), _side(splits, "target"), folder)

    origin = find_origin(config, config.model, config.tokenizer, folder, checkpoint, processes, make_tokenizers, tell)
    source, target = (partial(_side, splits, side) for side in ("source", "target"))
    origin = with_new_words(origin, config.training, config.model, folder, source, target, tell)
    tokenizers = origin.tokenizers
    tell(origin.describe_vocabulary())
    cache = cache_folder()
    with processes.first_process_first():
        stores = [open_store(c.corpus, tokenizers, config.data.max_tokens, cache) for c in splits.train]
        validation = open_store(splits.validation, tokenizers, None, cache)
        general = open_store(splits.general_validation, tokenizers, None, cache) if splits.general_validation else None
    for entry, store in zip(splits.train, stores, strict=True):
        tell(f"training data: {len(store):,} pairs from {entry.corpus.name}")
        for reason, dropped in store.dropped.items():
            tell(f"  left out: {dropped.count:,} {reason}, such as:")
            for example in dropped.examples:
                tell(f"    {example}")
    tell(f"validation data: {len(validation):,} pairs from {splits.validation.name}")
    if splits.general_validation and general:
        tell(f"general validation data: {len(general):,} pairs from {splits.general_validation.name}")
    if checkpoint is None and processes.is_first:
        _tell_overlaps(splits, tell)
    model = origin.model or build_model(config.model, len(tokenizers.source), len(tokenizers.target))
    for entry, store in zip(splits.train, stores, strict=True):
        _check_lengths(entry.corpus.name, store, model)
    _check_lengths(splits.validation.name, validation, model)
    if splits.general_validation and general:
        _check_lengths(splits.general_validation.name, general, model)
    bundle = BundleConfig(
        format=FORMAT,
        task=config.task,
        source=config.data.source,
        target=config.data.target,
        model=config.model,
        tokenizer=origin.config,
        longest_source=max(int(store.source.lengths.max()) for store in stores),
    )
    return Numbers(
        ModelBundle(bundle, model, tokenizers), stores, validation, general, config.training.start_from is not None
    )


def _side(splits: Splits, name: str) -> Iterator[str]:
    return (getattr(pair, name) for entry in splits.train for pair in entry.corpus)


def _tell_overlaps(splits: Splits, tell: Callable[[str], None]) -> None:
    """How many test pairs there are; held-out sentences that are trained on make scores look better than they are."""
    for overlap in find_overlaps((entry.corpus for entry in splits.train), splits.held_out):
        if splits.test is not None and overlap.name == splits.test.name:
            tell(f"test data: {overlap.pairs:,} pairs from {overlap.name}")
        if overlap.examples:
            tell(f"{overlap.describe()}, such as:")
            for example in overlap.examples:
                tell(f"    {example}")


def _check_lengths(name: str, store: TokenStore, model: nn.Module) -> None:
    """A learned table of positions ends somewhere, and no pair may reach beyond it."""
    for side, limit in (("source", model.source_limit), ("target", model.target_limit)):
        lengths = getattr(store, side).lengths + 1
        if limit is not None and lengths.max() > limit:
            number = int(lengths.argmax()) + 1
            raise DataError(
                f"{name}: the {side} of pair {number:,} has {lengths.max()} tokens with its end, but "
                f"model.max_positions = {limit}; raise it, or leave long training pairs out with data.max_tokens"
            )
