"""Training data in batches, planned epoch by epoch: the form in which the trainer gets data of every kind."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

B = TypeVar("B", covariant=True)

Rows = NDArray[np.int64]
"""Indices of rows: sentence pairs, texts, windows and so on."""

Plan = Sequence[Rows]
"""The rows of each batch, in the order of training."""


class PackedPlan(Sequence[Rows]):
    """The rows of all batches in one array, maybe mapped from a file: batch i is `rows[bounds[i]:bounds[i + 1]]`."""

    def __init__(self, rows: NDArray[np.integer], bounds: NDArray[np.integer]) -> None:
        self.rows = rows
        self.bounds = bounds

    def __len__(self) -> int:
        return len(self.bounds) - 1

    def __getitem__(self, index: Any) -> Any:
        number = range(len(self))[index]
        if isinstance(number, range):
            return [self[each] for each in number]
        return self.rows[self.bounds[number] : self.bounds[number + 1]].astype(np.int64)


def in_order(rows: Rows, size: int) -> Plan:
    """Splits rows into batches of `size`, in order; the last may be smaller."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


class SplitRows(Protocol):
    """Splits the rows of a batch into parts."""

    def __call__(self, rows: Rows, parts: int, processes: int = 1) -> Plan:
        """Returns at most `parts` of them, or more if memory requires it.

        Several processes, to which whole parts are dealt, wait for each other: for them the parts are about equal, and
        their number is a multiple of that of the processes, if there are rows enough.
        """


def count_parts(rows: int, parts: int, processes: int = 1) -> int:
    """Returns the number of parts that a batch of `rows` rows is split into; see SplitRows."""
    if rows < processes:
        return rows
    return min(-(-parts // processes), rows // processes) * processes


def split_evenly(rows: Rows, parts: int, processes: int = 1) -> Plan:
    """Splits a batch into runs of rows, as even as possible and none empty; see SplitRows."""
    return [part for part in np.array_split(rows, count_parts(len(rows), parts, processes)) if len(part)]


@dataclass(frozen=True)
class Largest:
    """The largest parts of the first epoch; no part of any epoch needs more memory than all of these."""

    parts: Plan
    """Parts, each of which needs most by another measure."""
    has_several: bool
    """True if several of them may come from one batch."""
    needs: tuple[int, ...] = ()
    """The most that any part needs, by each measure of `needs` in data/parts.py; empty if parts are not measured."""


def largest_part(epoch: "Epoch[Any]", parts: int, processes: int = 1) -> Largest:
    """Returns the part of most tokens, of the batch of most tokens."""
    batch = max(epoch.batches, key=epoch.tokens)
    largest = max(epoch.split(batch, parts, processes), key=epoch.tokens)
    return Largest([largest], has_several=parts > processes)


@dataclass(frozen=True)
class Epoch(Generic[B]):
    """The rows of one epoch in batches. Row indices have no meaning in another epoch."""

    batches: Plan
    tokens: Callable[[Rows], int]
    """Counts the tokens of some rows as one batch, with padding if it is computed."""
    make: Callable[[Rows], B]
    """Makes a batch of some rows."""
    too_large: Callable[[Rows], tuple[str, str]]
    """Describes a batch of some rows that does not fit into memory, and settings that make batches smaller."""
    split: SplitRows = split_evenly
    find_largest: Callable[["Epoch[B]", int, int], Largest] = largest_part
    """Finds the largest parts of the epoch's batches, given their number and that of the processes."""


@dataclass(frozen=True)
class PlannedData(Generic[B]):
    """Data whose batches are a function of the seed and the epoch alone."""

    plan: Callable[[int], Epoch[B]]
    """Plans an epoch; the same plan for the same number, in any order of calls."""
    _kept: dict[int, Epoch[B]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _largest: dict[tuple[int, int], Largest] = field(default_factory=dict, init=False, repr=False, compare=False)

    def epoch(self, number: int) -> Epoch[B]:
        """Returns an epoch's plan; the last one is kept."""
        if number not in self._kept:
            self._kept.clear()
            self._kept[number] = self.plan(number)
        return self._kept[number]

    def largest(self, parts: int, processes: int = 1) -> Largest:
        """Returns the parts that need most memory when batches are split so; computed once. See SplitRows."""
        if (parts, processes) not in self._largest:
            first = self.epoch(0)
            self._largest[parts, processes] = first.find_largest(first, parts, processes)
        return self._largest[parts, processes]
