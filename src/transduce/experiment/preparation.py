"""From text to numbers and a model before its first update."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from transduce.bundle import BundleConfig, ModelBundle, read_config, read_tokenizers
from transduce.corpora.catalogue.files import cache_folder
from transduce.corpora.corpus import check_not_empty
from transduce.corpora.overlap import find_overlaps
from transduce.corpora.splits import Splits
from transduce.data.store import TokenStore, open_store
from transduce.errors import CheckpointError, ConfigError, DataError
from transduce.experiment.recipe import Recipe, differences
from transduce.models.families import build_model
from transduce.text.tokenizer import DEFAULT_SUBWORDS, TokenizerConfig, Tokenizers, train_tokenizers
from transduce.training.checkpoint import BUNDLE
from transduce.training.distributed import Processes


@dataclass(frozen=True)
class Prepared:
    """A model before its first update, and its data as numbers."""

    bundle: ModelBundle
    stores: list[TokenStore]
    validation: TokenStore


def prepare(
    recipe: Recipe, splits: Splits, checkpoint: Path | None, processes: Processes, tell: Callable[[str], None]
) -> Prepared:
    """Tokenizers, token stores and a model; raises ConfigError or DataError for what does not fit together."""
    config = recipe.config
    if checkpoint is None and processes.is_first:
        named = [splits.test] if splits.test and config.data.test else []  # a part that was drawn may be empty
        for corpus in [*(entry.corpus for entry in splits.train), *named]:
            check_not_empty(corpus)
    start = None
    if config.training.start_from is not None and checkpoint is None:
        try:
            start = ModelBundle.load(recipe.folder / config.training.start_from)
        except CheckpointError as error:
            raise CheckpointError(f"training.start_from: {error}") from None
        if start.config.model != config.model:
            first = next(iter(differences(start.config.model, config.model, "model.").values()))
            raise ConfigError(f"training.start_from: {first}; the model's settings must be those of the bundle")
    if start is not None:
        tokenizers, tokenizer_config = start.tokenizers, start.config.tokenizer
    elif checkpoint is not None:
        tokenizer_config = read_config(checkpoint / BUNDLE).tokenizer
        tokenizers = read_tokenizers(checkpoint / BUNDLE, tokenizer_config)
    else:
        tokenizer_config = config.tokenizer
        tokenizers = processes.from_first(lambda: _make_tokenizers(recipe, splits))
    tell(_describe_vocabulary(tokenizer_config, tokenizers))
    cache = cache_folder()
    with processes.first_goes_ahead():
        stores = [open_store(c.corpus, tokenizers, config.data.max_tokens, cache) for c in splits.train]
        validation = open_store(splits.validation, tokenizers, None, cache)
    for entry, store in zip(splits.train, stores, strict=True):
        tell(f"training data: {len(store):,} pairs from {entry.corpus.name}")
        for reason, dropped in store.dropped.items():
            tell(f"  left out: {dropped.count:,} {reason}, such as:")
            for example in dropped.examples:
                tell(f"    {example}")
    tell(f"validation data: {len(validation):,} pairs from {splits.validation.name}")
    if checkpoint is None and processes.is_first:
        _tell_overlaps(splits, tell)
    if start is not None:
        model = start.model
    else:
        model = build_model(config.model, len(tokenizers.source), len(tokenizers.target))
    for entry, store in zip(splits.train, stores, strict=True):
        _check_lengths(entry.corpus.name, store, model)
    _check_lengths(splits.validation.name, validation, model)
    bundle = ModelBundle(
        BundleConfig(
            format=1,
            source=config.data.source,
            target=config.data.target,
            model=config.model,
            tokenizer=tokenizer_config,
            longest_source=max(int(store.source.lengths.max()) for store in stores),
        ),
        model,
        tokenizers,
    )
    return Prepared(bundle, stores, validation)


def _make_tokenizers(recipe: Recipe, splits: Splits) -> Tokenizers:
    def side(name: str) -> Iterator[str]:
        return (getattr(pair, name) for entry in splits.train for pair in entry.corpus)

    return train_tokenizers(recipe.config.tokenizer, side("source"), side("target"), recipe.folder)


def _describe_vocabulary(config: TokenizerConfig, tokenizers: Tokenizers) -> str:
    """One line, with what a default size has become where the text does not yield that many subwords."""
    line = f"vocabulary: {len(tokenizers.source):,} source and {len(tokenizers.target):,} target tokens"
    sides = ((config.source or config, tokenizers.source), (config.target or config, tokenizers.target))
    if any(side.is_smaller_than_default(len(tokenizer)) for side, tokenizer in sides):
        line += f", all that the training text yields of the {DEFAULT_SUBWORDS:,} that are the default"
    return line


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
