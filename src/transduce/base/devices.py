"""Finds the device that a name refers to on this machine, and copies tensors to a GPU and back."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from transduce.base.errors import ConfigError

Same = TypeVar("Same")

KINDS = "auto, cpu, cuda, cuda:1 and so on, or mps"
ALIGNMENT = 16
"""Bytes of whose multiples each tensor begins where several are copied as one."""


def find_device(name: str | torch.device = "auto", processes: int = 1) -> torch.device:
    """Returns the device of that name, checked; `auto` is a GPU if there is one, else the CPU.

    The environment variable TRANSDUCE_DEVICE can set the device of `auto`.

    Args:
        name: auto, cpu, cuda, a GPU by its number (cuda:1), or mps.
        processes: the number of processes on this machine; each needs its own GPU.

    Raises ConfigError for a missing device, or too few for the processes.
    """
    keep_few_kernels()
    if name == "auto":
        name = os.environ.get("TRANSDUCE_DEVICE") or _best(processes)
    try:
        device = torch.device(name)
    except RuntimeError:
        raise ConfigError(f"unknown device '{name}'; expected {KINDS}") from None
    if device.type not in ("cpu", "cuda", "mps"):
        raise ConfigError(f"device {name}: Transduce does not compute on it; expected {KINDS}")
    if device.type == "cuda":
        _check_gpus(device, torch.cuda.device_count() if torch.cuda.is_available() else 0, processes)
    elif device.type == "mps" and not torch.backends.mps.is_available():
        raise ConfigError("device mps: this machine or this PyTorch has none; choose cpu, or leave device out")
    elif device.type == "mps" and processes > 1:
        raise ConfigError(f"device mps is for one process, not for {processes}; choose cpu, or one process")
    try:
        if processes == 1:  # several processes would all occupy memory of the first GPU
            torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"device {device}: {str(error).splitlines()[0]}") from None
    return device


def keep_few_kernels() -> None:
    """Lets oneDNN, which multiplies bfloat16 on a CPU, keep few kernels; the user's own settings stay.

    It makes a kernel of nearly half a MiB for each shape, and by default both it and PyTorch keep 1,024, but few shapes
    recur after their update or search step. The limits are read once, before the first product, so this is called when
    a device is chosen.
    """
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "128")


def _best(processes: int) -> str:
    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() and processes == 1 else "cpu"


def _check_gpus(device: torch.device, gpus: int, processes: int) -> None:
    if gpus == 0:
        raise ConfigError(f"device {device}: PyTorch finds no CUDA GPU here; choose cpu, or leave device out")
    if device.index is not None and device.index >= gpus:
        raise ConfigError(f"device {device}: this machine has {gpus} GPU{'s' * (gpus > 1)}, numbered from cuda:0")
    if processes > 1 and device.index is not None:
        raise ConfigError(
            f"device {device} is one GPU for {processes} processes; choose cuda, and each takes one of its own"
        )
    if processes > gpus:
        raise ConfigError(
            f"{processes} processes need {processes} GPUs, but this machine has {gpus}; start at most {gpus}, "
            "or use device cpu"
        )


def tensors_of(value: Any) -> Iterator[Tensor]:
    """Yields the tensors of a dataclass, and of those and the tuples in it, field by field."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, tuple):
        for each in value:
            yield from tensors_of(each)
    elif is_dataclass(value):
        for field in fields(value):
            yield from tensors_of(getattr(value, field.name))


class OnDevice:
    """A batch: a dataclass of tensors and of such dataclasses, whose contents only its objective knows."""

    def to(self: Same, device: torch.device) -> Same:
        """The same batch on a device; a GPU is not waited for."""
        return _with(self, iter(to_device(list(tensors_of(self)), device)))


def to_device(tensors: Sequence[Tensor], device: torch.device) -> list[Tensor]:
    """Returns tensors of the CPU on a device: on a GPU by one copy from page-locked memory, which the host does not
    wait for."""
    if device.type != "cuda" or any(tensor.device.type != "cpu" for tensor in tensors):
        return [tensor.to(device) for tensor in tensors]
    sizes = [_aligned(tensor) for tensor in tensors]
    host = torch.empty(sum(sizes), dtype=torch.uint8, pin_memory=True)  # PyTorch reuses it once it has been copied
    for tensor, room in zip(tensors, host.split(sizes), strict=True):
        _numbers(room, tensor).copy_(tensor)
    there = host.to(device, non_blocking=True)
    return [_numbers(room, tensor) for tensor, room in zip(tensors, there.split(sizes), strict=True)]


def to_host(tensors: Sequence[Tensor]) -> list[Tensor]:
    """Returns tensors on the CPU; a GPU is waited for once."""
    if all(tensor.device.type == "cpu" for tensor in tensors):
        return list(tensors)
    sizes = [_aligned(tensor) for tensor in tensors]
    there = torch.empty(sum(sizes), dtype=torch.uint8, device=tensors[0].device)
    copies = [_numbers(room, tensor) for tensor, room in zip(tensors, there.split(sizes), strict=True)]
    for kind in dict.fromkeys(tensor.dtype for tensor in tensors):  # a kernel copies all of one type
        of_kind = [number for number, tensor in enumerate(tensors) if tensor.dtype == kind]
        torch._foreach_copy_([copies[number] for number in of_kind], [tensors[number] for number in of_kind])
    return [_numbers(room, tensor) for tensor, room in zip(tensors, there.cpu().split(sizes), strict=True)]


def _aligned(tensor: Tensor) -> int:
    """The bytes that a tensor takes among others."""
    return -(-tensor.nbytes // ALIGNMENT) * ALIGNMENT


def _numbers(room: Tensor, like: Tensor) -> Tensor:
    """The first of some bytes as numbers of the type and shape of a tensor."""
    return room[: like.nbytes].view(like.dtype).view(like.shape)


def _with(value: Any, tensors: Iterator[Tensor]) -> Any:
    """The same with other tensors, in the order of `tensors_of`."""
    if isinstance(value, Tensor):
        return next(tensors)
    if isinstance(value, tuple):
        return tuple(_with(each, tensors) for each in value)
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return replace(value, **{field.name: _with(getattr(value, field.name), tensors) for field in fields(value)})
