import torch
from torch import Tensor
from torch.testing import assert_close

from transduce.nn.attention import KeysValues
from transduce.nn.cache import Cache
from transduce.nn.state import AttentionState, DecoderState

SENTENCES, SOURCE, READ, LAYERS = 3, 5, 4, 2


def state() -> AttentionState:
    """Every sentence's numbers differ from all others'."""

    def random(rows: int, time: int) -> KeysValues:
        return KeysValues(torch.randn(rows, 2, time, 6), torch.randn(rows, 2, time, 7))

    return AttentionState(
        source=tuple(random(SENTENCES, SOURCE) for _ in range(LAYERS)),
        source_may_attend=(torch.arange(SOURCE) < torch.tensor([[2], [5], [3]]))[:, None, None],
        cache=tuple(Cache(random(SENTENCES, READ), READ) for _ in range(LAYERS)),
    )


def assert_cache_rows(after: AttentionState, before: AttentionState, rows: list[int]) -> None:
    for kept, other in zip(after.settled().cache, before.settled().cache, strict=True):
        new, old = kept.known, other.known
        assert_close(new.keys, torch.stack([old.keys[row] for row in rows]))
        assert_close(new.values, torch.stack([old.values[row] for row in rows]))


def test_expand_gives_each_sentence_rows_side_by_side_and_copies_no_source() -> None:
    before = state()
    after = before.expand(3)
    assert_cache_rows(after, before, [0, 0, 0, 1, 1, 1, 2, 2, 2])
    assert after.source is before.source
    assert after.rows_per_sentence == 3


def test_reorder_touches_the_cache_alone() -> None:
    before = state().expand(2)
    after = before.reorder(torch.tensor([1, 0, 3, 3, 4, 5]))
    assert_cache_rows(after, before, [1, 0, 3, 3, 4, 5])
    assert after.source is before.source
    assert after.source_may_attend is before.source_may_attend


def test_select_takes_sentences_with_all_their_rows_in_the_order_asked_for() -> None:
    before = state().expand(2)
    after = before.select(torch.tensor([2, 0]))
    assert_cache_rows(after, before, [4, 5, 0, 1])
    for new, old in zip(after.source, before.source, strict=True):
        assert_close(new.keys, torch.stack([old.keys[2], old.keys[0]]))
        assert_close(new.values, torch.stack([old.values[2], old.values[0]]))
    expected: list[Tensor] = [before.source_may_attend[2], before.source_may_attend[0]]
    assert_close(after.source_may_attend, torch.stack(expected))
    assert after.rows_per_sentence == 2


def test_the_position_is_the_number_of_tokens_read() -> None:
    assert state().position == READ
    assert state().expand(5).select(torch.tensor([1])).position == READ


def test_an_attention_state_is_a_decoder_state() -> None:
    assert isinstance(state(), DecoderState)
