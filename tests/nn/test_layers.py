import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from operator_calls import OperatorCalls
from transduce.nn.initialization import Initialization
from transduce.nn.layers import NORMS, Dropout, FeedForward, NormKind, Residual

MANY = 400_003  # not a multiple of eight, as masks are drawn in eights


def dropped(rate: float, size: int = MANY, seed: int = 1) -> Tensor:
    torch.manual_seed(seed)
    return Dropout(rate).train()(torch.ones(size)) == 0


@pytest.mark.parametrize("rate", [0.05, 0.1, 0.3, 0.5, 0.9])
def test_the_share_dropped_is_the_rate_to_the_nearest_256th(rate: float) -> None:
    effective = round(rate * 256) / 256
    assert abs(effective - rate) <= 1 / 512
    bound = 5 * math.sqrt(effective * (1 - effective) / MANY)
    assert abs(float(dropped(rate).double().mean()) - effective) < bound
    for place in range(8):  # in each byte of the drawn words alike
        assert abs(float(dropped(rate)[place::8].double().mean()) - effective) < bound * math.sqrt(8)


@pytest.mark.parametrize("rate", [1e-6, 1e-3, 1 / 512])
def test_no_rate_above_zero_drops_nothing(rate: float) -> None:
    assert float(dropped(rate).double().mean()) == pytest.approx(1 / 256, rel=0.2)


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_dropout_leaves_the_mean_as_it_was(rate: float) -> None:
    torch.manual_seed(2)
    kept = Dropout(rate).train()(torch.ones(MANY))
    effective = round(rate * 256) / 256
    assert float(kept.double().mean()) == pytest.approx(1, abs=5 * math.sqrt(effective / (1 - effective) / MANY))
    assert_close(kept[kept != 0], torch.full_like(kept[kept != 0], 1 / (1 - effective)))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("shape", [(3, 57, 31), (57, 62)])
def test_in_bfloat16_what_is_kept_and_its_gradient_are_the_exact_product_rounded_once(
    rate: float, shape: tuple[int, ...]
) -> None:
    torch.manual_seed(8)
    scale = 256 / (256 - round(rate * 256))
    x = torch.randn(shape).to(torch.bfloat16).transpose(-2, -1).requires_grad_()
    gradient = torch.randn(x.shape).to(torch.bfloat16)
    y = Dropout(rate).train()(x)
    y.backward(gradient)
    is_kept = y != 0
    assert is_kept.any() and not is_kept.all()
    for found, was in ((y, x), (x.grad, gradient)):
        expected = torch.where(is_kept, was.float() * scale, 0.0)
        assert_close(found, expected.to(torch.bfloat16), rtol=0, atol=0)


@pytest.mark.parametrize("distance", [1, 2, 7, 8, 64])
def test_masks_of_neighbours_are_uncorrelated(distance: int) -> None:
    mask = dropped(0.3).double()
    correlation = torch.corrcoef(torch.stack([mask[:-distance], mask[distance:]]))[0, 1]
    assert abs(float(correlation)) < 5 / math.sqrt(MANY)


def test_masks_of_successive_calls_differ() -> None:
    torch.manual_seed(3)
    dropout = Dropout(0.5).train()
    first, second = (dropout(torch.ones(MANY)) == 0 for _ in range(2))
    assert float((first & second).double().mean()) == pytest.approx(0.25, abs=0.01)


@settings(max_examples=30, deadline=None)
@given(shape=st.lists(st.integers(1, 7), min_size=1, max_size=4), seed=st.integers(0, 1000))
def test_the_gradient_passes_where_the_value_did_for_any_shape(shape: list[int], seed: int) -> None:
    torch.manual_seed(seed)
    x = (torch.rand(shape) + 1).requires_grad_()
    y = Dropout(0.5).train()(x)
    assert y.shape == x.shape
    y.sum().backward()
    assert x.grad is not None
    assert_close(x.grad, (y / x).detach())


@settings(max_examples=20, deadline=None)
@given(size=st.integers(1, 30), seed=st.integers(0, 1000))
def test_the_same_seed_drops_the_same(size: int, seed: int) -> None:
    assert (dropped(0.5, size, seed) == dropped(0.5, size, seed)).all()


def test_elements_laid_out_otherwise_are_dropped_too() -> None:
    torch.manual_seed(4)
    x = torch.ones(37, 53).T
    y = Dropout(0.5).train()(x)
    assert y.shape == x.shape
    assert 0.4 < float((y == 0).double().mean()) < 0.6


@pytest.mark.parametrize("dropout", [Dropout(0.5).eval(), Dropout(0.0).train()], ids=["eval", "rate 0"])
def test_an_inactive_dropout_changes_nothing_and_draws_nothing(dropout: Dropout) -> None:
    assert dropout.share == 0
    x, before = torch.randn(3, 5), torch.get_rng_state()
    assert_close(dropout(x), x, rtol=0, atol=0)
    assert (torch.get_rng_state() == before).all()


def test_elsewhere_than_on_a_cpu_pytorchs_own_dropout_has_the_same_rate() -> None:
    with OperatorCalls() as calls:
        assert Dropout(0.3).train()(torch.ones(3, 5, device="meta")).shape == (3, 5)
    assert calls.numbers_given("bernoulli_") == [(1 - 77 / 256,)]


def test_a_rate_just_below_one_leaves_something() -> None:
    torch.manual_seed(5)
    kept = Dropout(0.999).train()(torch.ones(MANY))
    assert kept.isfinite().all() and (kept != 0).any()


@pytest.mark.parametrize("activation", ["relu", "gelu", "geglu"])
def test_a_feed_forward_network_is_two_layers_at_each_position_apart(activation: str) -> None:
    torch.manual_seed(6)
    network = FeedForward(5, 7, activation, 0.0, Initialization("xavier", 1))
    for parameter in network.parameters():
        nn.init.normal_(parameter)
    hidden = torch.randn(2, 3, 5)
    inner = hidden @ network.inner.weight.T + network.inner.bias
    if activation == "geglu":  # GEGLU: gelu(x W) * (x V)
        inner = functional.gelu(inner[..., :7]) * inner[..., 7:]
    else:
        inner = functional.gelu(inner) if activation == "gelu" else inner.clamp(min=0)
    assert_close(network(hidden), inner @ network.output.weight.T + network.output.bias)
    assert_close(network(hidden[:, 1:2]), network(hidden)[:, 1:2])


@pytest.mark.parametrize("kind", NORMS)
@pytest.mark.parametrize("place", ["pre", "post"])
def test_a_residual_normalises_the_input_or_the_sum(place: str, kind: NormKind) -> None:
    torch.manual_seed(7)
    residual, hidden = Residual(NORMS[kind](5, 1e-5), place, 0.0), torch.randn(2, 3, 5)
    for parameter in residual.parameters():
        nn.init.normal_(parameter)

    def norm(x: Tensor) -> Tensor:
        if kind == "rms":  # Zhang and Sennrich 2019, eq. 4
            return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt() * residual.norm.weight
        centred = x - x.mean(-1, keepdim=True)
        spread = (centred.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return centred / spread * residual.norm.weight + residual.norm.bias

    expected = hidden + torch.sin(norm(hidden)) if place == "pre" else norm(hidden + torch.sin(hidden))
    assert_close(residual(hidden, torch.sin), expected, rtol=1e-4, atol=1e-5)
