"""What training needs to know of a batch: sums and counts, never means."""

from dataclasses import dataclass
from typing import Any, Protocol

from jaxtyping import Float, Int
from torch import Tensor, nn


@dataclass(frozen=True)
class Loss:
    """A batch's loss, summed, so that accumulation and data parallelism divide once by the real token count."""

    total: Float[Tensor, ""]
    """What is descended, in nats."""
    plain: Float[Tensor, ""]
    """What is reported, in nats: without smoothing."""
    tokens: Int[Tensor, ""]
    """Real tokens that were predicted, or whatever else was."""
    carried: dict[str, Tensor] | None = None
    """What this batch hands the next, without gradients; checkpoints keep it."""


class Objective(Protocol):
    """What is learned from a batch."""

    def __call__(self, model: nn.Module, batch: Any, carried: dict[str, Tensor] | None) -> Loss:
        """The loss of a model on a batch of its data; `carried` came with the loss of the batch before."""
        ...
