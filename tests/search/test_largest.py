import pytest
import torch
from torch.testing import assert_close

from transduce.search.beam import largest_sums


@pytest.mark.parametrize("vocabulary", [3, 31, 32, 33, 64, 75, 200, 331])
@pytest.mark.parametrize("rows", [1, 4])
@pytest.mark.parametrize("share_possible", [1.0, 0.05])
def test_they_are_what_sorting_all_sums_finds(vocabulary: int, rows: int, share_possible: float) -> None:
    torch.manual_seed(vocabulary)
    scores, log_probabilities = torch.randn(5, rows), torch.randn(5, rows, vocabulary)
    log_probabilities[torch.rand_like(log_probabilities) > share_possible] = -torch.inf
    scores[0, -1] = -torch.inf
    sums = (scores[..., None] + log_probabilities).flatten(1)
    count = min(8, rows * vocabulary)
    totals, places = largest_sums(scores, log_probabilities, 8)
    assert_close(totals, sums.topk(count).values, rtol=0, atol=0)
    assert_close(totals, sums.gather(1, places), rtol=0, atol=0)
    assert all(len(set(row)) == count for row in places.tolist())
