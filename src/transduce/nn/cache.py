"""Keys and values of earlier positions, kept in a room that later ones fill."""

from dataclasses import dataclass

import torch
from torch import Tensor

from transduce.nn.attention import KeysValues

LEAST_ROOM = 64
"""Positions; a room that is full is followed by one of twice what it needs."""


@dataclass(frozen=True)
class Cache:
    """What one attention keeps of the positions so far.

    With gradients off, new positions are written into the room of the cache that they are appended to, which is
    consumed; with gradients on, everything is copied.
    """

    room: KeysValues
    """Time is as long as there is room; only the first `length` positions mean anything."""
    length: int

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(self.room.keys)

    @property
    def known(self) -> KeysValues:
        """Keys and values of all positions so far."""
        return KeysValues(self.room.keys[:, :, : self.length], self.room.values[:, :, : self.length])

    def append(self, new: KeysValues) -> "Cache":
        """With the positions that follow."""
        length = self.length + new.keys.shape[2]
        if not self.length:
            return Cache(new, length)
        if torch.is_grad_enabled():
            return Cache(self.known.append(new), length)
        room = self.room
        if length > room.keys.shape[2]:
            room = KeysValues(_moved(self.known.keys, length), _moved(self.known.values, length))
        room.keys[:, :, self.length : length] = new.keys
        room.values[:, :, self.length : length] = new.values
        return Cache(room, length)

    def select(self, rows: Tensor) -> "Cache":
        """The given rows, in the given order."""
        return Cache(self.room.select(rows), self.length)


def _moved(known: Tensor, length: int) -> Tensor:
    """What is known, in a room for at least `length` positions."""
    room = known.new_empty(*known.shape[:2], max(2 * length, LEAST_ROOM), known.shape[3])
    room[:, :, : known.shape[2]] = known
    return room
