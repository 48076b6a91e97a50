"""Linear layers made of others' weights."""

from jaxtyping import Float, Int
from torch import Tensor, nn


def linear_layer(weight: Float[Tensor, "outputs inputs"], bias: Float[Tensor, " outputs"] | None) -> nn.Linear:
    """A linear layer of this weight and bias."""
    outputs, inputs = weight.shape
    layer = nn.Linear(inputs, outputs, bias=bias is not None, device="meta")
    layer.weight = nn.Parameter(weight)
    if bias is not None:
        layer.bias = nn.Parameter(bias)
    return layer


def outputs_of(layer: nn.Linear, chosen: Int[Tensor, " chosen"]) -> nn.Linear:
    """The same layer with these of its outputs alone."""
    return linear_layer(layer.weight[chosen], None if layer.bias is None else layer.bias[chosen])
