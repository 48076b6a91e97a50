"""Preparing a translation run: sentence pairs as numbers, and a model before its first update."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from torch import nn

from transduce.base.errors import ConfigError, DataError
from transduce.bundle.bundle_config import FORMAT, BundleConfig
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.context_settings import reads_both
from transduce.corpora.corpus import ParallelCorpus, check_not_empty, nothing_left
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.directions import MANY, Direction, LanguageTokens
from transduce.corpora.language_detector import DETECTION, is_shipped, own_profile
from transduce.corpora.languages import UNKNOWN
from transduce.corpora.overlap import OverlapSearch
from transduce.corpora.splits import Splits, WeightedCorpus
from transduce.corpora.splitting import Side
from transduce.data.context import in_context
from transduce.data.misaligned import why_misaligned
from transduce.data.store import TokenStore, all_dropped, open_store, open_stores
from transduce.models.families import build_model
from transduce.models.transformer import TransformerConfig
from transduce.tasks.origin import find_origin, with_new_words
from transduce.tasks.translation.translation_settings import TranslationConfig
from transduce.text.spread import Spread
from transduce.text.tokenizer import Tokenizers
from transduce.text.tokenizer_settings import BREAK, TokenizerConfig
from transduce.text.tokenizer_training import LEARN_NOTHING, describe_sample, train_tokenizers
from transduce.training.distributed import Processes

SIDES: tuple[Side, Side] = ("source", "target")
PROFILED = 5_000
"""The most sentences from which a language's profile is learned."""


@dataclass(frozen=True)
class Numbers:
    """A model before its first update, and its data as numbers."""

    bundle: ModelBundle
    stores: list[TokenStore]
    """Training pairs: a store for each file of a corpus."""
    corpora: list[WeightedCorpus]
    """The corpus of each store."""
    validation: dict[Direction | None, TokenStore]
    """Validation pairs of each direction; the key None is the only direction."""
    general: TokenStore | None
    """Validation pairs of the kind that the initial model was trained on."""
    is_adapted: bool
    """True if the model comes from `training.start_from`."""


