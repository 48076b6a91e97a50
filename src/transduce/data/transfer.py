"""Moves batches to a device: to a GPU in one copy that nobody waits for."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

Same = TypeVar("Same")

ALIGNMENT = 16
"""Bytes of whose multiples each tensor begins within the copied ones."""


class OnDevice:
    """A batch: a dataclass of tensors and of such dataclasses, whose contents only its objective knows."""

    def to(self: Same, device: torch.device) -> Same:
        """The same batch on a device. Tensors for a GPU go side by side through page-locked memory, so that the host
        goes on while they are copied."""
        tensors = list(_tensors(self))
        if device.type != "cuda" or any(tensor.device.type != "cpu" for tensor in tensors):
            return _with(self, iter([tensor.to(device) for tensor in tensors]))
        sizes = [-(-tensor.nbytes // ALIGNMENT) * ALIGNMENT for tensor in tensors]
        host = torch.empty(sum(sizes), dtype=torch.uint8, pin_memory=True)  # PyTorch reuses it once it has been copied
        for tensor, room in zip(tensors, host.split(sizes), strict=True):
            _as(room, tensor).copy_(tensor)
        there = host.to(device, non_blocking=True)
        return _with(self, (_as(room, tensor) for tensor, room in zip(tensors, there.split(sizes), strict=True)))


def _as(room: Tensor, like: Tensor) -> Tensor:
    """The first of some bytes as numbers of the type and shape of a tensor."""
    return room[: like.nbytes].view(like.dtype).view(like.shape)


def _tensors(value: Any) -> Iterator[Tensor]:
    """Yields the tensors of a dataclass and of those in it, field by field."""
    if isinstance(value, Tensor):
        yield value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _tensors(getattr(value, field.name))


def _with(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The same with other tensors, in the order of `_tensors`."""
    if isinstance(value, Tensor):
        return next(tensors)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{field.name: _with(getattr(value, field.name), tensors) for field in fields(value)})
