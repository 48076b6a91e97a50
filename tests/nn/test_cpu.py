import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transduce.nn.cpu import SmallBatchLinear
from transduce.nn.linear import outputs_of


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 5), (1, 1, 5), (2, 1, 5), (1, 4, 5), (3, 7, 5), (0, 1, 5)])
@torch.no_grad()
def test_it_gives_what_the_layer_gives_for_any_number_of_rows(bias: bool, shape: tuple[int, ...]) -> None:
    torch.manual_seed(1)
    linear, inputs = nn.Linear(5, 11, bias=bias), torch.randn(shape)
    outputs = SmallBatchLinear(linear)(inputs)
    assert_close(outputs, linear(inputs))
    assert outputs.is_contiguous()


@torch.no_grad()
def test_rows_may_lie_apart_in_memory() -> None:
    torch.manual_seed(2)
    linear, inputs = nn.Linear(5, 11), torch.randn(5, 3, 2).transpose(0, 2)
    assert_close(SmallBatchLinear(linear)(inputs), linear(inputs))


@pytest.mark.parametrize("bias", [True, False])
@torch.no_grad()
def test_some_outputs_are_those_of_the_whole_layer_and_as_fast(bias: bool) -> None:
    torch.manual_seed(3)
    layer, inputs = SmallBatchLinear(nn.Linear(16, 9, bias=bias)), torch.randn(5, 16)
    chosen = torch.tensor([1, 4, 8])
    part = outputs_of(layer, chosen)
    assert isinstance(part, SmallBatchLinear)
    assert_close(part(inputs), layer(inputs)[..., chosen])