def prepare(
    config: TranslationConfig,
    folder: Path,
    splits: Splits,
    checkpoint: Path | None,
    processes: Processes,
    tell: Callable[[str], None],
) -> Numbers:
    """Returns the model, tokenizers and token stores; raises ConfigError or DataError if they do not fit together."""
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

    asked = LanguageTokens.of(list(splits.directions), config.data.language_token) if splits.directions else None
    is_unread = isinstance(config.model, TransformerConfig) and config.model.decoder_start == "zeros"
    if asked is not None and asked.place == "decoder" and is_unread:
        raise ConfigError(
            'model.decoder_start = "zeros": the decoder would not read the language that data.language_token = '
            '"decoder" puts there; set it to "source"'
        )

    def make_tokenizers() -> Tokenizers:
        source, target = sample_of(splits, config.tokenizer, tell)
        made = train_tokenizers(config.tokenizer, source, target, folder)
        marks = ({} if asked is None else asked.tokens) | ({} if config.data.context is None else {BREAK: BREAK})
        return made.with_marks(marks) if marks else made

    origin = find_origin(config, config.model, config.tokenizer, folder, checkpoint, processes, make_tokenizers, tell)
    source, target = (partial(_side, splits, side) for side in SIDES)
    origin = with_new_words(origin, config.training, config.model, folder, source, target, tell)
    tokenizers = origin.tokenizers
    languages = asked if origin.start is None else _known_languages(config.data, origin.start, asked)
    context = config.data.context
    if origin.start is not None and (context is None) != (origin.start.context is None):
        if context is None:
            raise ConfigError("training.start_from: the model reads the sentences before; set data.context")
        raise ConfigError("training.start_from: the model reads no context; leave data.context out")
    if reads_both(context) and tokenizers.source.content != tokenizers.target.content:
        raise ConfigError('data.context.side = "both": both languages need one vocabulary; set tokenizer.shared = true')
    tell(origin.describe_vocabulary())
    if checkpoint is None and origin.start is not None and languages is None:
        _tell_other_languages(origin.start, config.data, tell)
    cache = cache_folder()
    overlaps = OverlapSearch(splits.held_out, cache) if checkpoint is None and processes.is_first else None
    watch = None if overlaps is None else overlaps.watched
    with processes.first_process_first():
        corpora = [entry for entry in splits.train for _ in entry.corpus.parts]
        parts = [part for entry in splits.train for part in entry.corpus.parts]
        stores = open_stores(parts, tokenizers, config.data.max_tokens, cache, watch)
        validation = {
            direction: open_store(corpus, tokenizers, None, cache)
            for direction, corpus in validation_corpora(splits).items()
        }
        general = open_store(splits.general_validation, tokenizers, None, cache) if splits.general_validation else None
        general = general and in_context(general, context, tokenizers)
    for entry in splits.train:
        of_entry = [store for corpus, store in zip(corpora, stores, strict=True) if corpus is entry]
        if not any(map(len, of_entry)):
            raise nothing_left(entry.corpus.name, {name: each.count for name, each in all_dropped(of_entry).items()})
        towards = "" if entry.direction is None else f" {entry.direction}"
        tell(f"training data{towards}: {sum(map(len, of_entry)):,} pairs from {entry.corpus.name}")
        if reason := why_misaligned(of_entry):
            tell(f"  careful: {reason}")
        for reason, dropped in all_dropped(of_entry).items():
            tell(f"  left out: {dropped.count:,} {reason}, such as:")
            for example in dropped.examples:
                tell(f"    {example}")
    if shares := config.data.noise.shares:
        tell(f"  with copies by data.noise: {', '.join(f'{share:.0%} {way}' for way, share in shares.items())}")
    count = sum(map(len, validation.values()))
    tell(f"validation data: {count:,} pairs from {splits.validation.name}")
    if splits.general_validation and general:
        tell(f"general validation data: {len(general):,} pairs from {splits.general_validation.name}")
    if overlaps is not None:
        _tell_overlaps(splits, overlaps, tell)
    model = origin.model or build_model(config.model, len(tokenizers.source), len(tokenizers.target))
    marked = 0 if languages is None else 1
    corpora = [corpus for corpus, store in zip(corpora, stores, strict=True) if len(store)]
    stores = [store for store in stores if len(store)]
    read_whole = [*stores, *(validation.values() if config.data.sequences else ())]  # pieces are other sequences
    longest = max(int(store.source.lengths.max()) for store in read_whole)
    stores = [in_context(store, context, tokenizers) for store in stores]
    validation = {direction: in_context(store, context, tokenizers) for direction, store in validation.items()}
    for entry, store in zip(corpora, stores, strict=True):
        _check_lengths(entry.corpus.name, store, model, marked)
    for store in validation.values():
        _check_lengths(splits.validation.name, store, model, marked)
    if splits.general_validation and general:
        _check_lengths(splits.general_validation.name, general, model, marked)
    known_length = 0 if origin.start is None else origin.start.longest_source  # which it still reads
    bundle = BundleConfig(
        format=FORMAT,
        task=config.task,
        source=config.data.source,
        target=config.data.target,
        model=config.model,
        tokenizer=origin.config,
        longest_source=max(known_length, longest),
        languages=languages,
        context=context,
        begin="bos" if origin.start is None else origin.start.begin,
    )
    if splits.directions:
        bundle = bundle.directed(Direction(MANY, MANY))
    is_adapted = config.training.start_from is not None
    history = origin.history | own_languages(splits, config.data, origin.history.get(DETECTION, {}))
    bundled = ModelBundle(bundle, model, tokenizers, history)
    return Numbers(bundled, stores, corpora, validation, general, is_adapted)


def validation_corpora(splits: Splits) -> dict[Direction | None, ParallelCorpus]:
    """Returns the validation corpus of each direction; the key None is the only direction."""
    if not splits.directions:
        return {None: splits.validation}
    return {direction: each.validation for direction, each in splits.directions.items()}


