"""Objectives and their losses: sums and counts, never means."""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.base.errors import ConfigError
from transduce.base.plugins import Registry, check_takes, made_of


@dataclass(frozen=True)
class Loss:
    """A batch's loss, summed, so that accumulation and data parallelism divide once by the real token count."""

    total: Float[Tensor, ""]
    """The sum that training descends, in nats."""
    plain: Float[Tensor, ""]
    """The sum that is reported, in nats: without smoothing."""
    tokens: Int[Tensor, ""]
    """Number of real tokens, or of other things predicted."""
    carried: dict[str, Tensor] | None = None
    """Tensors that this batch passes to the next, without gradients; checkpoints keep them."""


def count_of(targets: Tensor) -> Int[Tensor, ""]:
    """Returns the number of targets, on their device, which is not waited for."""
    return torch.full((), targets.numel(), device=targets.device)


@runtime_checkable
class Objective(Protocol):
    """A function that gives the loss of a model on a batch."""

    def __call__(self, model: Any, batch: Any, carried: dict[str, Tensor] | None) -> Loss:
        """Returns the loss of a model on a batch of its data; `carried` came with the loss of the batch before.

        Each objective names the kinds of model and batch that it needs. It sees a part of an update's batch where
        that is accumulated or shared by processes, so its sums must not depend on what else is in the batch.
        """


@runtime_checkable
class CarriesMuch(Protocol):
    """An objective whose carried tensors are large enough to matter to the memory check."""

    def most_carried(self, model: Any, batch: Any) -> dict[str, Tensor] | None:
        """Returns the largest tensors that may be carried to a batch, of zeros."""


def most_carried(objective: Objective, model: nn.Module, batch: Any) -> dict[str, Tensor] | None:
    """Returns the largest tensors that may be carried to a batch; None for little or nothing."""
    return objective.most_carried(model, batch) if isinstance(objective, CarriesMuch) else None


@dataclass(frozen=True)
class OwnObjective:
    """An objective that is a user's function."""

    name: str
    function: Objective

    def __call__(self, model: nn.Module, batch: Any, carried: dict[str, Tensor] | None) -> Loss:
        """Returns the function's result, which must be a Loss of sums."""
        loss = self.function(model, batch, carried)
        sums = (loss.total, loss.plain, loss.tokens) if isinstance(loss, Loss) else ()
        if not sums or any(not isinstance(total, Tensor) or total.ndim for total in sums):
            shapes = ", ".join(str(list(x.shape)) if isinstance(x, Tensor) else type(x).__name__ for x in sums)
            raise ConfigError(
                f"objective '{self.name}' gave a {type(loss).__name__}{shapes and f' of {shapes}'}; expected a "
                "transduce.objectives.objective.Loss of three tensors without axes: total, plain, tokens"
            )
        if not loss.total.requires_grad:
            raise ConfigError(f"objective '{self.name}' gave a total without gradients, from which nothing is learned")
        return loss

    def most_carried(self, model: nn.Module, batch: Any) -> dict[str, Tensor] | None:
        """See CarriesMuch."""
        return most_carried(self.function, model, batch)


def _own_objective(name: str, given: Any) -> OwnObjective:
    made = made_of("objective", name, given)
    expected = "a function of model, batch and carried, as transduce.objectives.objective.Objective says"
    check_takes("objective", name, made, ("model", "batch", "carried"), expected)
    return OwnObjective(name, made)


OBJECTIVES: Registry[OwnObjective] = Registry("objective", "transduce.objectives", _own_objective)
"""Users' objectives; by default a run has that of its task."""
