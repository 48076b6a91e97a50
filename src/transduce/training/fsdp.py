"""Gradients of processes that each have a shard of the weights, by PyTorch's FSDP2."""

import copy
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, distributed, nn

from transduce.models.stack import SelfAttentionLayer
from transduce.nn.layers import FeedForward
from transduce.objectives.objective import Loss, Objective, most_carried
from transduce.training.gradients import Gradients, PartLoss
from transduce.training.sharded_tensors import whole

UNITS = (SelfAttentionLayer, FeedForward)
"""Modules whose weights nothing uses but their own forward pass; decoders project the memory with those of others."""


class Shards(Gradients):
    """Gradients of processes that each keep some rows of the weights, of their gradients and of the optimiser's state.

    FSDP2 gathers weights for a forward pass, in the precision of the pass, and adds up the gradients of each part in
    float32, of which each process gets its rows. With `is_full`, the weights of a layer are forgotten after its forward
    pass and gathered again for its backward pass; else they stay until then, which needs more memory and less exchange.
    """

    def __init__(self, model: nn.Module, objective: Objective, precision: torch.dtype, is_full: bool) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

        self.model = self.at_work = model
        self._objective = objective
        self._precision = precision
        self._device = next(model.parameters()).device
        without_weights = [nn.Parameter(one.detach().to("meta"), one.requires_grad) for one in model.parameters()]
        self._form = _with_parameters(model, list(model.parameters()), without_weights)
        for module in model.modules():
            for name, buffer in module.named_buffers(recurse=False):
                if buffer.is_floating_point():
                    setattr(module, name, buffer.to(precision))
        mesh = init_device_mesh(self._device.type, (distributed.get_world_size(),))
        policy = MixedPrecisionPolicy(precision, torch.float32, cast_forward_inputs=False)
        for unit in _units(model):
            fully_shard(unit, mesh=mesh, reshard_after_forward=is_full, mp_policy=policy)
        self._part_loss = PartLoss(model, objective)
        fully_shard(self._part_loss, mesh=mesh, reshard_after_forward=False, mp_policy=policy)
        for module in self._part_loss.modules():
            if isinstance(module, FSDPModule):
                # Losses are sums, and so are gradients: FSDP would divide by the number of processes. A factor of one
                # alone does not suffice: over gloo it would still average.
                module.set_gradient_divide_factor(1.0)
                module.set_force_sum_reduction_for_comms(True)
                module.set_reduce_scatter_unused_params(True)
        self._root: Any = self._part_loss
        self._has_begun = False

    def add(self, batch: Any, carried: dict[str, Tensor] | None, *, counts: bool = True, is_last: bool = False) -> Loss:
        """See Gradients."""
        self._has_begun = True
        self._root.train()
        with warnings.catch_warnings():
            # of operations in place on what a unit returns, of which models have none
            warnings.filterwarnings("ignore", ".*returned a view tensor", UserWarning)
            loss = Loss(*self._root(batch, carried))
        (loss.total if counts else loss.total * 0).backward()
        return loss

    def most_carried(self, batch: Any) -> dict[str, Tensor] | None:
        """See Gradients."""
        carried = most_carried(self._objective, self._form, batch)
        if carried is None:
            return None
        return {
            name: torch.zeros(value.shape, device=self._device, dtype=self._precision)
            for name, value in carried.items()
        }

    def forget(self) -> None:
        """See Gradients."""
        if self._has_begun:
            self._root.reset_iter_state()  # a part may have failed for lack of memory
        self.model.zero_grad()

    def copy(self) -> nn.Module:
        """See Gradients; the copy has shards, too."""
        parameters = [nn.Parameter(one.detach().clone(), one.requires_grad) for one in self.model.parameters()]
        return _with_parameters(self._form, list(self._form.parameters()), parameters)

    def whole(self, model: nn.Module) -> nn.Module:
        """See Gradients."""
        parameters = [nn.Parameter(whole(one.detach()), one.requires_grad) for one in model.parameters()]
        return _with_parameters(self._form, list(self._form.parameters()), parameters)


def _units(module: nn.Module) -> Iterator[nn.Module]:
    """Yields the outermost parts of a model that are gathered by themselves."""
    for child in module.children():
        if isinstance(child, UNITS):
            yield child
        else:
            yield from _units(child)


def _with_parameters(model: nn.Module, old: Sequence[nn.Parameter], new: Sequence[nn.Parameter]) -> nn.Module:
    """Returns a copy of a model with other parameters, in the order of `parameters`; tied ones stay tied."""
    return copy.deepcopy(model, {id(before): after for before, after in zip(old, new, strict=True)})
