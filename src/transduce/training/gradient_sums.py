"""Sums of gradients over the processes of a run."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor, distributed

MEMORY = Path("/dev/shm")  # Linux keeps files there in memory
AT_ONCE = 2**21
"""Maximum numbers exchanged at once: 8 MiB a process, however many gradients there are."""


class GradientSums:
    """Adds up tensors of all processes, the same ones at each call.

    Uses memory shared by the processes where possible, which avoids gloo's sockets.
    """

    def __init__(self, rank: int, count: int, can_share: bool) -> None:
        """Prepares for one of `count` processes; `can_share`: all are on this machine, with tensors in its memory."""
        self._rank, self._count = rank, count
        self._can_share = can_share
        self._slots: Tensor | None = None  # [2, processes, numbers]
        self._turn = 0

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replaces contiguous float32 tensors by their sums."""
        if self._can_share and self._slots is None:
            size = min(sum(tensor.numel() for tensor in tensors), AT_ONCE)
            self._slots = _map_slots(self._rank, self._count, size)
            self._can_share = self._slots is not None
        for pieces in _pieces(tensors):
            self._add_up(pieces)

    def _add_up(self, pieces: list[Tensor]) -> None:
        if self._slots is None:
            total = torch.cat(pieces)
            distributed.all_reduce(total)
        else:
            # Slots whose last sums others may still read are left alone: when they are written again, all have
            # passed a barrier of the other slots.
            slots = self._slots[self._turn][:, : sum(len(piece) for piece in pieces)]
            self._turn = 1 - self._turn
            torch.cat(pieces, out=slots[self._rank])
            total = self._add_up_slots(slots)
        for piece, part in zip(pieces, total.split([len(piece) for piece in pieces]), strict=True):
            piece.copy_(part)

    def _add_up_slots(self, slots: Tensor) -> Tensor:
        """Sums a part of the numbers in each process, in the order of ranks; the sums are in the first slot."""
        distributed.barrier()
        first, *others = slots.tensor_split(self._count, 1)[self._rank]
        for other in others:
            first += other
        distributed.barrier()
        return slots[0]


def _pieces(tensors: Sequence[Tensor]) -> Iterator[list[Tensor]]:
    """Yields the numbers of all tensors in lists of pieces, each as large as one exchange."""
    pieces: list[Tensor] = []
    room = AT_ONCE
    for tensor in tensors:
        rest = tensor.view(-1)
        while len(rest):
            pieces.append(rest[:room])
            rest = rest[room:]
            room -= len(pieces[-1])
            if not room:
                yield pieces
                pieces, room = [], AT_ONCE
    if pieces:
        yield pieces


def _map_slots(rank: int, count: int, size: int) -> Tensor | None:
    """Maps shared memory for two sets of `size` numbers of each process; None if the machine has too little."""
    name: list[str | None] = [None]
    if rank == 0 and MEMORY.is_dir():
        name = [_make_file(4 * 2 * count * size)]
    distributed.broadcast_object_list(name)
    if name[0] is None:
        return None
    slots = torch.from_file(name[0], shared=True, size=2 * count * size, dtype=torch.float32).view(2, count, size)
    distributed.barrier()
    if rank == 0:
        Path(name[0]).unlink()  # the memory lives as long as a process uses it
    return slots


def _make_file(size: int) -> str | None:
    try:
        file, name = tempfile.mkstemp(prefix="transduce-", dir=MEMORY)
    except OSError:
        return None
    try:
        os.posix_fallocate(file, 0, size)
    except OSError:
        Path(name).unlink()
        return None
    finally:
        os.close(file)
    return name
