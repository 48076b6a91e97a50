"""The gradients of an update: summed over its parts, and over the processes that have copies of the model."""

import copy
from abc import ABC, abstractmethod
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from transduce.objectives.objective import Loss, Objective, most_carried
from transduce.training.precision import WorkingCopy


class Gradients(ABC):
    """The weights that are trained, and the sums of their gradients over the parts of an update."""

    model: nn.Module
    """The weights that optimisers move, in float32, and their gradients."""
    at_work: nn.Module
    """The model that parts run through, which may have weights of its own."""

    def prepare(self) -> None:
        """Takes the memory that the exchange of gradients needs; all processes do this together."""
        return  # most have nothing to do

    @abstractmethod
    def add(self, batch: Any, carried: dict[str, Tensor] | None, *, counts: bool = True, is_last: bool = False) -> Loss:
        """Adds the gradients of a part's loss.

        Args:
            batch: the part.
            carried: see Objective.
            counts: False for a part that is only worked through because other processes have one more.
            is_last: after the last part of an update, gradients become sums over all processes, which do this together.
        """

    @abstractmethod
    def most_carried(self, batch: Any) -> dict[str, Tensor] | None:
        """Returns the largest tensors that may be carried to a part; None for little or nothing."""

    @abstractmethod
    def forget(self) -> None:
        """Removes all gradients."""

    def refresh(self) -> None:
        """Lets the next part see the weights that the optimisers have moved."""
        return  # most have nothing to do

    @abstractmethod
    def copy(self) -> nn.Module:
        """Returns a model with a copy of the weights of `model`."""

    @abstractmethod
    def whole(self, model: nn.Module) -> nn.Module:
        """Returns `model`, or a copy of it, with all of its weights in every process; all do this together."""

    def close(self) -> None:
        """Lets go of the group of processes, whose threads end with it."""
        return  # most have nothing to do


class PartLoss(nn.Module):
    """The loss of a part as one module: hooks on its forward pass see all that an objective does with a model."""

    def __init__(self, model: nn.Module, objective: Objective) -> None:
        super().__init__()
        self.model = model
        self.objective = objective

    def forward(
        self, batch: Any, carried: dict[str, Tensor] | None
    ) -> tuple[Tensor, Tensor, Tensor, dict[str, Tensor] | None]:
        """Returns the fields of a Loss, in a form in which DDP and FSDP find the tensors."""
        loss = self.objective(self.model, batch, carried)
        return loss.total, loss.plain.detach(), loss.tokens, loss.carried


class _DependsOnAll(torch.autograd.Function):
    """A number that also depends on other tensors, with no gradient for these: DDP waits for a hook on each parameter,
    and a part may use no head or adapter."""

    @staticmethod
    def forward(context: Any, number: Tensor, *others: Tensor) -> Tensor:
        context.others = len(others)
        return number.view_as(number)

    @staticmethod
    def backward(context: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return gradient, *[None] * context.others


class OneProcess(Gradients):
    """Gradients of a single process."""

    def __init__(self, model: nn.Module, objective: Objective, precision: torch.dtype) -> None:
        self._working = WorkingCopy(model, precision)
        self.model, self.at_work = self._working.masters, self._working.model
        self._objective = objective

    def add(self, batch: Any, carried: dict[str, Tensor] | None, *, counts: bool = True, is_last: bool = False) -> Loss:
        """See Gradients."""
        loss = self._objective(self._working.model.train(), batch, carried)
        loss.total.backward()
        self._working.collect_gradients()
        return loss

    def most_carried(self, batch: Any) -> dict[str, Tensor] | None:
        """See Gradients."""
        return most_carried(self._objective, self._working.model, batch)

    def forget(self) -> None:
        """See Gradients."""
        self._working.forget_gradients()

    def refresh(self) -> None:
        """See Gradients."""
        self._working.refresh()

    def copy(self) -> nn.Module:
        """See Gradients."""
        return copy.deepcopy(self._working.masters)

    def whole(self, model: nn.Module) -> nn.Module:
        """See Gradients."""
        return model


class Replicas(OneProcess):
    """Gradients of processes that each have a copy of the model, exchanged by PyTorch's DistributedDataParallel.

    It exchanges them in buckets, while the backward pass of the last part goes on. Losses are sums, and so are
    gradients: a hook of DDP adds them up where it would average. They are exchanged in float32: with a working copy in
    bfloat16, a bucket of the last part's gradients is first added to those of the other parts, on the masters.
    """

    def __init__(self, model: nn.Module, objective: Objective, precision: torch.dtype) -> None:
        super().__init__(model, objective, precision)
        self._replica: DistributedDataParallel | None = None

    def prepare(self) -> None:
        """Makes the buckets."""
        if self._replica is None:
            self._replica = DistributedDataParallel(
                PartLoss(self._working.model, self._objective),
                init_sync=False,
                forward_sync_buffers=False,
                gradient_as_bucket_view=True,
            )
            # The hook must not know this object: a circle through C++ would never be freed.
            self._replica.register_comm_hook(_Masters.of(self._working), _sum_bucket)

    def add(self, batch: Any, carried: dict[str, Tensor] | None, *, counts: bool = True, is_last: bool = False) -> Loss:
        """See Gradients."""
        self.prepare()
        assert self._replica is not None
        self._replica.train()
        with nullcontext() if is_last else self._replica.no_sync():
            loss = Loss(*self._replica(batch, carried))
            total = _DependsOnAll.apply(loss.total, *self._working.model.parameters())  # type: ignore[no-untyped-call]
            (total if counts else total * 0).backward()
        if not is_last:
            self._working.collect_gradients()
        elif not self._working.is_same:
            self._working.model.zero_grad()  # they are among the sums
        return loss

    def close(self) -> None:
        """See Gradients."""
        self._replica = None


@dataclass(frozen=True)
class _Masters:
    """The float32 masters of a working copy's parameters; none if it is the model itself."""

    of_working: dict[int, nn.Parameter]
    """The master of each parameter of the copy, by its id."""

    @staticmethod
    def of(working: WorkingCopy) -> "_Masters":
        """Returns the masters of a working copy."""
        pairs = zip(working.model.parameters(), working.masters.parameters(), strict=True)
        return _Masters({} if working.is_same else {id(parameter): master for parameter, master in pairs})

    def add_other_parts(self, bucket: distributed.GradBucket) -> Tensor:
        """Returns a bucket's gradients, with those of the update's other parts, as float32; the masters' gradients
        become views of it."""
        masters = [self.of_working[id(parameter)] for parameter in bucket.parameters()]
        sums = bucket.buffer().float()
        slices = sums.split([master.numel() for master in masters])
        views = [part.view_as(master) for part, master in zip(slices, masters, strict=True)]
        added = [(view, master.grad) for view, master in zip(views, masters, strict=True) if master.grad is not None]
        if added:
            torch._foreach_add_([view for view, _ in added], [gradient for _, gradient in added])
        for view, master in zip(views, masters, strict=True):
            master.grad = view
        return sums


def _sum_bucket(masters: _Masters, bucket: distributed.GradBucket) -> torch.futures.Future[Tensor]:
    """Starts to add up a bucket over all processes; see DistributedDataParallel.register_comm_hook."""
    buffer = bucket.buffer()
    sums = masters.add_other_parts(bucket) if masters.of_working else buffer
    work = distributed.all_reduce(sums, async_op=True)
    assert work is not None
    return work.get_future().then(lambda _: buffer)
