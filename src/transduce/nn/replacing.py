"""Replaces the linear layers of a trained model, such as by 8-bit ones."""

from collections.abc import Callable

from torch import nn

from transduce.nn.adaptive import AdaptiveEmbedding, AdaptiveOutput
from transduce.nn.source_attention import SourceAttention

USE_MATRICES = (AdaptiveEmbedding, AdaptiveOutput, SourceAttention)
"""Modules that compute with the matrices of their linear layers instead of calling these."""


def replace_linear_layers(model: nn.Module, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Replace each linear layer by what `make` makes of it, except in modules that use its matrix themselves."""
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, make(child))
        elif not isinstance(child, USE_MATRICES):
            replace_linear_layers(child, make)
