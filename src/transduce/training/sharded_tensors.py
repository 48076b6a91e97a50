"""Tensors of which each process has a shard, some of the rows (PyTorch's DTensor), and whole ones, treated alike.

A tensor that has no shards is its own whole and its own shard. DTensor is not imported here: it takes long, and a
single process has none.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, distributed, nn


def is_sharded(tensor: Tensor) -> bool:
    """Returns True if this process has some rows of a tensor."""
    return hasattr(tensor, "to_local")


@torch.no_grad()
def local(tensor: Tensor) -> Tensor:
    """Returns this process's shard, which shares memory with the tensor."""
    return tensor.to_local() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


@torch.no_grad()
def whole(tensor: Tensor) -> Tensor:
    """Returns the whole tensor in every process, which all call this together."""
    return tensor.full_tensor() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def shard_like(value: Tensor, like: Tensor) -> Tensor:
    """Returns a whole tensor sharded as another one of its shape; without communication."""
    if not is_sharded(like):
        return value
    from torch.distributed.tensor import distribute_tensor

    sharded: Any = like
    return distribute_tensor(value.to(like.device), sharded.device_mesh, sharded.placements, src_data_rank=None)


def shard_all_like(values: dict[str, Tensor], model: nn.Module) -> dict[str, Tensor]:
    """Returns whole tensors sharded as those of a model with the same names."""
    own = model.state_dict()
    return {name: shard_like(value, own[name]) if name in own else value for name, value in values.items()}


@torch.no_grad()
def total_norm(tensors: Sequence[Tensor]) -> Tensor:
    """Returns the norm of the elements of all tensors, at least one, together."""
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(list(map(local, tensors)))))
    if is_sharded(tensors[0]):
        squares = norm.square()
        distributed.all_reduce(squares)
        norm = squares.sqrt()
    return norm


@torch.no_grad()
def clear_first_rows(tensor: Tensor, rows: int) -> None:
    """Sets the first rows of a tensor to zero."""
    before = 0
    if is_sharded(tensor):
        mesh = tensor.device_mesh  # type: ignore[attr-defined]
        before = mesh.get_local_rank() * _rows_of_shard(len(tensor), mesh.size())
    local(tensor)[: max(rows - before, 0)] = 0


@torch.no_grad()
def map_matrices(
    function: Callable[[Tensor], Tensor], shards: Sequence[Tensor], like: Tensor, dtype: torch.dtype
) -> list[Tensor]:
    """Returns, for each of some matrices of one shape, this process's shard of what a function makes of it.

    The function takes whole matrices and gives as many, [matrices, rows, columns]. Each process is sent the rows of
    some of them, applies the function, and sends the results back.

    Args:
        function: what is made of matrices.
        shards: this process's rows of each matrix.
        like: a matrix of the same shape, sharded as they are, or whole.
        dtype: the type in which the function computes, and in which rows are sent.
    """
    if not is_sharded(like):
        return list(function(torch.stack(list(shards)).to(dtype)))
    mesh: Any = like.device_mesh  # type: ignore[attr-defined]
    processes, (rows, columns) = mesh.size(), like.shape
    of_shard, of_process = _rows_of_shard(rows, processes), -(-len(shards) // processes)
    sent = shards[0].new_zeros(processes, of_process, of_shard, columns, dtype=dtype)
    for room, shard in zip(sent.flatten(0, 1), shards, strict=False):
        room[: len(shard)] = shard
    received = _exchange(sent, mesh)  # [processes, matrices, rows of a shard, columns]
    matrices = received.transpose(0, 1).flatten(1, 2)  # [matrices, rows, columns], with rows of zeros at the end
    made = torch.zeros_like(matrices)
    made[:, :rows] = function(matrices[:, :rows])
    returned = _exchange(made.unflatten(1, (processes, of_shard)).transpose(0, 1).contiguous(), mesh)
    return [room[: len(shard)] for room, shard in zip(returned.flatten(0, 1), shards, strict=False)]


def _rows_of_shard(rows: int, processes: int) -> int:
    """Returns the rows of each process but the last ones, which may have fewer."""
    return -(-rows // processes)


def _exchange(sent: Tensor, mesh: Any) -> Tensor:
    """Sends each process its part of the first axis; returns what the others sent, by process."""
    received = torch.empty_like(sent)
    distributed.all_to_all_single(received, sent, group=mesh.get_group())
    return received
