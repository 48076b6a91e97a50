"""Tensors under our names and under those of Hugging Face transformers."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from transduce.base.errors import CheckpointError


class Same(NamedTuple):
    """Equal tensors here and there: several tensors are joined along the first axis."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    """The names of their tensors; of one size each if there are several."""
    is_transposed: bool = False
    """True if theirs are transposed."""
    shape: tuple[int, ...] | None = None
    """The shape of each of theirs, if it splits or joins axes of ours; one size may be -1."""
    is_reversed: bool = False
    """True if theirs have their rows in the opposite order."""


def linear(ours: str | tuple[str, ...], theirs: str | tuple[str, ...], is_transposed: bool = False) -> list[Same]:
    """Lists the weights and biases of a linear layer."""
    here, there = (ours if isinstance(ours, tuple) else (ours,), theirs if isinstance(theirs, tuple) else (theirs,))
    return [
        Same(tuple(f"{name}.{kind}" for name in here), tuple(f"{name}.{kind}" for name in there), turned)
        for kind, turned in (("weight", is_transposed), ("bias", False))
    ]


def from_theirs(
    tensors: Mapping[str, Tensor], same: Iterable[Same], ours: Mapping[str, Tensor], where: object
) -> dict[str, Tensor]:
    """Returns tensors by our names.

    Args:
        tensors: the tensors, by their names there.
        same: the pairs of equal tensors.
        ours: our model's tensors, for their shapes.
        where: the folder that errors name.

    Raises CheckpointError unless the tensors are exactly those of the model, in its shapes.
    """
    result: dict[str, Tensor] = {}
    unused = set(tensors)
    for entry in same:
        if missing := [name for name in entry.theirs if name not in tensors]:
            raise CheckpointError(f"{where}: no tensor {missing[0]}, which the model that config.json describes has")
        unused.difference_update(entry.theirs)
        rows = [ours[name].shape[0] for name in entry.ours]
        joined = (sum(rows), *ours[entry.ours[0]].shape[1:])  # shape of all of ours
        each = (joined[0] // len(entry.theirs), *joined[1:])  # shape of each of theirs, in our order of axes
        turned = tuple(reversed(each)) if entry.is_transposed else each
        expected = tuple(torch.empty(turned, device="meta").reshape(entry.shape or turned).shape)
        for name in entry.theirs:
            if tensors[name].shape != expected:
                raise CheckpointError(
                    f"{where}: tensor {name} is of shape {list(tensors[name].shape)}, but config.json asks for "
                    f"{list(expected)}"
                )
        parts = [tensors[name].reshape(turned) for name in entry.theirs]
        whole = torch.cat([part.T if entry.is_transposed else part for part in parts])
        whole = whole.flip(0) if entry.is_reversed else whole
        result |= {name: part.contiguous() for name, part in zip(entry.ours, whole.split(rows), strict=True)}
    if unused:
        raise CheckpointError(
            f"{where}: tensor {min(unused)}, which the model that config.json describes does not have"
            + (f", and {len(unused) - 1} more" if len(unused) > 1 else "")
        )
    return result


def without_copies(tensors: Mapping[str, Tensor], copies: Mapping[str, str], where: object) -> dict[str, Tensor]:
    """Returns each tensor once, under the name of the original; raises CheckpointError if a copy differs."""
    once = {name: tensor for name, tensor in tensors.items() if name not in copies}
    for name, original in copies.items():
        if name in tensors and not torch.equal(once.setdefault(original, tensors[name]), tensors[name]):
            raise CheckpointError(
                f"{where}: tensor {name} differs from {original}, but config.json says that they are tied"
            )
    return once


def to_theirs(tensors: Mapping[str, Tensor], same: Iterable[Same]) -> dict[str, Tensor]:
    """Returns our tensors under their names there."""
    result: dict[str, Tensor] = {}
    for entry in same:
        whole = torch.cat([tensors[name] for name in entry.ours])
        whole = whole.flip(0) if entry.is_reversed else whole
        for name, part in zip(entry.theirs, whole.chunk(len(entry.theirs)), strict=True):
            turned = part.T if entry.is_transposed else part
            result[name] = turned.reshape(entry.shape or turned.shape).contiguous()
    return result
