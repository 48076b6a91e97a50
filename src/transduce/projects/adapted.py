"""The model of a project: the served one with the project's adapter merged into a copy of the layers that have one."""

import copy
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from torch import Tensor, nn

from transduce.bundle import ModelBundle
from transduce.nn.low_rank import DOWN, UP


def with_adapter(bundle: ModelBundle, adapter: Mapping[str, Tensor], scale: float) -> ModelBundle:
    """Returns a bundle whose linear layers have the adapter in their weights (Hu et al. 2021, section 4.1); all other
    weights are those of the given one, which stays as it is.

    Args:
        bundle: a model as it was loaded, before it was made ready for a precision.
        adapter: matrices `down` [rank, inputs] and `up` [outputs, rank] of each layer, by name.
        scale: factor of their product.
    """
    shared = {id(tensor): tensor for tensor in chain(bundle.model.parameters(), bundle.model.buffers())}
    model = copy.deepcopy(bundle.model, shared)
    for name, down in adapter.items():
        layer, _, kind = name.rpartition(".")
        if kind == DOWN:
            linear: nn.Linear = model.get_submodule(layer)  # type: ignore[assignment]
            product = scale * adapter[f"{layer}.{UP}"] @ down
            weight = linear.weight + product.to(linear.weight.device)  # W + s B A
            linear.weight = nn.Parameter(weight.detach(), requires_grad=False)
    return replace(bundle, model=model)
