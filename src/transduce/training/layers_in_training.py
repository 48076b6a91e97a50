"""Ways to run a model's layers in training: compiled, or with most of what they compute computed again backwards."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from transduce.models.named_parts import stacks
from transduce.nn.recording import takes_plain_paths

Forward = Callable[..., Any]


def compile_layers(model: nn.Module) -> None:
    """Lets PyTorch compile the layers of a model's encoder and decoder for training, in place.

    Each kind of layer is compiled once for batches of all sizes, and once more for each kind of mask that it is given.
    """
    _replace(model, lambda forward: torch.compile(forward, dynamic=True))


def recompute_layers(model: nn.Module) -> None:
    """Makes the layers of a model's encoder and decoder keep their inputs alone until the backward pass, which computes
    the rest again (activation checkpointing, Chen et al. 2016), in place.

    Gradients stay the same, those of dropped elements too. A step of a decoder that calls no layer as a whole, as a
    recurrent one, keeps what it computes.
    """
    _replace(model, lambda forward: partial(checkpoint, forward, use_reentrant=False))


def _replace(model: nn.Module, change: Callable[[Forward], Forward]) -> None:
    for blocks in stacks(model).values():
        for layer in blocks[1:]:
            layer.forward = partial(_run, change(layer.forward), layer.forward)


def _run(in_training: Forward, otherwise: Forward, *inputs: Any) -> Any:
    """Runs a layer; what no gradient is wanted of, or is watched inside, is run as ever."""
    return (in_training if torch.is_grad_enabled() and not takes_plain_paths() else otherwise)(*inputs)
