"""What training needs to know of a batch: sums and counts, never means."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

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


@runtime_checkable
class Objective(Protocol):
    """What is learned from a batch."""

    def __call__(self, model: nn.Module, batch: Any, carried: dict[str, Tensor] | None) -> Loss:
        """The loss of a model on a batch of its data; `carried` came with the loss of the batch before."""
        ...


@runtime_checkable
class CarriesMuch(Protocol):
    """An objective whose batches hand on so much that the memory check must know of it."""

    def most_carried(self, model: nn.Module, batch: Any) -> dict[str, Tensor]:
        """The largest that may be carried to a batch, of zeros."""
        ...


def most_carried(objective: Objective, model: nn.Module, batch: Any) -> dict[str, Tensor] | None:
    """The largest that may be carried to a batch; None for little or nothing."""
    return objective.most_carried(model, batch) if isinstance(objective, CarriesMuch) else None
