import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from operator_calls import OperatorCalls
from transduce.nn.attention import (
    AttentionKernel,
    KeysValues,
    MultiHeadAttention,
    attention_weights,
    fast_attention,
    normalize_scores,
)
from transduce.nn.initialization import Initialization
from transduce.nn.layers import Dropout
from transduce.nn.masks import causal_mask
from transduce.nn.recording import record_attention

ROWS, HEADS, QUERIES, KEYS, KEY_DIM, VALUE_DIM, DIM = 2, 3, 5, 7, 4, 6, 11


def written_out(query: Tensor, keys: Tensor, values: Tensor, may_attend: Tensor) -> np.ndarray:
    """Vaswani et al. 2017, eq. 1, one number at a time; zeros where nothing may be attended to."""
    may_attend = may_attend.expand(*query.shape[:3], -1)
    q, k, v, allowed = (tensor.detach().numpy() for tensor in (query, keys, values, may_attend))
    rows, heads, queries, key_dim = q.shape
    context = np.zeros((rows, heads, queries, v.shape[-1]))
    for r in range(rows):
        for h in range(heads):
            for i in range(queries):
                seen = [j for j in range(k.shape[2]) if allowed[r, h, i, j]]
                exponentials = [math.exp(float(q[r, h, i] @ k[r, h, j]) / math.sqrt(key_dim)) for j in seen]
                for j, exponential in zip(seen, exponentials, strict=True):
                    context[r, h, i] += exponential / sum(exponentials) * v[r, h, j]
    return context


def recording_kernel() -> AttentionKernel:
    attention = small_attention()
    with record_attention(attention):
        return attention.kernel


def small_attention(dropout: float = 0.0) -> MultiHeadAttention:
    attention = MultiHeadAttention(DIM, HEADS, KEY_DIM, VALUE_DIM, dropout, Initialization("xavier", 1))
    for parameter in attention.parameters():
        nn.init.normal_(parameter, std=0.5)  # biases too, so that one left out is noticed
    return attention


KERNELS = pytest.mark.parametrize("kernel", [fast_attention, recording_kernel()], ids=["fast", "recording"])


def random_heads() -> tuple[Tensor, Tensor, Tensor]:
    return (
        torch.randn(ROWS, HEADS, QUERIES, KEY_DIM),
        torch.randn(ROWS, HEADS, KEYS, KEY_DIM),
        torch.randn(ROWS, HEADS, KEYS, VALUE_DIM),
    )


@KERNELS
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_a_kernel_is_the_formula_and_gives_zeros_where_nothing_may_be_attended_to(
    kernel: AttentionKernel, seed: int
) -> None:
    torch.manual_seed(seed)
    query, keys, values = random_heads()
    may_attend = torch.rand(ROWS, HEADS, QUERIES, KEYS) < 0.5
    may_attend[1, :, 2] = False
    context = kernel(query, keys, values, may_attend, Dropout(0.0).eval())
    assert_close(context.double(), torch.from_numpy(written_out(query, keys, values, may_attend)), rtol=1e-4, atol=1e-5)
    assert (context[1, :, 2] == 0).all()


@KERNELS
def test_a_kernel_without_a_mask_attends_to_all(kernel: AttentionKernel) -> None:
    torch.manual_seed(1)
    query, keys, values = random_heads()
    everything = torch.ones(ROWS, HEADS, QUERIES, KEYS, dtype=torch.bool)
    expected = torch.from_numpy(written_out(query, keys, values, everything)).float()
    assert_close(kernel(query, keys, values, None, Dropout(0.0).eval()), expected, rtol=1e-4, atol=1e-5)


@KERNELS
@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_a_query_that_may_attend_to_nothing_gives_zeros_and_spoils_no_gradient(
    kernel: AttentionKernel, rate: float
) -> None:
    torch.manual_seed(2)
    heads = [tensor.requires_grad_() for tensor in random_heads()]
    may_attend = torch.ones(ROWS, 1, 1, KEYS, dtype=torch.bool)
    may_attend[0] = False
    context = kernel(*heads, may_attend, Dropout(rate).train())
    assert (context[0] == 0).all()
    context.square().sum().backward()
    for tensor in heads:
        assert tensor.grad is not None and tensor.grad.isfinite().all()
        assert (tensor.grad[0] == 0).all()


@pytest.mark.parametrize("keys", [1, 15, 16, 17, 70])
@pytest.mark.parametrize(("queries", "dtype"), [(1, torch.float32), (16, torch.float32), (16, torch.bfloat16)])
def test_fast_attention_is_the_formula_whichever_way_it_takes(queries: int, keys: int, dtype: torch.dtype) -> None:
    torch.manual_seed(8)
    sizes = ((queries, KEY_DIM), (keys, KEY_DIM), (keys, VALUE_DIM))
    heads = [torch.randn(ROWS, HEADS, *size).to(dtype) for size in sizes]
    may_attend = torch.rand(ROWS, 1, queries, keys) < 0.8
    may_attend[..., 0] = True
    expected = torch.from_numpy(written_out(*(tensor.double() for tensor in heads), may_attend=may_attend))
    tolerance = 1e-4 if dtype == torch.float32 else 0.03
    context = fast_attention(*heads, may_attend, Dropout(0.0).eval())
    assert context.dtype == dtype
    assert_close(context.double(), expected, rtol=tolerance, atol=tolerance)


def test_weights_sum_to_one_over_the_allowed_keys_alone() -> None:
    torch.manual_seed(3)
    query, keys, _ = random_heads()
    may_attend = torch.arange(KEYS) < torch.tensor([3, KEYS])[:, None, None, None]
    weights = attention_weights(query, keys, may_attend)
    assert_close(weights.sum(-1), torch.ones(ROWS, HEADS, QUERIES))
    assert (weights[0, :, :, 3:] == 0).all()


