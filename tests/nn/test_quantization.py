import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transduce.nn.quantization import Int8Linear


def written_out(linear: nn.Linear, inputs: torch.Tensor) -> torch.Tensor:
    """Both sides rounded to 127 steps of their row's largest number, multiplied in double precision."""

    def rounded(rows: torch.Tensor) -> torch.Tensor:
        step = rows.abs().amax(-1, keepdim=True) / 127
        return ((rows / step).round() * step).double()

    outputs = rounded(inputs) @ rounded(linear.weight).T
    return outputs if linear.bias is None else outputs + linear.bias.double()


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 40), (2, 5, 40), (1, 1, 40)])
@torch.no_grad()
def test_it_is_the_product_of_rounded_numbers_and_near_the_layer_it_was(bias: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    linear, inputs = nn.Linear(40, 7, bias=bias), torch.randn(shape)
    outputs = Int8Linear(linear)(inputs)
    assert_close(outputs.double(), written_out(linear, inputs), rtol=1e-4, atol=1e-5)
    assert 0 < float((outputs - linear(inputs)).abs().max()) < 0.03


@torch.no_grad()
def test_no_row_depends_on_another() -> None:
    torch.manual_seed(2)
    layer, inputs = Int8Linear(nn.Linear(16, 9)), torch.randn(5, 16)
    inputs[1] *= 100
    inputs[3] = 0
    assert_close(layer(inputs), torch.cat([layer(row) for row in inputs.split(1)]), rtol=0, atol=0)
    assert_close(layer(inputs)[3], layer.bias)


@pytest.mark.parametrize("bias", [True, False])
@torch.no_grad()
def test_some_outputs_are_those_of_the_whole_layer(bias: bool) -> None:
    torch.manual_seed(3)
    layer, inputs, chosen = Int8Linear(nn.Linear(16, 9, bias=bias)), torch.randn(2, 5, 16), torch.tensor([1, 4, 8])
    assert_close(layer.of_outputs(chosen)(inputs), layer(inputs)[..., chosen], rtol=0, atol=0)
