"""Low-rank adapters of linear layers (Hu et al. 2021)."""

from collections.abc import Mapping

from torch import Tensor, nn
from torch.nn import functional

from transduce.nn.layers import Dropout

DOWN, UP = "down", "up"


class LowRankLinear(nn.Module):
    """A linear layer that stays as it is, and beside it a product of two narrow matrices that learns: W x + s B A x
    (Hu et al. 2021, eq. 3). A is `down`, and B, which begins at zero, is `up`.

    Args:
        linear: the layer, whose weights keep their names.
        rank: rows of A and columns of B.
        scale: s, by which the product is multiplied.
        dropout: share of x dropped on its way to A, 0 to 1.
    """

    bias: nn.Parameter | None

    def __init__(self, linear: nn.Linear, rank: int, scale: float, dropout: float) -> None:
        super().__init__()
        self.weight = linear.weight
        self.register_parameter("bias", linear.bias)
        self.down = nn.Parameter(linear.weight.new_empty(rank, linear.in_features))
        self.up = nn.Parameter(linear.weight.new_zeros(linear.out_features, rank))
        self.scale = scale
        self.dropout = Dropout(dropout)
        nn.init.kaiming_uniform_(self.down, a=5**0.5)  # as a linear layer of PyTorch begins

    def forward(self, inputs: Tensor) -> Tensor:
        """Maps [..., inputs] to [..., outputs]."""
        narrow = functional.linear(self.dropout(inputs), self.down) * self.scale  # s A x  [..., rank]
        return functional.linear(inputs, self.weight, self.bias) + functional.linear(narrow, self.up)  # W x + B (s A x)

    def merged(self) -> nn.Linear:
        """Returns a plain layer that gives the same, with weights of its own (section 4.1)."""
        outputs, inputs = self.weight.shape
        layer = nn.Linear(inputs, outputs, self.bias is not None, device="meta")
        layer.weight = nn.Parameter((self.weight + self.scale * self.up @ self.down).detach())  # W + s B A
        if self.bias is not None:
            layer.bias = nn.Parameter(self.bias.detach().clone())
        return layer


def merge_weights(weights: Mapping[str, Tensor], scale: float) -> dict[str, Tensor]:
    """Returns the weights of a model with adapters as those of one without."""
    merged = dict(weights)
    for name in weights:
        layer, _, kind = name.rpartition(".")
        if kind == DOWN and f"{layer}.{UP}" in weights:
            down, up = merged.pop(name), merged.pop(f"{layer}.{UP}")
            merged[f"{layer}.weight"] = merged[f"{layer}.weight"] + scale * up @ down
    return merged
