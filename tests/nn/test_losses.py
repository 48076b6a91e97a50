from dataclasses import dataclass
from functools import cached_property

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.nn import functional
from torch.testing import assert_close

from transduce.nn import losses
from transduce.nn.losses import NORMALIZED_AT_ONCE, PROJECTED_AT_ONCE, CrossEntropy, cross_entropy

DIM, VOCABULARY = 5, 11


def places_of(is_real: Tensor) -> Tensor:
    return is_real.flatten().nonzero().squeeze(1)


@dataclass
class Example:
    """What a loss is made of, and the loss as PyTorch computes it."""

    rows: int
    time: int
    smoothing: float = 0.1
    has_bias: bool = True
    seed: int = 1
    dtype: torch.dtype = torch.float32

    def __post_init__(self) -> None:
        torch.manual_seed(self.seed)
        self.output = nn.Linear(DIM, VOCABULARY, bias=self.has_bias).to(self.dtype)
        self.hidden = (3 * torch.randn(self.rows, self.time, DIM)).to(self.dtype).requires_grad_()
        self.target = torch.randint(0, VOCABULARY, (self.rows, self.time))
        self.is_real = torch.rand(self.rows, self.time) < 0.7

    @cached_property
    def loss(self) -> CrossEntropy:
        return cross_entropy(self.hidden, self.output, self.target, places_of(self.is_real), self.smoothing)

    def reference(self, smoothing: float) -> Tensor:
        logits = self.output(self.hidden)[self.is_real].float()
        return functional.cross_entropy(logits, self.target[self.is_real], label_smoothing=smoothing, reduction="sum")

    def gradients(self, loss: Tensor) -> tuple[Tensor, ...]:
        return torch.autograd.grad(loss, [self.hidden, *self.output.parameters()])


@settings(max_examples=40, deadline=None)
@given(
    rows=st.integers(1, 5),
    time=st.integers(1, 7),
    smoothing=st.sampled_from([0.0, 0.1, 0.35]),
    scale=st.sampled_from([1.0, -0.25]),
    has_bias=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_value_and_gradients_are_pytorchs(
    rows: int, time: int, smoothing: float, scale: float, has_bias: bool, seed: int
) -> None:
    example = Example(rows, time, smoothing, has_bias, seed)
    expected = example.reference(smoothing)
    assert_close(example.loss.smoothed, expected, rtol=1e-5, atol=1e-5)
    assert_close(example.loss.plain, example.reference(0.0).detach(), rtol=1e-5, atol=1e-5)
    if example.is_real.any():
        found = example.gradients(scale * example.loss.smoothed)
        assert_close(found, example.gradients(scale * expected), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "tokens", [NORMALIZED_AT_ONCE - 1, NORMALIZED_AT_ONCE, PROJECTED_AT_ONCE, 2 * PROJECTED_AT_ONCE + 3]
)
@pytest.mark.parametrize("has_bias", [True, False])
def test_more_tokens_than_are_taken_at_once_are_no_different(tokens: int, has_bias: bool) -> None:
    example = Example(1, tokens, has_bias=has_bias)
    example.is_real[:] = True
    expected = example.reference(0.1)
    assert_close(example.loss.smoothed, expected, rtol=1e-5, atol=1e-3)
    assert_close(example.gradients(example.loss.smoothed), example.gradients(expected), rtol=1e-4, atol=1e-4)


def test_each_target_token_gets_its_own_log_probability() -> None:
    example = Example(3, 5)
    every = example.output(example.hidden).log_softmax(-1).gather(-1, example.target[..., None])[..., 0]
    expected = torch.where(example.is_real, every, 0.0).detach()
    assert_close(example.loss.log_probabilities, expected)
    assert not example.loss.log_probabilities.requires_grad


def test_padding_is_left_out() -> None:
    example, changed = Example(3, 5), Example(3, 5)
    with torch.no_grad():
        changed.hidden[~changed.is_real] = torch.nan
        changed.target[~changed.is_real] = 0
    assert_close(changed.loss.smoothed, example.loss.smoothed)
    (gradient, *_), expected = changed.gradients(changed.loss.smoothed), example.gradients(example.loss.smoothed)
    assert_close(gradient, expected[0])
    assert (gradient[~example.is_real] == 0).all() and (gradient[example.is_real] != 0).any()


def test_a_batch_of_padding_costs_nothing() -> None:
    example = Example(3, 5)
    example.is_real[:] = False
    assert_close((example.loss.smoothed.detach(), example.loss.plain), (torch.tensor(0.0), torch.tensor(0.0)))
    (gradient,) = torch.autograd.grad(example.loss.smoothed, example.hidden)
    assert (gradient == 0).all()


def test_losses_are_sums_so_parts_of_a_batch_add_up() -> None:
    whole = Example(5, 7)
    parts = [
        cross_entropy(whole.hidden[rows], whole.output, whole.target[rows], places_of(whole.is_real[rows]), 0.1)
        for rows in (slice(2), slice(2, 5))
    ]
    assert_close(whole.loss.smoothed, parts[0].smoothed + parts[1].smoothed)
    assert_close(whole.loss.plain, parts[0].plain + parts[1].plain)


def test_large_logits_do_not_overflow() -> None:
    example = Example(3, 5)
    with torch.no_grad():
        example.output.bias += 1e4
    assert_close(example.loss.smoothed, example.reference(0.1), rtol=1e-4, atol=1e-3)
    assert all(gradient.isfinite().all() for gradient in example.gradients(example.loss.smoothed))


def test_a_loss_that_will_not_be_descended_is_the_same() -> None:
    with torch.no_grad():
        apart = Example(3, 5).loss
    assert not apart.smoothed.requires_grad
    assert_close(apart.smoothed, Example(3, 5).loss.smoothed.detach())


def test_in_bfloat16_the_logits_are_rounded_and_the_rest_is_float32s() -> None:
    halves = Example(5, 7, dtype=torch.bfloat16)
    expected = halves.reference(0.1)
    assert halves.loss.smoothed.dtype == torch.float32
    assert_close(halves.loss.smoothed, expected, rtol=1e-5, atol=1e-4)
    for found, wanted in zip(halves.gradients(halves.loss.smoothed), halves.gradients(expected), strict=True):
        assert found.dtype == torch.bfloat16
        assert_close(found, wanted, rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_gpu_computes_what_a_processor_does(dtype: torch.dtype, smoothing: float) -> None:
    torch.manual_seed(1)
    here = (30 * torch.randn(40, 300)).to(dtype)
    there, target = here.clone(), torch.randint(0, 300, (40, 1))
    of_processor = losses._in_place(here, target, smoothing, True)
    of_gpu = losses._in_few_passes(there, target, smoothing, True)
    assert_close(of_gpu[0], of_processor[0])
    if smoothing:
        assert_close(of_gpu[1], of_processor[1])
    assert_close(there, here, atol=2**-8 if dtype == torch.bfloat16 else 1e-6, rtol=0)
