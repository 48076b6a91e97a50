"""Linear layers on 8-bit integers, for trained models on a CPU."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

LARGEST = 127  # of a signed byte


class Int8Linear(nn.Module):
    """An approximate linear layer: its weights are bytes with a scale for each output.

    Inputs become bytes at each call, with a scale for each row, so that no row depends on other rows. The
    product's sums are exact.
    """

    weight: Tensor
    """[inputs, outputs], int8."""
    scale: Tensor
    """[outputs]."""
    bias: Tensor | None

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        scale = _scale(weight)  # [outputs, 1]
        self.register_buffer("weight", _to_bytes(weight, scale).t().contiguous())
        self.register_buffer("scale", scale[:, 0].contiguous())
        self.register_buffer("bias", None if linear.bias is None else linear.bias.detach())

    def forward(self, inputs: Tensor) -> Tensor:
        """Maps [..., inputs] to [..., outputs]."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        scale = _scale(rows)  # [rows, 1]
        sums = torch._int_mm(_to_bytes(rows, scale), self.weight)  # exact, in int32  [rows, outputs]
        outputs = sums.to(inputs.dtype).mul_(scale).mul_(self.scale)  # steps of the inputs times those of the weights
        if self.bias is not None:
            outputs += self.bias
        return outputs.view(*inputs.shape[:-1], len(self.scale))

    def of_outputs(self, chosen: Tensor) -> "Int8Linear":
        """Returns the same layer with these of its outputs alone."""
        part = Int8Linear.__new__(Int8Linear)
        nn.Module.__init__(part)
        part.register_buffer("weight", self.weight[:, chosen])
        part.register_buffer("scale", self.scale[chosen])
        part.register_buffer("bias", None if self.bias is None else self.bias[chosen])
        return part


class StaticInt8Linear(nn.Module):
    """A linear layer of 8-bit integers as engines of small translators compute it: one scale for all weights, and one
    for all inputs, measured beforehand, by which larger inputs are cut off.

    Each rounding is that of the engines (Marian's int8shiftAlphaAll): inputs from -127 to 127 become 0 to 254, and what
    that adds to the sums is taken away with the bias. On x86 processors without VNNI the products of two neighbours are
    added in 16 bits, which few sums exceed; they are cut off at the largest number.
    """

    weight: Tensor
    """[inputs, outputs], int8."""
    bias: Tensor
    """[outputs]: the layer's own, less what the shift of the inputs adds."""
    shifted: Tensor
    """[outputs], int32: what the shift of the inputs adds to the sums."""
    pairs: Tensor
    """[pairs, 2]: each pair of weights whose products may exceed 16 bits, as the first one's input and their output."""

    def __init__(
        self,
        weight: Tensor,
        weight_multiplier: float,
        input_multiplier: float,
        bias: Tensor | None,
        saturates: bool = False,
    ) -> None:
        """Takes weights in bytes, [outputs, inputs]; multiplied by the multipliers, weights and inputs are bytes."""
        super().__init__()
        self.input_multiplier = input_multiplier
        step = 1 / (torch.tensor(input_multiplier) * weight_multiplier)  # in float32, as all below
        sums = weight.sum(1, dtype=torch.int32)  # [outputs]
        added = LARGEST * step * sums.float()
        self.step = float(step)
        self.register_buffer("weight", weight.t().contiguous())
        self.register_buffer("shifted", LARGEST * sums)
        self.register_buffer("bias", -added if bias is None else bias - added)
        self.register_buffer("pairs", _pairs_beyond_16_bits(weight) if saturates else torch.empty(0, 2).long())

    def forward(self, inputs: Tensor) -> Tensor:
        """Maps [..., inputs] to [..., outputs]."""
        rows = inputs.reshape(-1, inputs.shape[-1])
        values = (rows * self.input_multiplier).round_().clamp_(-LARGEST, LARGEST).to(torch.int8)
        sums = torch._int_mm(values, self.weight) + self.shifted  # exact, in int32  [rows, outputs]
        if len(self.pairs):
            at, outputs = self.pairs.unbind(1)
            shifted = values.int() + LARGEST  # 0 to 254
            products = shifted[:, at] * self.weight[at, outputs] + shifted[:, at + 1] * self.weight[at + 1, outputs]
            sums.index_add_(1, outputs, products.clamp(-32768, 32767) - products)  # [rows, pairs]
        return (sums.float() * self.step + self.bias).view(*inputs.shape[:-1], len(self.bias))

    def of_outputs(self, chosen: Tensor) -> "StaticInt8Linear":
        """Returns the same layer with these of its outputs alone, whose sums are exact."""
        part = StaticInt8Linear.__new__(StaticInt8Linear)
        nn.Module.__init__(part)
        part.input_multiplier, part.step = self.input_multiplier, self.step
        part.register_buffer("weight", self.weight[:, chosen])
        part.register_buffer("shifted", self.shifted[chosen])
        part.register_buffer("bias", self.bias[chosen])
        part.register_buffer("pairs", self.pairs[:0])
        return part


def _pairs_beyond_16_bits(weight: Tensor) -> Tensor:
    """Returns the input and the output of each pair of neighbours whose products with inputs of 0 to 254 may add up to
    more than 16 bits hold, [pairs, 2]; weights are [outputs, inputs]."""
    pairs = weight.int().unflatten(1, (-1, 2))  # [outputs, inputs / 2, 2]
    highest, lowest = 2 * LARGEST * pairs.clamp(min=0).sum(-1), 2 * LARGEST * pairs.clamp(max=0).sum(-1)
    outputs, at = ((highest > 32767) | (lowest < -32768)).nonzero().unbind(1)
    return torch.stack([2 * at, outputs], 1)


class SideBySide(nn.Module):
    """Layers of the same inputs, whose outputs are concatenated."""

    def __init__(self, layers: Sequence[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, inputs: Tensor) -> Tensor:
        """Maps [..., inputs] to [..., outputs of all]."""
        return torch.cat([layer(inputs) for layer in self.layers], -1)


def _scale(rows: Tensor) -> Tensor:
    """Returns the size of one step of a row's bytes, [rows, 1]."""
    return rows.abs().amax(-1, keepdim=True).clamp_(min=1e-30).div_(LARGEST)


def _to_bytes(rows: Tensor, scale: Tensor) -> Tensor:
    return (rows / scale).round_().to(torch.int8)
