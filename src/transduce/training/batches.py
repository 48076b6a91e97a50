"""What training knows of its data."""

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray


class LargestParts(Protocol):
    """What needs most memory of all that is worked through at once; see data/batching.py."""

    @property
    def parts(self) -> list[NDArray[np.int64]]:
        """The pairs of a few parts."""
        ...

    @property
    def has_several(self) -> bool:
        """Whether a batch may be cut into several."""
        ...


class OnDevice(Protocol):
    """A batch, of which only its objective knows more."""

    def to(self, device: torch.device) -> Any:
        """The same batch on a device."""
        ...


class TrainingBatches(Protocol):
    """Plans the batches of an epoch and makes them; see data/batching.py."""

    def plan(self, epoch: int) -> list[NDArray[np.int64]]:
        """The pairs of each batch; the same for the same epoch."""
        ...

    def split(self, pairs: NDArray[np.int64], parts: int) -> list[NDArray[np.int64]]:
        """A batch's pairs in so many parts, or more where memory asks for it."""
        ...

    def largest(self, parts: int) -> LargestParts:
        """Of all that batches are split into."""
        ...

    def padded_tokens(self, pairs: NDArray[np.int64]) -> int:
        """Source and target tokens of some pairs as one batch, padding counted."""
        ...

    def too_large(self, pairs: NDArray[np.int64]) -> tuple[str, str]:
        """What to say of some pairs whose batch is beyond the memory, and what to do then."""
        ...

    def batch(self, pairs: NDArray[np.int64]) -> OnDevice:
        """The padded ids of some pairs."""
        ...
