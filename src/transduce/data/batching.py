"""Which sentence pairs make up each batch of an epoch: a function of the seed and the epoch alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from transduce.config import Settings
from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.data.store import TokenStore
from transduce.errors import DataError
from transduce.ranges import PositiveInt


class BatchingConfig(Settings, frozen=True):
    """How large a batch is: by target tokens, or by sentences."""

    target_tokens: PositiveInt | None = None
    """Most target tokens of a batch, padding of each group counted; 4,096 unless sentences are given."""
    sentences: PositiveInt | None = None
    """Sentence pairs of a batch."""
    groups: PositiveInt = 1
    """Groups that a batch is made of, each of similar lengths: several teach more in an update than one, and
    training.accumulate works through them one by one with little padding. As many as sentences make it random."""

    def _check_together(self) -> None:
        if self.target_tokens is not None and self.sentences is not None:
            raise ValueError("give either target_tokens or sentences")

    @property
    def of_a_group(self) -> "BatchingConfig":
        """The size of one group."""
        if self.sentences is not None:
            return BatchingConfig(sentences=max(self.sentences // self.groups, 1))
        return BatchingConfig(target_tokens=max((self.target_tokens or 4096) // self.groups, 1))


Plan = list[NDArray[np.int64]]
"""The pairs of each batch, in the order of training."""


@dataclass(frozen=True)
class TrainingData:
    """Several stores read as one, each pair as often in an epoch as its store's weight says."""

    stores: Sequence[TokenStore]
    weights: Sequence[float]
    special: SpecialIds
    config: BatchingConfig
    seed: int

    def plan(self, epoch: int) -> Plan:
        """Batches of pairs of similar length, in random order; the same for the same seed and epoch."""
        random = np.random.default_rng([self.seed, epoch])
        pairs = random.permutation(self._draw(random))
        if not len(pairs):
            raise DataError("data.train: with these weights an epoch has no pairs; raise a corpus's weight")
        source, target = self._lengths(pairs)
        groups = plan_batches(source, target, self.config.of_a_group)
        shuffled = random.permutation(len(groups))
        batches = []
        for start in range(0, len(groups), self.config.groups):
            batch = np.concatenate([groups[i] for i in shuffled[start : start + self.config.groups]])
            batches.append(pairs[batch[np.lexsort((source[batch], target[batch]))]])
        return batches

    def split(self, pairs: NDArray[np.int64], parts: int) -> Plan:
        """A batch of a plan, cut into at most so many parts where that saves the most padding."""
        return [pairs[start:stop] for start, stop in least_padding(*self._lengths(pairs), parts)]

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Source and target tokens of some pairs of a plan as one batch, padding counted."""
        source, target = self._lengths(pairs)
        return len(pairs) * int(source.max() + target.max())

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """The padded ids of some pairs of a plan."""
        starts = self._starts()
        places = [(int(store), int(pair - starts[store])) for store, pair in self._located(pairs)]
        return make_batch(
            [self.stores[store].source[i] for store, i in places],
            [self.stores[store].target[i] for store, i in places],
            self.special,
        )

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
            np.concatenate([store.source.lengths for store in self.stores]),
            np.concatenate([store.target.lengths for store in self.stores]),
        )


def plan_batches(source: NDArray[np.int64], target: NDArray[np.int64], config: BatchingConfig) -> Plan:
    """Cut pairs of these lengths, sorted by target then source, into batches of positions; equal lengths keep order."""
    order = np.lexsort((source, target))
    if config.sentences is not None:
        return [order[start : start + config.sentences] for start in range(0, len(order), config.sentences)]
    budget = config.target_tokens or 4096
    batches, start = [], 0
    for stop, length in enumerate(target[order].tolist()):
        if (stop + 1 - start) * length > budget and stop > start:  # sorted: this is the longest of the batch
            batches.append(order[start:stop])
            start = stop
    return [*batches, order[start:]] if len(order) else []


def least_padding(source: NDArray[np.int64], target: NDArray[np.int64], parts: int) -> list[tuple[int, int]]:
    """Runs (start, stop) of pairs sorted by target length, at most so many, that need the fewest padded tokens."""
    if parts == 1:
        return [(0, len(target))]
    edges = [0, *(np.flatnonzero(np.diff(target)) + 1).tolist(), len(target)]  # only cut where the length changes
    cost = np.full((parts + 1, len(edges)), np.inf)  # [parts used, edge reached]
    cost[:, 0] = 0
    origin = np.zeros((parts + 1, len(edges)), dtype=np.int64)
    for stop in range(1, len(edges)):
        longest_source = np.maximum.accumulate(source[: edges[stop]][::-1])[::-1]  # from each pair to the last
        starts = np.array(edges[:stop])
        padded = (edges[stop] - starts) * (target[edges[stop] - 1] + longest_source[starts])
        for used in range(1, parts + 1):
            total = cost[used - 1, :stop] + padded
            origin[used, stop] = total.argmin()
            cost[used, stop] = total.min()
    runs, stop, used = [], len(edges) - 1, parts
    while stop:
        start = int(origin[used, stop])
        runs.append((edges[start], edges[stop]))
        stop, used = start, used - 1
    return runs[::-1]
