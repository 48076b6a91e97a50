import math
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from transduce.nn.attention import MultiHeadAttention
from transduce.nn.initialization import Initialization
from transduce.nn.layers import FeedForward

LAYERS = 7
OUT, IN = 300, 500  # as a table: 300 entries of width 500


def standard_deviation(begin: Callable[[Tensor], None]) -> float:
    torch.manual_seed(1)
    weight = torch.empty(OUT, IN)
    begin(weight)
    assert abs(float(weight.mean())) < 5 * float(weight.std()) / math.sqrt(weight.numel())
    return float(weight.std())


@pytest.mark.parametrize("kind", ["xavier", "scaled", "gpt2"])
def test_weights_vary_as_their_kind_states(kind: str) -> None:
    initialization = Initialization(kind, LAYERS)
    xavier = math.sqrt(2 / (IN + OUT))
    matrix, residual, embedding = {
        "xavier": (xavier, xavier, xavier),
        "scaled": (xavier, xavier, 1 / math.sqrt(IN)),
        "gpt2": (0.02, 0.02 / math.sqrt(2 * LAYERS), 0.02),
    }[kind]
    assert standard_deviation(initialization.matrix) == pytest.approx(matrix, rel=0.02)
    assert standard_deviation(initialization.residual) == pytest.approx(residual, rel=0.02)
    assert standard_deviation(initialization.embedding) == pytest.approx(embedding, rel=0.02)


def test_matrices_that_share_a_layer_begin_as_if_apart() -> None:
    torch.manual_seed(2)
    initialization = Initialization("xavier", 1)
    attention = MultiHeadAttention(200, 3, 20, 100, 0.0, initialization)
    keys, values = attention.key_value.weight.split([60, 300])
    for matrix, size in ((attention.query.weight, 60), (keys, 60), (values, 300), (attention.output.weight, 300)):
        assert float(matrix.detach().std()) == pytest.approx(math.sqrt(2 / (200 + size)), rel=0.03)
    gated = FeedForward(200, 300, "geglu", 0.0, initialization)
    for matrix in gated.inner.weight.chunk(2):
        assert float(matrix.detach().std()) == pytest.approx(math.sqrt(2 / (200 + 300)), rel=0.03)


def test_what_is_added_to_the_residual_path_begins_smaller_the_deeper_the_model() -> None:
    torch.manual_seed(3)
    initialization = Initialization("gpt2", LAYERS)
    attention = MultiHeadAttention(200, 3, 20, 100, 0.0, initialization)
    feed_forward = FeedForward(200, 300, "relu", 0.0, initialization)
    for inside, last in ((attention.query, attention.output), (feed_forward.inner, feed_forward.output)):
        assert float(inside.weight.detach().std()) == pytest.approx(0.02, rel=0.03)
        assert float(last.weight.detach().std()) == pytest.approx(0.02 / math.sqrt(2 * LAYERS), rel=0.03)
        assert (inside.bias == 0).all() and (last.bias == 0).all()
