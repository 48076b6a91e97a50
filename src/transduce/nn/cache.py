"""Keys and values of earlier positions, kept in a room that later ones fill."""

from dataclasses import dataclass

import torch
from torch import Tensor

from transduce.nn.attention import KeysValues

LEAST_ROOM = 16
"""Positions; a room that is full is doubled."""


@dataclass(frozen=True)
class Cache:
    """What one attention keeps of the positions so far, rows are hypotheses.

    With gradients off, new positions are written into the room of the cache that they are appended to, which is
    consumed; with gradients on, everything is copied.
    """

    room: KeysValues
    """Time is as long as there is room; only the first `length` positions mean anything."""
    length: int

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
        is_full = length > self.room.keys.shape[2]
        room = KeysValues(*(_moved(part, length) for part in self._parts)) if is_full else self.room
        room.keys[:, :, self.length : length] = new.keys
        room.values[:, :, self.length : length] = new.values
        return Cache(room, length)

    def select(self, rows: Tensor) -> "Cache":
        """The given rows, in the given order, with room for the next position."""
        if torch.is_grad_enabled() or not self.length:
            return Cache(self.known.select(rows), self.length)
        return Cache(KeysValues(*(_moved(part, self.length + 1, rows) for part in self._parts)), self.length)

    @property
    def _parts(self) -> tuple[Tensor, Tensor]:
        return self.known.keys, self.known.values


def _moved(known: Tensor, length: int, rows: Tensor | None = None) -> Tensor:
    """A room for at least `length` positions, with some rows (all unless given) of those known."""
    size = max(LEAST_ROOM, 1 << (length - 1).bit_length())
    room = known.new_empty(len(known) if rows is None else len(rows), known.shape[1], size, known.shape[3])
    filled = room[:, :, : known.shape[2]]
    if rows is None:
        filled.copy_(known)
    else:
        torch.index_select(known, 0, rows, out=filled)
    return room
