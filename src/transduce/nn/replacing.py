"""Replaces the linear layers of a trained model, such as by 8-bit ones."""

from collections.abc import Callable

from torch import nn

from transduce.nn.source_attention import SourceAttention


def replace_linear_layers(model: nn.Module, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Put what `make` makes of it in the place of each linear layer, but for those of scores in recurrent attention."""
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, make(child))
        elif not isinstance(child, SourceAttention):  # its scores use their matrices in parts
            replace_linear_layers(child, make)
