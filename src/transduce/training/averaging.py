"""Averages of weights: of a run's checkpoints, or a moving average during training."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from transduce.training.sharded_tensors import local


def average_weights(models: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Averages several weights of one model, tensor by tensor, in float64; the result is float32.

    Vaswani et al. 2017 (section 6.1) average the last 5 checkpoints of a base model, the last 20 of a big one.
    """
    totals: dict[str, Tensor] = {}
    count = 0
    for weights in models:
        count += 1
        for name, tensor in weights.items():
            totals[name] = totals.get(name, 0) + tensor.double()
    return {name: (total / count).float() for name, total in totals.items()}


class MovingAverage:
    """An exponential moving average of a model's weights (Polyak and Juditsky 1992), in a model of its own.

    Its decay rises with the updates made, as min(decay, (1 + n) / (10 + n)), so that the first weights are soon
    forgotten.
    """

    def __init__(self, model: nn.Module, averaged: nn.Module, decay: float) -> None:
        self.model = averaged
        self._decay = decay
        self._weights = [local(parameter.data) for parameter in model.parameters()]
        self._averaged = [local(parameter.data) for parameter in averaged.parameters()]

    @torch.no_grad()
    def follow(self, update: int) -> None:
        """Moves the average towards the model's weights after an update, counted from 1."""
        decay = min(self._decay, (1 + update) / (10 + update))
        torch._foreach_lerp_(self._averaged, self._weights, 1 - decay)
