"""Moves batches to a device: to a GPU in one copy that nobody waits for."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from transduce.devices import to_device

Same = TypeVar("Same")


class OnDevice:
    """A batch: a dataclass of tensors and of such dataclasses, whose contents only its objective knows."""

    def to(self: Same, device: torch.device) -> Same:
        """The same batch on a device; a GPU is not waited for."""
        return _with(self, iter(to_device(list(_tensors(self)), device)))


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
