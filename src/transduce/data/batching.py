"""Which sentence pairs make up each batch of an epoch: a function of the seed and the epoch alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from transduce.config import Settings
from transduce.data.batch import Batch, SpecialIds, make_batch
from transduce.data.store import TokenStore


class BatchingConfig(Settings, frozen=True):
    """How large a batch is: by target tokens, or by sentences."""

    target_tokens: int | None = None
    """Most target tokens of a batch, padding counted; 4,096 unless sentences are given."""
    sentences: int | None = None
    """Sentence pairs of a batch."""

    def __post_init__(self) -> None:
        if self.target_tokens is not None and self.sentences is not None:
            raise ValueError("give either target_tokens or sentences")
        if min(self.target_tokens or 1, self.sentences or 1) < 1:
            raise ValueError("a batch must hold something")


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
        batches = plan_batches(*self._lengths(pairs), self.config)
        return [pairs[batches[i]] for i in random.permutation(len(batches))]

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
        source = np.concatenate([store.source.lengths for store in self.stores])
        target = np.concatenate([store.target.lengths for store in self.stores])
        return source[pairs] + 1, target[pairs] + 1


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
    return [*batches, order[start:]]