def test_attention_projects_attends_and_projects_back() -> None:
    torch.manual_seed(4)
    attention = small_attention()
    asking, asked = torch.randn(ROWS, QUERIES, DIM), torch.randn(ROWS, KEYS, DIM)
    may_attend = torch.rand(ROWS, 1, QUERIES, KEYS) < 0.7
    with torch.no_grad():
        result = attention(attention.queries(asking), attention.project(asked), may_attend)

        contexts = []
        key_weight, value_weight = attention.key_value.weight.split([HEADS * KEY_DIM, HEADS * VALUE_DIM])
        key_bias, value_bias = attention.key_value.bias.split([HEADS * KEY_DIM, HEADS * VALUE_DIM])
        for head in range(HEADS):
            of_keys = slice(head * KEY_DIM, (head + 1) * KEY_DIM)
            of_values = slice(head * VALUE_DIM, (head + 1) * VALUE_DIM)
            query = asking @ attention.query.weight[of_keys].T + attention.query.bias[of_keys]
            keys = asked @ key_weight[of_keys].T + key_bias[of_keys]
            values = asked @ value_weight[of_values].T + value_bias[of_values]
            contexts.append(written_out(query[:, None], keys[:, None], values[:, None], may_attend)[:, 0])
        context = torch.from_numpy(np.concatenate(contexts, -1)).float()
        expected = context @ attention.output.weight.T + attention.output.bias
    assert_close(result, expected, rtol=1e-4, atol=1e-5)


@settings(max_examples=10, deadline=None)
@given(cached=st.integers(1, QUERIES - 1))
def test_queries_after_cached_keys_see_what_they_see_at_once(cached: int) -> None:
    torch.manual_seed(5)
    attention, hidden = small_attention(), torch.randn(ROWS, QUERIES, DIM)
    at_once = attention(
        attention.queries(hidden), attention.project(hidden), causal_mask(QUERIES, QUERIES, hidden.device)
    )
    known = attention.project(hidden[:, :cached]).append(attention.project(hidden[:, cached:]))
    later = attention(
        attention.queries(hidden[:, cached:]), known, causal_mask(QUERIES - cached, QUERIES, hidden.device)
    )
    assert_close(later, at_once[:, cached:])


def test_both_kernels_drop_the_same_weights_from_the_same_seed() -> None:
    torch.manual_seed(6)
    query, keys, values = random_heads()
    results = []
    for kernel in (fast_attention, recording_kernel()):
        torch.manual_seed(7)
        results.append(kernel(query, keys, values, None, Dropout(0.5).train()))
    assert_close(results[0], results[1])
    assert not torch.allclose(results[0], fast_attention(query, keys, values, None, Dropout(0.5).eval()))


def test_elsewhere_than_on_a_cpu_pytorchs_own_kernel_drops_the_same_share() -> None:
    heads = [torch.randn(ROWS, HEADS, QUERIES, KEY_DIM, device="meta") for _ in range(3)]
    for dropout, drawn in [(Dropout(0.3).train(), [(1 - 77 / 256,)]), (Dropout(0.3).eval(), [])]:
        with OperatorCalls() as calls:
            assert fast_attention(*heads, None, dropout).shape == heads[0].shape
        assert calls.numbers_given("bernoulli_") == drawn
        assert calls.numbers_given("random_") == []


def test_selected_rows_of_keys_and_values_come_in_the_order_asked_for() -> None:
    _, keys, values = random_heads()
    chosen = KeysValues(keys, values).select(torch.tensor([1, 0, 1]))
    assert_close(chosen.keys, torch.stack([keys[1], keys[0], keys[1]]))
    assert_close(chosen.values, torch.stack([values[1], values[0], values[1]]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("keys", [KEYS, 19])
def test_the_gradient_of_weights_is_that_of_a_softmax_of_unmasked_scores(keys: int, dtype: torch.dtype) -> None:
    torch.manual_seed(8)
    scores = torch.randn(ROWS, HEADS, QUERIES, keys).to(dtype).requires_grad_()
    may_attend = torch.rand(ROWS, 1, QUERIES, keys) < 0.5
    may_attend[1, :, 2] = False
    toward = torch.randn(ROWS, HEADS, QUERIES, keys).to(dtype)
    normalize_scores(scores, may_attend).backward(toward)
    expected = torch.zeros(ROWS, HEADS, QUERIES, keys)
    for r, h, i in np.ndindex(ROWS, HEADS, QUERIES):
        seen = may_attend[r, 0, i]
        if seen.any():
            own = scores.detach()[r, h, i, seen].float().requires_grad_()
            own.softmax(-1).backward(toward[r, h, i, seen].float())
            expected[r, h, i, seen] = own.grad
    assert scores.grad is not None and scores.grad.dtype == dtype
    assert_close(scores.grad.float(), expected, rtol=2**-7 if dtype == torch.bfloat16 else 1e-5, atol=1e-6)


def test_few_passes_over_the_weights_make_their_gradient() -> None:
    scores = torch.randn(ROWS, HEADS, QUERIES, KEYS, dtype=torch.bfloat16, requires_grad=True)
    weights = normalize_scores(scores, causal_mask(QUERIES, KEYS, scores.device))
    with OperatorCalls() as calls:
        weights.backward(torch.ones_like(weights))
    assert calls.numbers_given("masked_fill") == calls.numbers_given("constant_pad_nd") == []