def _known_languages(data: DataConfig, start: BundleConfig, asked: LanguageTokens | None) -> LanguageTokens | None:
    """Returns the initial bundle's languages, with the run's directions added; raises ConfigError for unknown
    languages."""
    known = start.languages
    if known is None:
        if asked is not None:
            raise ConfigError("training.start_from: the model has one direction; leave data.directions out")
        return None
    if asked is not None and data.language_token != known.place:
        raise ConfigError(f'training.start_from: the model has data.language_token = "{known.place}"; set it so')
    directions = data.learned
    if Direction(*UNKNOWN) in directions:
        raise ConfigError(
            "training.start_from: the model knows several languages; say by data.source and data.target, or by "
            "data.directions, what it is to learn"
        )
    for direction in directions:
        for side, language, languages in (
            ("source", direction.source, known.tokens if known.place == "decoder" else [direction.source]),
            ("target", direction.target, known.tokens),
        ):
            if language not in languages:
                raise ConfigError(
                    f"training.start_from: the model has no token of the {side} language {language!r}; "
                    f"it has those of {', '.join(list(known.tokens)[:12])}; name one by data.{side}"
                )
    if known.directions is None:
        return known
    return msgspec.structs.replace(known, directions=tuple(dict.fromkeys([*known.directions, *map(str, directions)])))


def _tell_other_languages(start: BundleConfig, data: DataConfig, tell: Callable[[str], None]) -> None:
    """Warns if the languages differ from the initial bundle's: swapped files are a common mistake, but it may be
    intended."""
    known, asked = Direction(start.source, start.target), Direction(data.source, data.target)
    if asked != known and Direction(*UNKNOWN) not in (known, asked):
        tell(f"languages: the model translates {known}, and now learns {asked}")


def _side(splits: Splits, side: Side) -> Iterator[str]:
    """Yields the training text of a side."""
    return (getattr(pair, side) for entry in splits.train for pair in entry.corpus)


def own_languages(splits: Splits, data: DataConfig, known: Mapping[str, str]) -> dict[str, Any]:
    """Returns the part of a model's history by which a server detects the languages that only the model knows: to the
    profiles that are known those of new languages are added."""
    texts: dict[str, Spread[str]] = {}
    for entry in splits.train:
        direction = entry.direction or Direction(data.source, data.target)
        for side in SIDES:
            language = getattr(direction, side)
            if language not in (*UNKNOWN, MANY) and language not in known and not is_shipped(language):
                texts.setdefault(language, Spread(PROFILED)).extend(getattr(pair, side) for pair in entry.corpus)
    new = {language: own_profile(language, sample.items) for language, sample in texts.items()}
    return {DETECTION: {**known, **new}} if new else {}


def sample_of(splits: Splits, config: TokenizerConfig, tell: Callable[[str], None]) -> tuple[list[str], list[str]]:
    """Returns text of both sides to make tokenizers of, read in one pass; none if they learn nothing from text.

    If both sides share a tokenizer, text that occurs in several corpora is read once.
    """
    if all(side.kind in LEARN_NOTHING for side in (config.of_source, config.of_target)):
        return [], []
    repeated = [entry.repeated if config.is_shared else frozenset() for entry in splits.train]
    pairs = Spread[tuple[str | None, str | None]](config.sample)
    for entry, known in zip(splits.train, repeated, strict=True):
        if len(known) < len(SIDES):
            pairs.extend(
                (None if "source" in known else pair.source, None if "target" in known else pair.target)
                for pair in entry.corpus
            )
    if pairs.count > len(pairs.items):
        tell(describe_sample(len(pairs.items), pairs.count, "pairs"))
    return (
        [source for source, _ in pairs.items if source is not None],
        [target for _, target in pairs.items if target is not None],
    )


def _tell_overlaps(splits: Splits, search: OverlapSearch, tell: Callable[[str], None]) -> None:
    """Reports the number of test pairs, and held-out sentences that are trained on, which inflate scores."""
    for overlap in search.find(part for entry in splits.train for part in entry.corpus.parts):
        if splits.test is not None and overlap.name == splits.test.name:
            tell(f"test data: {overlap.pairs:,} pairs from {overlap.name}")
        if overlap.examples:
            tell(f"{overlap.describe()}, such as:")
            for example in overlap.examples:
                tell(f"    {example}")


def _check_lengths(name: str, store: TokenStore, model: nn.Module, marked: int) -> None:
    """Raises DataError for pairs longer than a learned table of positions, language tokens included."""
    for side, limit, more in (("source", model.source_limit, 1 + marked), ("target", model.target_limit, 1)):
        lengths = getattr(store, side).lengths + more
        if limit is not None and lengths.max() > limit:
            number = int(lengths.argmax()) + 1
            raise DataError(
                f"{name}: the {side} of pair {number:,} has {lengths.max()} tokens with its end, but "
                f"model.max_positions = {limit}; raise it, or leave long training pairs out with data.max_tokens"
            )
