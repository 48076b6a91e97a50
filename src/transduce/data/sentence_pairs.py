"""Batches of sentence pairs for each epoch: a function of the seed and the epoch alone."""

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import ge
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from transduce.base.config import Settings
from transduce.base.errors import DataError
from transduce.base.ranges import PositiveInt
from transduce.data.batch import Batch, SpecialIds, make_batch, with_marks
from transduce.data.parts import buckets, cut, cut_evenly, halve, needs, within
from transduce.data.planned import Epoch, Largest, PackedPlan, Plan, PlannedData, Rows, count_parts
from transduce.data.shared_arrays import SharedArrays
from transduce.data.store import TokenStore

FORMAT = 1
SHARED_FROM = 500_000
"""Pairs from which plans are shared: fewer are planned in less time than it takes to write a file safely."""

SMALLER_BATCHES = "lower batching.target_tokens (or sentences)"

BOTH_SIDES = 4
"""Maximum source and target tokens of a batch together, as a multiple of target_tokens, with padding of each group."""

WITH_MIXED_LENGTHS = 6
"""Maximum source and target tokens of a batch computed as one rectangle, as a multiple of target_tokens."""


OfEpoch = Callable[[Sequence[TokenStore], Sequence[int]], Sequence[TokenStore]]
"""A function of the stores and the seed of an epoch."""


