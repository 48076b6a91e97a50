"""Keys and values of earlier positions, kept in a buffer that later ones fill."""

from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from transduce.nn.attention import KeysValues

MIN_BUFFER = 64
"""Positions of the smallest buffer; a full one is followed by one for twice as many as it needs."""


@dataclass(frozen=True)
class Cache:
    """Keys and values of the positions so far, kept by one attention.

    With gradients off, new positions are written into the buffer of the cache that they are appended to, which is
    consumed; with gradients on, everything is copied.
    """

    buffer: KeysValues
    """Keys and values with room for later positions; only the first `length` are filled."""
    length: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return len(self.buffer.keys)

    @property
    def room(self) -> int:
        """Number of positions that the buffer holds."""
        return self.buffer.keys.shape[2]

    @property
    def known(self) -> KeysValues:
        """Keys and values of all positions so far."""
        return KeysValues(self.buffer.keys[:, :, : self.length], self.buffer.values[:, :, : self.length])

    def append(self, new: KeysValues) -> "Cache":
        """Returns the cache with the positions that follow."""
        length = self.length + new.keys.shape[2]
        if not self.length and not self.room:
            return Cache(new, length)
        if torch.is_grad_enabled():
            return Cache(self.known.append(new), length)
        buffer = self.buffer
        if length > self.room:
            buffer = KeysValues(_grow(self.known.keys, length), _grow(self.known.values, length))
        buffer.keys[:, :, self.length : length] = new.keys
        buffer.values[:, :, self.length : length] = new.values
        return Cache(buffer, length)

    def reserve(self, positions: int) -> "Cache":
        """Returns the cache with a buffer for this many positions, those so far among them and zeros after them."""
        buffer, known = self.buffer.blank(self.rows, positions), self.known
        buffer.keys[:, :, : self.length] = known.keys
        buffer.values[:, :, : self.length] = known.values
        return Cache(buffer, self.length)

    def write(self, new: KeysValues, slots: Int[Tensor, " new"]) -> "Cache":
        """Returns the cache with positions written at these indices of its buffer, of which all count as known."""
        self.buffer.keys.index_copy_(2, slots, new.keys)
        self.buffer.values.index_copy_(2, slots, new.values)
        return Cache(self.buffer, self.room)

    def last(self, length: int) -> "Cache":
        """Returns the last positions alone, at most `length`; what follows them may still fill the same buffer."""
        first = max(self.length - length, 0)
        if not first:
            return self
        return Cache(KeysValues(self.buffer.keys[:, :, first:], self.buffer.values[:, :, first:]), self.length - first)

    def select(self, rows: Tensor) -> "Cache":
        """Returns the given rows, in the given order."""
        return Cache(self.buffer.select(rows), self.length)


def _grow(known: Tensor, length: int) -> Tensor:
    """Returns the known positions, in a buffer for at least `length` of them."""
    buffer = known.new_empty(*known.shape[:2], max(2 * length, MIN_BUFFER), known.shape[3])
    buffer[:, :, : known.shape[2]] = known
    return buffer
