"""Processes of one machine add up gradients in memory that they share, others over the network."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import distributed, multiprocessing

from transduce.training import gradient_sums
from transduce.training.gradient_sums import MEMORY, GradientSums

pytestmark = pytest.mark.slow

COUNT = 3


def gradients(rank: int, turn: int) -> list[torch.Tensor]:
    random = torch.Generator().manual_seed(10 * turn + rank)
    return [torch.randn(4, 5, generator=random), torch.randn(1, generator=random), torch.randn(7, generator=random)]


def all_gradients() -> list[list[list[torch.Tensor]]]:
    return [[gradients(rank, turn) for rank in range(COUNT)] for turn in range(2)]


def work(rank: int, folder: Path, can_share: bool, has_room: bool, queue: Any) -> None:
    """Two sums in a row in one of the processes; tells what came out and which files the memory has meanwhile."""

    def refuse(*_: int) -> None:
        raise OSError("no room")

    gradient_sums.AT_ONCE = 8  # numbers, so that tensors are cut, and several exchanges follow each other
    if not has_room:
        gradient_sums.os.posix_fallocate = refuse  # type: ignore[attr-defined]
    distributed.init_process_group("gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=COUNT)
    sums = GradientSums(rank, COUNT, can_share)
    found = []
    for turn in range(2):
        tensors = gradients(rank, turn)
        sums.all_reduce(tensors)
        found.append([tensor.tolist() for tensor in tensors])
    queue.put((found, sums._slots is not None, sorted(map(str, MEMORY.glob("transduce-*")))))
    distributed.barrier()
    distributed.destroy_process_group()


@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason=f"needs {MEMORY}")
@pytest.mark.parametrize(
    "can_share, has_room, shares",
    [(True, True, True), (True, False, False), (False, True, False)],
    ids=["one machine", "one machine without room", "several machines"],
)
def test_all_processes_get_the_sums_and_leave_no_file(
    tmp_path: Path, can_share: bool, has_room: bool, shares: bool
) -> None:
    before = sorted(map(str, MEMORY.glob("transduce-*")))
    context = multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    arguments = (tmp_path, can_share, has_room, queue)
    multiprocessing.start_processes(work, arguments, COUNT, start_method="spawn")
    of_all = [[torch.stack(same).sum(0) for same in zip(*of_turn, strict=True)] for of_turn in all_gradients()]
    for _ in range(COUNT):
        found, shared, files = queue.get()
        assert shared is shares
        assert files == before
        for sums, expected in zip(found, of_all, strict=True):
            torch.testing.assert_close([torch.tensor(total) for total in sums], expected)
