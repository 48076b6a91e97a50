"""Training data in batches, planned epoch by epoch: the one form in which data of every kind meets the trainer."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

B = TypeVar("B", covariant=True)

Rows = NDArray[np.int64]
"""Numbers of rows: sentence pairs, texts, windows and so on."""

Plan = list[Rows]
"""The rows of each batch, in the order of training."""


class OnDevice(Protocol):
    """A batch, of which only its objective knows more."""

    def to(self, device: torch.device) -> Any:
        """The same batch on a device."""
        ...


def in_order(rows: Rows, size: int) -> Plan:
    """Batches of so many rows, which keep their order; the last one may have fewer."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def split_evenly(rows: Rows, parts: int) -> Plan:
    """At most so many parts of a batch, as even as can be and none of them empty."""
    return [part for part in np.array_split(rows, min(parts, len(rows))) if len(part)]


@dataclass(frozen=True)
class Largest:
    """Parts of the first epoch; no part of any epoch needs more memory than all of these."""

    parts: Plan
    """Each needs most by another measure."""
    has_several: bool
    """Whether several may be of one batch."""
    needs: tuple[int, ...] = ()
    """The most that any part needs, by each measure of `needs` in data/parts.py; empty where parts are not measured."""


def largest_part(epoch: "Epoch[Any]", parts: int) -> Largest:
    """The part of most tokens, of the batch of most tokens."""
    batch = max(epoch.batches, key=epoch.tokens)
    return Largest([max(epoch.split(batch, parts), key=epoch.tokens)], has_several=parts > 1)


@dataclass(frozen=True)
class Epoch(Generic[B]):
    """The rows of one epoch in batches. Row numbers have no meaning in another epoch."""

    batches: Plan
    tokens: Callable[[Rows], int]
    """Counts the tokens of some rows as one batch, and padding where it is computed."""
    make: Callable[[Rows], B]
    """Makes a batch of some rows."""
    too_large: Callable[[Rows], tuple[str, str]]
    """Says what a batch of some rows is that does not fit into the memory, and what helps."""
    split: Callable[[Rows, int], Plan] = split_evenly
    """Splits the rows of a batch into at most so many parts, or more where memory asks for it."""
    find_largest: Callable[["Epoch[B]", int], Largest] = largest_part
    """Finds the largest parts of the epoch's batches, split into at most so many."""


@dataclass(frozen=True)
class PlannedData(Generic[B]):
    """Data whose batches are a function of the seed and the epoch alone."""

    plan: Callable[[int], Epoch[B]]
    """Plans an epoch; the same plan for the same number, whatever was planned before."""
    _kept: dict[int, Epoch[B]] = field(default_factory=dict, init=False, repr=False, compare=False)
    _largest: dict[int, Largest] = field(default_factory=dict, init=False, repr=False, compare=False)

    def epoch(self, number: int) -> Epoch[B]:
        """An epoch's plan; the last one asked for is kept."""
        if number not in self._kept:
            self._kept.clear()
            self._kept[number] = self.plan(number)
        return self._kept[number]

    def largest(self, parts: int) -> Largest:
        """The parts that need most memory where batches are split into at most so many; sought once."""
        if parts not in self._largest:
            first = self.epoch(0)
            self._largest[parts] = first.find_largest(first, parts)
        return self._largest[parts]
