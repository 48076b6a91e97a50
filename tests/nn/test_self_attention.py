import pytest
import torch
from torch import nn
from torch.testing import assert_close

from transduce.nn.attention import MultiHeadAttention
from transduce.nn.initialization import Initialization
from transduce.nn.masks import causal_mask
from transduce.nn.positions import Rotary
from transduce.nn.self_attention import SelfAttention, Span, join_projections

ROWS, TIME, DIM, HEADS, KEY_DIM, VALUE_DIM = 2, 7, 12, 3, 4, 5


@pytest.mark.parametrize("is_rotary", [False, True])
@torch.no_grad()
def test_joined_projections_give_what_those_apart_give_at_once_and_in_steps(is_rotary: bool) -> None:
    torch.manual_seed(1)
    attention = MultiHeadAttention(DIM, HEADS, KEY_DIM, VALUE_DIM, 0.0, Initialization("scaled", 1))
    layer = SelfAttention(attention, Rotary(KEY_DIM) if is_rotary else None).eval()
    for parameter in layer.parameters():
        nn.init.normal_(parameter, std=0.5)
    hidden = torch.randn(ROWS, TIME, DIM)
    may_attend = causal_mask(TIME, TIME, hidden.device)
    expected, kept = layer(hidden, Span(0, TIME), may_attend, layer.empty_cache(hidden))

    parameters = sum(parameter.numel() for parameter in layer.parameters())
    for _ in range(2):  # the second time changes nothing
        join_projections(nn.Sequential(layer))
    assert sum(parameter.numel() for parameter in layer.parameters()) == parameters
    outputs, cache = layer(hidden, Span(0, TIME), may_attend, layer.empty_cache(hidden))
    assert_close(outputs, expected)
    assert_close(cache.known.keys, kept.known.keys)
    assert_close(cache.known.values, kept.known.values)

    cache, steps = layer.empty_cache(hidden), []
    for start, position in enumerate(hidden.split(1, 1)):
        output, cache = layer(position, Span(start, 1), None, cache)
        steps.append(output)
    assert_close(torch.cat(steps, 1), expected)
