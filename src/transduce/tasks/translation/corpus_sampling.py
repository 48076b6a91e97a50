"""The pairs of each corpus in an epoch, and the language tokens before them."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar, cast

from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.corpora.directions import Direction
from transduce.corpora.splits import Splits, WeightedCorpus
from transduce.data.batch import Batch
from transduce.data.context import drop_context
from transduce.data.planned import PlannedData
from transduce.data.sentence_pairs import SentencePairs
from transduce.inference.engines.exported import Model
from transduce.tasks.translation.preparation import Numbers
from transduce.tasks.translation.translation_settings import TranslationConfig

AnyModel = TypeVar("AnyModel", bound=Model)


def training_data(config: TranslationConfig, splits: Splits, numbers: Numbers) -> PlannedData[Batch]:
    """Returns the stores of all training corpora, read as one."""
    bundle, sizes = numbers.bundle, list(map(len, numbers.stores))
    weights = weights_of(numbers.corpora, sizes, config.data.temperature)
    context = config.data.context
    of_epoch = partial(drop_context, context.dropout) if context is not None and context.dropout else None
    pairs = SentencePairs(numbers.stores, weights, bundle.special, config.batching, config.seed, of_epoch=of_epoch)
    if bundle.config.languages is not None:
        directions = [entry.direction for entry in numbers.corpora]
        directed = [bundle if direction is None else bundle.directed(direction) for direction in directions]
        begins = [each.special.target_bos for each in directed]
        pairs = replace(pairs, before=[each.marks.source for each in directed], begins=begins)
    return pairs.sharing(cache_folder()).planned()


def weights_of(corpora: Sequence[WeightedCorpus], sizes: Sequence[int], temperature: float) -> list[float]:
    """Returns how many times an epoch includes each pair of corpora of these sizes; one of several files is named for
    each.

    Of n weighted pairs of a direction, or of a corpus where there is one direction, it includes n^(1/T), times a factor
    that keeps the length of the epoch without temperature T (Arivazhagan et al. 2019, section 4.1).
    """
    weights = [corpus.weight for corpus in corpora]
    if temperature == 1:
        return weights
    groups: list[Direction | int] = [corpus.direction or id(corpus) for corpus in corpora]
    pairs: dict[Direction | int, float] = {}
    for group, corpus, size in zip(groups, corpora, sizes, strict=True):
        pairs[group] = pairs.get(group, 0.0) + corpus.weight * size
    wanted = {group: count ** (1 / temperature) for group, count in pairs.items()}
    scale = sum(pairs.values()) / sum(wanted.values())
    return [corpus.weight * scale * wanted[group] / pairs[group] for corpus, group in zip(corpora, groups, strict=True)]


def in_own_direction(config: TranslationConfig, splits: Splits, bundle: AnyModel) -> AnyModel:
    """Returns a model of several directions with one chosen, if the run trains it in one."""
    if bundle.config.languages is None or splits.directions:
        return bundle
    return cast(AnyModel, bundle.directed(Direction(config.data.source, config.data.target)))
