"""Which sentence pairs make up each batch of an epoch: a function of the seed and the epoch alone."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from transduce.config import Settings
from transduce.data.batch import Batch, SpecialIds, make_batch, with_marks
from transduce.data.parts import cut, halve, needs, runs_that_fit, within
from transduce.data.store import TokenStore
from transduce.errors import DataError
from transduce.ranges import PositiveInt

SMALLER_PARTS = "raise training.accumulate, or lower batching.target_tokens (or sentences)"

BOTH_SIDES = 4
"""Times target_tokens: the most source and target tokens together of a batch, padding of each group counted."""

WITH_MIXED_LENGTHS = 6
"""Times target_tokens: the most source and target tokens of a batch that is worked through as one rectangle."""


class BatchingConfig(Settings, frozen=True):
    """How large a batch is: by target tokens, or by sentences."""

    target_tokens: PositiveInt | None = None
    """Maximum number of target tokens per batch, including the padding within groups; default 4,096 unless sentences is
    set. Source and target tokens together are limited to four times this number, so long sources also make batches
    smaller. A longer pair forms a batch of its own. A batch whose padded size as one rectangle exceeds six times this
    number is split into more parts than training.accumulate says."""
    sentences: PositiveInt | None = None
    """Number of sentence pairs per batch, instead of a limit on tokens."""
    groups: PositiveInt = 1
    """Number of random groups of similar length (buckets) that form a batch. Mixed lengths train better than equal
    ones;
    with training.accumulate, parts of similar length keep padding low. groups = sentences makes batches fully
    random."""

    def _check_together(self) -> None:
        if self.target_tokens is not None and self.sentences is not None:
            raise ValueError("give either target_tokens or sentences")

    @property
    def budget(self) -> int:
        """Target tokens of a batch that is not measured by sentences."""
        return self.target_tokens or 4096

    @property
    def of_a_group(self) -> "BatchingConfig":
        """The size of one group."""
        if self.sentences is not None:
            return BatchingConfig(sentences=max(self.sentences // self.groups, 1))
        return BatchingConfig(target_tokens=max(self.budget // self.groups, 1))

    def fits(self, rows: Any, source: Any, target: Any) -> Any:
        """Whether so many pairs, padded to these lengths, may be together; of numbers or of arrays of them."""
        if self.sentences is not None:
            return rows <= self.sentences
        return (rows * target <= self.budget) & (rows * (source + target) <= BOTH_SIDES * self.budget)


Plan = list[NDArray[np.int64]]
"""The pairs of each batch, in the order of training."""


@dataclass(frozen=True)
class Largest:
    """What needs most memory of all that is worked through at once."""

    parts: Plan
    """Each needs most by another measure."""
    needs: tuple[int, ...]
    """The most that any needs, by each measure: see `needs`."""
    has_several: bool
    """Whether several may be of one batch."""


@dataclass(frozen=True)
class TrainingData:
    """Several stores read as one, each pair as often in an epoch as its store's weight says."""

    stores: Sequence[TokenStore]
    weights: Sequence[float]
    special: SpecialIds
    config: BatchingConfig
    seed: int
    before: Sequence[Sequence[int]] | None = None
    """Tokens that stand before the sources of each store; None for none."""
    begins: Sequence[int] | None = None
    """The token that begins the targets of each store; None for that of `special`."""
    _largest: dict[int, Largest] = field(default_factory=dict, init=False, repr=False, compare=False)

    def plan(self, epoch: int) -> Plan:
        """Batches of pairs of similar length, in random order; the same for the same seed and epoch."""
        if epoch == 0:
            return self._first_plan
        random = np.random.default_rng([self.seed, epoch])
        return self._batches(random.permutation(self._draw(random)), random)

    def split(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        """A batch of a plan, cut into parts, at most so many unless memory asks for more: see `cut`, with the tokens of
        `target_tokens` as the most. No part needs more than those of `largest` do."""
        return self.split_within(pairs, parts, self.largest(parts).needs)

    def split_within(self, pairs: NDArray[np.int64], parts: int, most: tuple[int, ...]) -> Plan:
        """The same, where no part may need more than this by the measures of `needs`."""
        fits = within(most)
        cut_parts = self._cut(pairs, parts)
        return [part[start:stop] for part in cut_parts for start, stop in halve(*self._lengths(part), fits)]

    def largest(self, parts: int) -> Largest:
        """The parts that need most memory of all that any epoch's batches are cut into.

        They are sought once: in the first epoch, and where that has not all pairs, in a plan that has.
        """
        if parts not in self._largest:
            plans, is_alike = [self.plan(0)], self.config.groups == 1
            if any(weight % 1 for weight in self.weights):
                is_alike = False
                random = np.random.default_rng(self.seed)
                whole = replace(self, weights=[math.ceil(weight) for weight in self.weights])
                plans.append(self._batches(random.permutation(whole._draw(random)), random))
            met = [self._cut(batch, parts) for plan in plans for batch in plan]
            together = [part for of_batch in met for part in of_batch]
            has_several = not is_alike or len(together) > len(met)  # lengths meet others in each epoch, or never
            self._largest[parts] = largest_of(together, [self._needs(part) for part in together], has_several)
        return self._largest[parts]

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Source and target tokens of some pairs of a plan as one batch, padding counted."""
        source, target = self._lengths(pairs)
        return len(pairs) * int(source.max() + target.max())

    def too_large(self, pairs: NDArray[np.int64]) -> tuple[str, str]:
        """What to say of some pairs of a plan whose batch is beyond the memory, and what to do then."""
        source, target = (int(lengths.max()) for lengths in self._lengths(pairs))
        if len(pairs) == 1:
            what = f"a pair of {source:,} source and {target:,} target tokens"
            return what, f"leave such pairs out by data.max_tokens, {max(source, target) - 2:,} or fewer"
        tokens = len(pairs) * (source + target)
        return f"the largest part of a batch, {len(pairs):,} pairs of {tokens:,} tokens with padding,", SMALLER_PARTS

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """The padded ids of some pairs of a plan."""
        starts = self._starts()
        places = [(int(store), int(pair - starts[store])) for store, pair in self._located(pairs)]
        return make_batch(
            [with_marks(self.stores[store].source[i], self._before[store]) for store, i in places],
            [self.stores[store].target[i] for store, i in places],
            self.special,
            None if self.begins is None else [self.begins[store] for store, _ in places],
        )

    @property
    def _before(self) -> Sequence[Sequence[int]]:
        return [()] * len(self.stores) if self.before is None else self.before

    @cached_property
    def _first_plan(self) -> Plan:
        random = np.random.default_rng([self.seed, 0])
        return self._batches(random.permutation(self._draw(random)), random)

    def _batches(self, pairs: NDArray[np.int64], random: np.random.Generator) -> Plan:
        if not len(pairs):
            raise DataError("data.train: with these weights an epoch has no pairs; raise a corpus's weight")
        source, target = self._lengths(pairs)
        groups = plan_batches(source, target, self.config.of_a_group)
        shuffled = random.permutation(len(groups))
        batches = []
        for together in self._together([groups[i] for i in shuffled], source, target):
            batch = np.concatenate(together)
            batches.append(pairs[batch[np.lexsort((source[batch], target[batch]))]])
        return batches

    def _together(self, groups: Plan, source: NDArray[np.int64], target: NDArray[np.int64]) -> Iterator[Plan]:
        """The groups of each batch: fewer where some are a pair that takes more than a group's part."""
        together: Plan = []
        tokens = target_tokens = 0
        for group in groups:
            of_target = len(group) * int(target[group].max())
            of_both = of_target + len(group) * int(source[group].max())
            fits = self.config.sentences is not None or (
                target_tokens + of_target <= self.config.budget and tokens + of_both <= BOTH_SIDES * self.config.budget
            )
            if together and (len(together) == self.config.groups or not fits):
                yield together
                together, tokens, target_tokens = [], 0, 0
            together.append(group)
            tokens, target_tokens = tokens + of_both, target_tokens + of_target
        yield together

    def _cut(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        by_sentences = self.config.sentences is not None
        most = np.inf if by_sentences else WITH_MIXED_LENGTHS * self.config.budget // parts
        return [pairs[start:stop] for start, stop in cut(*self._lengths(pairs), parts, most)]

    def _needs(self, pairs: NDArray[np.int64]) -> tuple[int, ...]:
        source, target = self._lengths(pairs)
        return needs(len(pairs), int(source.max()), int(target.max()))

    def _draw(self, random: np.random.Generator) -> NDArray[np.int64]:
        drawn = []
        for start, store, weight in zip(self._starts(), self.stores, self.weights, strict=True):
            whole, part = divmod(weight, 1)
            pairs = np.arange(start, start + len(store))
            drawn += [pairs] * int(whole)
            drawn.append(random.permutation(pairs)[: round(part * len(store))])
        return np.concatenate(drawn)

    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum([len(store) for store in self.stores])[:-1]])

    def _located(self, pairs: NDArray[np.int64]) -> list[tuple[int, int]]:
        stores = np.searchsorted(self._starts(), pairs, side="right") - 1
        return list(zip(stores.tolist(), pairs.tolist(), strict=True))

    def _lengths(self, pairs: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Source and target tokens of each pair, the end token counted."""
        source, target = self._all_lengths
        return source[pairs] + 1, target[pairs] + 1

    @cached_property  # asked for at every update, and for every batch before the first one
    def _all_lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return (
            np.concatenate([s.source.lengths + len(ids) for s, ids in zip(self.stores, self._before, strict=True)]),
            np.concatenate([store.target.lengths for store in self.stores]),
        )


def plan_batches(source: NDArray[np.int64], target: NDArray[np.int64], config: BatchingConfig) -> Plan:
    """Cut pairs of these lengths, sorted by target then source, into batches of positions; equal lengths keep order."""
    order = np.lexsort((source, target))
    return [order[start:stop] for start, stop in runs_that_fit(source[order], target[order], config.fits)]


def split_evenly(pairs: NDArray[np.int64], parts: int) -> Plan:
    """A batch in so many parts, as even as can be and none of them empty."""
    return [part for part in np.array_split(pairs, min(parts, len(pairs))) if len(part)]


def largest_of(parts: Plan, of_each: Sequence[tuple[int, ...]], has_several: bool = False) -> Largest:
    """Of parts and what each needs; none that needs nothing more than another is told of."""
    found = np.array(of_each)  # [parts, measures]
    most = {of_each[np.lexsort((found.sum(1), measure))[-1]] for measure in found.T}
    alone = [one for one in most if not any(one != other and _covers(other, one) for other in most)]
    return Largest([parts[of_each.index(one)] for one in sorted(alone)], tuple(found.max(0).tolist()), has_several)


def _covers(needs: tuple[int, ...], others: tuple[int, ...]) -> bool:
    return all(need >= other for need, other in zip(needs, others, strict=True))
