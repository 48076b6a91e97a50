"""Linear layers optimised for small batches, for inference in float32 on a CPU."""

from torch import Tensor, addmm, nn
from torch.nn import functional

from transduce.nn.linear import outputs_of

LEAST, MOST = 2, 8
"""Numbers of rows for which MKL multiplies the weights by them, as columns, faster than them by the weights."""


class SmallBatchLinear(nn.Linear):
    """What a linear layer gives, with the order of the product chosen by the number of rows."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__(linear.in_features, linear.out_features, bias=linear.bias is not None, device="meta")
        self.weight = linear.weight
        self.bias = linear.bias

    def forward(self, input: Tensor) -> Tensor:
        """[..., inputs] to [..., outputs]."""
        rows = input.reshape(-1, self.in_features)
        if not LEAST <= len(rows) <= MOST:
            return functional.linear(input, self.weight, self.bias)
        columns = rows.t()
        outputs = self.weight @ columns if self.bias is None else addmm(self.bias[:, None], self.weight, columns)
        return outputs.t().contiguous().view(*input.shape[:-1], self.out_features)

    def of_outputs(self, chosen: Tensor) -> "SmallBatchLinear":
        """The same layer with these of its outputs alone."""
        return SmallBatchLinear(outputs_of(self, chosen))
