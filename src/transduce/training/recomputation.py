"""Activation checkpointing (Chen et al. 2016): layers keep their inputs alone and compute the rest again backwards."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from transduce.models.named_parts import stacks


def recompute_layers(model: nn.Module) -> None:
    """Makes the layers of a model's encoder and decoder compute their inner results again in the backward pass.

    The model is changed in place. Gradients stay the same, those of dropped elements too. A step of a decoder that
    calls no layer as a whole, as a recurrent one, keeps what it computes.
    """
    for blocks in stacks(model).values():
        for layer in blocks[1:]:
            layer.forward = partial(_forget, layer.forward)


def _forget(forward: Callable[..., Any], *inputs: Any) -> Any:
    """Calls a layer; with gradients on, what it computes is not kept."""
    return checkpoint(forward, *inputs, use_reentrant=False) if torch.is_grad_enabled() else forward(*inputs)
