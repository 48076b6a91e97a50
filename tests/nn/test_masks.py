import torch
from hypothesis import given
from hypothesis import strategies as st

from transduce.nn.masks import causal_mask, padding_mask, shared_cache_mask

CPU = torch.device("cpu")


def test_every_query_may_attend_to_every_real_key() -> None:
    is_real = torch.arange(5) < torch.tensor([[2], [5], [3]])
    mask = padding_mask(is_real).expand(3, 2, 7, 5)
    for row in range(3):
        assert (mask[row] == is_real[row]).all()


@given(queries=st.integers(2, 6), cached=st.integers(0, 5))
def test_a_query_may_attend_up_to_its_own_position_also_with_cached_keys(queries: int, cached: int) -> None:
    mask = causal_mask(queries, cached + queries, CPU)
    assert mask is not None
    assert mask.shape == (1, 1, queries, cached + queries)
    for query in range(queries):
        for key in range(cached + queries):
            assert bool(mask[0, 0, query, key]) == (key <= cached + query)


@given(keys=st.integers(1, 9))
def test_a_single_query_is_last_and_needs_no_mask(keys: int) -> None:
    assert causal_mask(1, keys, CPU) is None


def test_rows_that_share_keys_attend_to_their_past_and_to_their_own_new_tokens() -> None:
    past = torch.tensor([[[True, False, True], [False, True, True]]])
    mask, after = shared_cache_mask(past, 2)
    first, second = [True, False, True], [False, True, True]
    assert mask[0, 0].tolist() == [
        [*first, True, False, False, False],
        [*first, True, True, False, False],
        [*second, False, False, True, False],
        [*second, False, False, True, True],
    ]
    assert after[0].tolist() == [[*first, True, True, False, False], [*second, False, False, True, True]]


def test_one_new_token_a_row_is_past_and_present_alike() -> None:
    mask, after = shared_cache_mask(torch.ones(2, 3, 4, dtype=torch.bool), 1)
    assert torch.equal(mask[:, 0], after)
    assert after[0, :, 4:].tolist() == torch.eye(3).bool().tolist()
