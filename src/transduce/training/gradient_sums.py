"""Sums of gradients over the processes of a run."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor, distributed

MEMORY = Path("/dev/shm")  # Linux keeps files there in memory


class GradientSums:
    """Adds up tensors of all processes, the same ones at each call.

    Through memory that the processes share where they can, which spares them gloo's sockets.
    """

    def __init__(self, rank: int, count: int, can_share: bool) -> None:
        """For one of so many processes; `can_share` says that all are on this machine and tensors in its memory."""
        self._rank, self._count = rank, count
        self._can_share = can_share
        self._slots: Tensor | None = None  # [processes, numbers]

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Replace float32 tensors by their sums."""
        sizes = [tensor.numel() for tensor in tensors]
        if self._can_share and self._slots is None:
            self._slots = _map_slots(self._rank, self._count, sum(sizes))
            self._can_share = self._slots is not None
        flat = [tensor.flatten() for tensor in tensors]
        if self._slots is None:
            total = torch.cat(flat)
            distributed.all_reduce(total)
        else:
            torch.cat(flat, out=self._slots[self._rank])
            total = self._add_up_slots(self._slots)
        for tensor, part in zip(tensors, total.split(sizes), strict=True):
            tensor.copy_(part.view_as(tensor))
        if self._slots is not None:
            distributed.barrier()  # all have read the sums before the next gradients take their place

    def _add_up_slots(self, slots: Tensor) -> Tensor:
        """Each process adds up a part of the numbers, all in the order of ranks; the sums are in the first slot."""
        distributed.barrier()
        first, *others = slots.tensor_split(self._count, 1)[self._rank]
        for other in others:
            first += other
        distributed.barrier()
        return slots[0]


def _map_slots(rank: int, count: int, size: int) -> Tensor | None:
    """Room for so many numbers of each process that all of them see; None where the machine has too little of it."""
    name: list[str | None] = [None]
    if rank == 0 and MEMORY.is_dir():
        name = [_make_file(4 * count * size)]
    distributed.broadcast_object_list(name)
    if name[0] is None:
        return None
    slots = torch.from_file(name[0], shared=True, size=count * size, dtype=torch.float32).view(count, size)
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
