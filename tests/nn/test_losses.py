import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional
from torch.testing import assert_close

from transduce.nn.losses import ROWS_AT_ONCE, cross_entropy

VOCABULARY = 11


def example(rows: int, time: int, seed: int = 1) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(seed)
    logits = 3 * torch.randn(rows, time, VOCABULARY) + 2
    is_real = torch.rand(rows, time) < 0.7
    return logits.requires_grad_(), torch.randint(0, VOCABULARY, (rows, time)), is_real


def reference(logits: Tensor, target: Tensor, is_real: Tensor, smoothing: float) -> Tensor:
    return functional.cross_entropy(logits[is_real], target[is_real], label_smoothing=smoothing, reduction="sum")


@settings(max_examples=30, deadline=None)
@given(
    rows=st.integers(1, 5),
    time=st.integers(1, 7),
    smoothing=st.sampled_from([0.0, 0.1, 0.35]),
    scale=st.sampled_from([1.0, -0.25]),
    seed=st.integers(0, 1000),
)
def test_value_and_gradient_are_pytorchs(rows: int, time: int, smoothing: float, scale: float, seed: int) -> None:
    logits, target, is_real = example(rows, time, seed)
    loss = cross_entropy(logits, target, is_real, smoothing)
    (gradient,) = torch.autograd.grad(loss.smoothed * scale, logits)
    expected = reference(logits, target, is_real, smoothing)
    (expected_gradient,) = torch.autograd.grad(expected * scale, logits)
    assert_close(loss.smoothed, expected, rtol=1e-5, atol=1e-5)
    assert_close(loss.plain, reference(logits, target, is_real, 0.0), rtol=1e-5, atol=1e-5)
    assert_close(gradient, expected_gradient, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("rows", [ROWS_AT_ONCE - 1, ROWS_AT_ONCE, 2 * ROWS_AT_ONCE + 3])
def test_more_rows_than_are_taken_at_once_are_no_different(rows: int) -> None:
    logits, target, is_real = example(rows, 1)
    loss = cross_entropy(logits, target, is_real, 0.1).smoothed
    expected = reference(logits, target, is_real, 0.1)
    assert_close(loss, expected, rtol=1e-5, atol=1e-4)
    assert_close(torch.autograd.grad(loss, logits), torch.autograd.grad(expected, logits), rtol=1e-5, atol=1e-5)


def test_padding_is_left_out() -> None:
    logits, target, is_real = example(3, 5)
    (gradient,) = torch.autograd.grad(cross_entropy(logits, target, is_real, 0.1).smoothed, logits)
    assert (gradient[~is_real] == 0).all() and (gradient[is_real] != 0).any()
    others = torch.where(is_real[..., None], logits, 100 * torch.randn_like(logits))
    other_target = torch.where(is_real, target, 0)
    changed, unchanged = cross_entropy(others, other_target, is_real, 0.1), cross_entropy(logits, target, is_real, 0.1)
    assert_close((changed.smoothed, changed.plain), (unchanged.smoothed, unchanged.plain))


def test_a_batch_of_padding_costs_nothing() -> None:
    logits, target, is_real = example(3, 5)
    loss = cross_entropy(logits.detach(), target, torch.zeros_like(is_real), 0.1)
    assert float(loss.smoothed) == 0 and float(loss.plain) == 0


def test_losses_are_sums_so_parts_of_a_batch_add_up() -> None:
    logits, target, is_real = example(5, 7)
    whole = cross_entropy(logits, target, is_real, 0.1)
    parts = [cross_entropy(logits[part], target[part], is_real[part], 0.1) for part in (slice(2), slice(2, 5))]
    assert_close(whole.smoothed, parts[0].smoothed + parts[1].smoothed)
    assert_close(whole.plain, parts[0].plain + parts[1].plain)


def test_the_logits_are_left_as_they_were() -> None:
    logits, target, is_real = example(3, 5)
    before = logits.detach().clone()
    cross_entropy(logits, target, is_real, 0.1)
    assert_close(logits.detach(), before, rtol=0, atol=0)


def test_large_logits_do_not_overflow() -> None:
    logits, target, is_real = example(3, 5)
    shifted = (logits.detach() + 1e4).requires_grad_()
    loss = cross_entropy(shifted, target, is_real, 0.1).smoothed
    assert_close(loss, reference(shifted, target, is_real, 0.1), rtol=1e-4, atol=1e-3)
    assert torch.autograd.grad(loss, shifted)[0].isfinite().all()


def test_a_loss_that_will_not_be_descended_is_the_same() -> None:
    logits, target, is_real = example(3, 5)
    with torch.no_grad():
        apart = cross_entropy(logits.detach(), target, is_real, 0.1)
    assert_close(apart.smoothed, cross_entropy(logits, target, is_real, 0.1).smoothed.detach())


def test_bfloat16_logits_cost_what_their_float32_copies_do() -> None:
    logits, target, is_real = example(5, 7)
    halves = logits.detach().to(torch.bfloat16).requires_grad_()
    floats = halves.detach().float().requires_grad_()
    loss, expected = (cross_entropy(x, target, is_real, 0.1).smoothed for x in (halves, floats))
    assert loss.dtype == torch.float32
    assert_close(loss, expected, rtol=1e-5, atol=1e-5)
    (gradient,), (expected_gradient,) = torch.autograd.grad(loss, halves), torch.autograd.grad(expected, floats)
    assert gradient.dtype == torch.bfloat16
    assert_close(gradient.float(), expected_gradient, rtol=1e-2, atol=1e-3)
