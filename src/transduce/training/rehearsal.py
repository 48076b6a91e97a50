"""The largest batch, tried before the first update: memory that will not do is said now, not after hours."""

from collections.abc import Callable
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from transduce.data.batch import Batch
from transduce.errors import ConfigError
from transduce.objectives.objective import Objective
from transduce.training.precision import WorkingCopy


class Batches(Protocol):
    """What is known of training data; see data/batching.py."""

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Source and target tokens of some pairs as one batch, padding counted."""
        ...

    def batch(self, pairs: NDArray[np.int64]) -> Batch:
        """The padded ids of some pairs."""
        ...


def rehearse(
    working: WorkingCopy,
    objective: Objective,
    data: Batches,
    plan: list[NDArray[np.int64]],
    parts: Callable[[NDArray[np.int64]], list[NDArray[np.int64]]],
) -> None:
    """Take the largest of the parts that an epoch's batches are worked through in forward and backward, and forget it.

    No random generator moves. Raises ConfigError where memory does not suffice.
    """
    fullest = sorted(plan, key=data.padded_tokens)[-3:]
    own = [part for pairs in fullest for part in parts(pairs)]
    if not own:  # batches smaller than the number of processes
        return
    largest = max(own, key=data.padded_tokens)
    device = next(working.masters.parameters()).device
    try:
        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            _try(working, objective, data.batch(largest).to(device))
    except (RuntimeError, MemoryError) as error:
        if not _is_about_memory(error):
            raise
        raise ConfigError(
            f"the largest batch, {len(largest):,} pairs of {data.padded_tokens(largest):,} source and target tokens "
            f"with padding, is beyond the memory of {device}; lower batching.target_tokens (or sentences), raise "
            "training.accumulate, or leave long pairs out with data.max_tokens"
        ) from None


def _try(working: WorkingCopy, objective: Objective, batch: Batch) -> None:
    held = [p.new_empty(3, p.numel()) for p in working.masters.parameters()]  # gradients and Adam's two moments
    objective(working.model.train(), batch, None).total.backward()
    working.model.zero_grad()
    del held


def _is_about_memory(error: Exception) -> bool:
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or "allocate memory" in str(error)