class BatchingConfig(Settings, frozen=True):
    """Batch size: by target tokens, or by sentences."""

    target_tokens: PositiveInt | None = None
    """Maximum number of target tokens per batch, including the padding within groups; default 4,096 unless sentences is
    set. Source and target tokens together are limited to four times this number, so long sources also make batches
    smaller. A longer pair forms a batch of its own. A batch whose padded size as one rectangle exceeds six times this
    number is split into more parts than training.accumulate says."""
    sentences: PositiveInt | None = None
    """Number of sentence pairs per batch, instead of a limit on tokens."""
    groups: PositiveInt = 1
    """Number of random groups of similar length (buckets) that form a batch. Mixed lengths train better than equal
    ones; with training.accumulate, parts of similar length keep padding low. groups = sentences makes batches fully
    random."""

    def _check_together(self) -> None:
        if self.target_tokens is not None and self.sentences is not None:
            raise ValueError("give either target_tokens or sentences")

    @property
    def budget(self) -> int:
        """The maximum target tokens of a batch that is not measured in sentences."""
        return self.target_tokens or 4096

    @property
    def of_a_group(self) -> "BatchingConfig":
        """The size of one group."""
        if self.sentences is not None:
            return BatchingConfig(sentences=max(self.sentences // self.groups, 1))
        return BatchingConfig(target_tokens=max(self.budget // self.groups, 1))

    def fits(self, rows: Any, source: Any, target: Any) -> Any:
        """Returns True if this many pairs, padded to these lengths, fit into a batch; takes numbers or arrays."""
        if self.sentences is not None:
            return rows <= self.sentences
        return (rows * target <= self.budget) & (rows * (source + target) <= BOTH_SIDES * self.budget)


@dataclass(frozen=True)
class SentencePairs:
    """Several stores read as one, with each pair as often in an epoch as its store's weight says."""

    stores: Sequence[TokenStore]
    weights: Sequence[float]
    special: SpecialIds
    config: BatchingConfig
    seed: int
    before: Sequence[Sequence[int]] | None = None
    """Tokens before the sources of each store; None for none."""
    begins: Sequence[int] | None = None
    """The first target token of each store; None for that of `special`."""
    of_epoch: OfEpoch | None = None
    """Returns the stores as an epoch reads them, given its seed, such as with other context; None for no
    change."""
    shared: SharedArrays | None = None
    """Plans that all processes of a machine use; None plans in memory, in each process."""

    def sharing(self, cache: Path) -> "SentencePairs":
        """Returns the same pairs, whose plans are made once for all processes of a machine if there are many pairs."""
        if self.of_epoch is not None or sum(map(len, self.stores)) < SHARED_FROM:
            return self
        stores = [store.content for store in self.stores]
        made_from = [FORMAT, np.__version__, stores, self.weights, self._before, self.config, self.seed]
        name = hashlib.sha256(msgspec.json.encode(made_from)).hexdigest()[:32]
        return replace(self, shared=SharedArrays(cache / "plans" / name))

    def planned(self) -> PlannedData[Batch]:
        """Returns the pairs in batches of similar length, in random order.

        Batches are split by `cut`, or for several processes by `cut_evenly`, within limits from `target_tokens`, and no
        part of any epoch needs more memory than the largest of the first epoch.
        """

        def plan(number: int) -> Epoch[Batch]:
            seed = [self.seed, number]
            pairs = self if self.of_epoch is None else replace(self, stores=self.of_epoch(self.stores, seed))

            def split(rows: Rows, parts: int, processes: int = 1) -> Plan:
                fits = within(data.largest(parts, processes).needs)
                cut_parts = pairs._cut(rows, parts, processes)
                return [part[i:j] for part in cut_parts for i, j in halve(*pairs._lengths(part), fits)]

            def find_largest(epoch: Epoch[Batch], parts: int, processes: int) -> Largest:
                return pairs._find_largest(epoch.batches, parts, processes)

            batches = pairs._batches(seed, f"epoch-{number}", f"epoch-{number - 2}")
            return Epoch(batches, pairs._padded_tokens, pairs._make, pairs._too_large, split, find_largest)

        data = PlannedData(plan)
        return data

    def _find_largest(self, batches: Plan, parts: int, processes: int) -> Largest:
        """Returns the largest parts of the first epoch's batches and, if these lack some pairs, of a plan with all."""
        plans, is_alike = [batches], self.config.groups == 1 and self.of_epoch is None
        if any(weight % 1 for weight in self.weights):
            is_alike = False
            whole = replace(self, weights=[math.ceil(weight) for weight in self.weights])
            plans.append(whole._batches([self.seed], "whole"))
        met = [self._cut(batch, parts, processes) for plan in plans for batch in plan]
        together = [part for of_batch in met for part in of_batch]
        # lengths meet others in each epoch, or never
        has_several = not is_alike or any(len(of_batch) > processes for of_batch in met)
        return largest_of(together, [self._needs(part) for part in together], has_several)

    def _padded_tokens(self, rows: Rows) -> int:
        """Returns source and target tokens of some pairs as one batch, with padding."""
        source, target = self._lengths(rows)
        return len(rows) * int(source.max() + target.max())

    def _too_large(self, rows: Rows) -> tuple[str, str]:
        source, target = (int(lengths.max()) for lengths in self._lengths(rows))
        if len(rows) == 1:
            pair = f"a pair of {source:,} source and {target:,} target tokens"
            return pair, f"leave such pairs out by data.max_tokens, {max(source, target) - 2:,} or fewer"
        tokens = len(rows) * (source + target)
        return f"the largest part of a batch, {len(rows):,} pairs of {tokens:,} tokens with padding,", SMALLER_BATCHES

    def _make(self, rows: Rows) -> Batch:
        """Makes a batch of some pairs."""
        stores = (np.searchsorted(self._starts, rows, side="right") - 1).tolist()
        indices = [(store, int(row - self._starts[store])) for store, row in zip(stores, rows, strict=True)]
        return make_batch(
            [with_marks(self.stores[store].source[i], self._before[store]) for store, i in indices],
            [self.stores[store].target[i] for store, i in indices],
            self.special,
            None if self.begins is None else [self.begins[store] for store, _ in indices],
        )

    @property
    def _before(self) -> Sequence[Sequence[int]]:
        return [()] * len(self.stores) if self.before is None else self.before

    def _batches(self, seed: Sequence[int], name: str, in_place_of: str | None = None) -> PackedPlan:
        """Returns the batches of an epoch, a function of the seed; `name` is that of the plan where it is shared."""

        def make() -> dict[str, NDArray[np.integer]]:
            plan = self._plan(np.random.default_rng(seed))
            return {"rows": plan.rows, "bounds": plan.bounds}

        if self.shared is None:
            return self._plan(np.random.default_rng(seed))
        arrays = self.shared.get(name, make, in_place_of)
        return PackedPlan(arrays["rows"], arrays["bounds"])

    def _plan(self, random: np.random.Generator) -> PackedPlan:
        drawn = random.permutation(self._draw(random))
        if not len(drawn):
            raise DataError("data.train: with these weights an epoch has no pairs; raise a corpus's weight")
        # 32 bits: these are the largest arrays
        source, target = (lengths[drawn] + 1 for lengths in self._all_lengths)
        groups = buckets(source, target, self.config.of_a_group.fits)
        shuffled = random.permutation(len(groups))
        rows, bounds = np.empty_like(drawn), [0]
        for together in self._together([groups[i] for i in shuffled], source, target):
            batch = np.concatenate(together)
            batch = batch[np.lexsort((source[batch], target[batch]))]
            bounds.append(bounds[-1] + len(batch))
            rows[bounds[-2] : bounds[-1]] = drawn[batch]
        return PackedPlan(rows, np.array(bounds))

    def _together(self, groups: Plan, source: NDArray[np.integer], target: NDArray[np.integer]) -> Iterator[Plan]:
        """Yields the groups of each batch: fewer if some are a pair larger than a group's share."""
        together: list[Rows] = []
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

    def _cut(self, pairs: Rows, parts: int, processes: int) -> Plan:
        by_sentences = self.config.sentences is not None
        lengths = self._lengths(pairs)
        if processes == 1:
            most = np.inf if by_sentences else WITH_MIXED_LENGTHS * self.config.budget // parts
            runs = cut(*lengths, parts, most)
        else:
            count = count_parts(len(pairs), parts, processes)
            most = np.inf if by_sentences else WITH_MIXED_LENGTHS * self.config.budget // count
            runs = cut_evenly(*lengths, count, most)
        return [pairs[start:stop] for start, stop in runs]

    def _needs(self, pairs: Rows) -> tuple[int, ...]:
        source, target = self._lengths(pairs)
        return needs(len(pairs), int(source.max()), int(target.max()))

    def _draw(self, random: np.random.Generator) -> Rows:
        drawn = []
        dtype = np.int32 if sum(map(len, self.stores)) < 2**31 else np.int64
        for start, store, weight in zip(self._starts, self.stores, self.weights, strict=True):
            whole, part = divmod(weight, 1)
            pairs = np.arange(start, start + len(store), dtype=dtype)
            drawn += [pairs] * int(whole)
            drawn.append(random.permutation(pairs)[: round(part * len(store))])
        return np.concatenate(drawn)

    @cached_property
    def _starts(self) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum([len(store) for store in self.stores])[:-1]])

    def _lengths(self, pairs: Rows) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns source and target tokens of each pair, the end token included."""
        source, target = self._all_lengths
        return source[pairs].astype(np.int64) + 1, target[pairs].astype(np.int64) + 1

    @cached_property  # asked for at every update, and for every batch before the first one
    def _all_lengths(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """The tokens of all pairs, without end tokens; mapped from the files of a single store, or from shared ones."""
        if len(self.stores) == 1 and not any(self._before):
            return self.stores[0].source.lengths, self.stores[0].target.lengths

        def make() -> dict[str, NDArray[np.integer]]:
            stores = list(zip(self.stores, map(len, self._before), strict=True))
            return {
                "source": np.concatenate([store.source.lengths + np.int32(before) for store, before in stores]),
                "target": np.concatenate([store.target.lengths for store in self.stores]),
            }

        arrays = make() if self.shared is None else self.shared.get("lengths", make)
        return arrays["source"], arrays["target"]


def largest_of(parts: Plan, of_each: Sequence[tuple[int, ...]], has_several: bool = False) -> Largest:
    """Returns the parts on the Pareto front: no other part needs at least as much by every measure."""
    measures = np.array(of_each)  # [parts, measures]
    most = {of_each[np.lexsort((measures.sum(1), measure))[-1]] for measure in measures.T}
    alone = sorted(need for need in most if not any(need != other and all(map(ge, other, need)) for other in most))
    return Largest([parts[of_each.index(need)] for need in alone], has_several, tuple(measures.max(0).tolist()))
