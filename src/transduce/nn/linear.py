"""Linear layers made of others: from given weights, of some outputs, or in place of those of a trained model."""

from collections.abc import Callable

from jaxtyping import Float, Int
from torch import Tensor, nn

from transduce.nn.adaptive import AdaptiveEmbedding, AdaptiveOutput
from transduce.nn.cpu import SmallBatchLinear
from transduce.nn.quantization import Int8Linear, StaticInt8Linear
from transduce.nn.source_attention import SourceAttention

USE_MATRICES = (AdaptiveEmbedding, AdaptiveOutput, SourceAttention)
"""Modules that compute with the matrices of their linear layers instead of calling these."""


def linear_layer(weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"] | None) -> nn.Linear:
    """Returns a linear layer of this weight and bias."""
    outputs, inputs = weight.shape
    layer = nn.Linear(inputs, outputs, bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight)
    if bias is not None:
        layer.bias = nn.Parameter(bias)
    return layer


def outputs_of(layer: nn.Module, chosen: Int[Tensor, " chosen"]) -> nn.Module:
    """Returns a linear layer with these of its outputs alone, of the same kind."""
    if isinstance(layer, Int8Linear | StaticInt8Linear):
        return layer.of_outputs(chosen)
    assert isinstance(layer, nn.Linear), "an adaptive softmax has no outputs to choose: callers check it"
    part = linear_layer(layer.weight[chosen], None if layer.bias is None else layer.bias[chosen])
    return SmallBatchLinear(part) if isinstance(layer, SmallBatchLinear) else part


def replace_linear_layers(model: nn.Module, make: Callable[[nn.Linear], nn.Module]) -> None:
    """Replaces each linear layer by one that `make` makes of it, such as 8-bit, except in modules that use its matrix
    themselves."""
    for name, child in model.named_children():
        if isinstance(child, nn.Linear):
            setattr(model, name, make(child))
        elif not isinstance(child, USE_MATRICES):
            replace_linear_layers(child, make)
