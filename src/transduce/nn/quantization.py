"""Linear layers on 8-bit integers, for trained models on a CPU."""

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


def _scale(rows: Tensor) -> Tensor:
    """Returns the size of one step of a row's bytes, [rows, 1]."""
    return rows.abs().amax(-1, keepdim=True).clamp_(min=1e-30).div_(LARGEST)


def _to_bytes(rows: Tensor, scale: Tensor) -> Tensor:
    return (rows / scale).round_().to(torch.int8)
