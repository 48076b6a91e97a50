from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from transduce.nn.attention import KeysValues
from transduce.nn.cache import Cache
from transduce.nn.state import FEW, AttentionState, DecoderState

SENTENCES, SOURCE, READ, LAYERS = 3, 5, 4, 2


def random(rows: int, time: int) -> KeysValues:
    return KeysValues(torch.randn(rows, 2, time, 6), torch.randn(rows, 2, time, 7))


def state() -> AttentionState:
    """Every sentence's numbers differ from all others'."""
    return AttentionState(
        source=tuple(random(SENTENCES, SOURCE) for _ in range(LAYERS)),
        source_may_attend=(torch.arange(SOURCE) < torch.tensor([[2], [5], [3]]))[:, None, None],
        cache=tuple(Cache(random(SENTENCES, READ), READ) for _ in range(LAYERS)),
        position=READ,
    )


def read_one(before: AttentionState) -> AttentionState:
    """The state after one more token a hypothesis."""
    _, past = before.extend(before.span(1))
    new = before.rows_per_sentence if before.past is not None else 1
    cache = tuple(layer.append(random(layer.rows, new)) for layer in before.cache)
    return replace(before, cache=cache, position=before.position + 1, past=past)


def pasts(state: AttentionState) -> list[list[Tensor]]:
    """The keys that each hypothesis goes on from, a list a layer."""
    if state.past is None:
        return [list(layer.known.keys) for layer in state.cache]
    return [[layer.known.keys[i, :, own] for i, rows in enumerate(state.past) for own in rows] for layer in state.cache]


def assert_pasts(after: AttentionState, before: AttentionState, rows: list[int]) -> None:
    for new, old in zip(pasts(after), pasts(before), strict=True):
        assert len(new) == len(rows)
        for own, row in zip(new, rows, strict=True):
            assert_close(own, old[row], rtol=0, atol=0)


@pytest.mark.parametrize("rows", [1, 3, FEW + 1])
def test_expand_gives_each_sentence_rows_side_by_side_and_copies_no_source(rows: int) -> None:
    before = state()
    after = before.expand(rows)
    assert_pasts(after, before, [sentence for sentence in range(SENTENCES) for _ in range(rows)])
    assert after.source is before.source
    assert after.rows_per_sentence == rows


@pytest.mark.parametrize("rows", [2, FEW + 1])
def test_reorder_moves_pasts_and_touches_no_source(rows: int) -> None:
    before = read_one(state().expand(rows))
    order = list(range(rows * SENTENCES))
    order[0], order[1], order[rows + 1] = 1, 0, rows
    after = before.reorder(torch.tensor(order))
    assert_pasts(after, before, order)
    assert_pasts(after.reorder(torch.tensor(order)), after, order)
    assert after.source is before.source
    assert after.source_may_attend is before.source_may_attend


def test_few_hypotheses_share_their_keys_and_reordering_moves_none() -> None:
    before = read_one(state().expand(FEW))
    after = before.reorder(
        torch.zeros(SENTENCES, FEW, dtype=torch.long).add(torch.arange(SENTENCES)[:, None] * FEW).flatten()
    )
    assert after.cache is before.cache


@pytest.mark.parametrize("rows", [1, 2, FEW + 1])
def test_select_takes_sentences_with_all_their_rows_in_the_order_asked_for(rows: int) -> None:
    before = read_one(state().expand(rows))
    after = before.select(torch.tensor([2, 0]))
    assert_pasts(after, before, [*range(2 * rows, 3 * rows), *range(rows)])
    for new, old in zip(after.source, before.source, strict=True):
        assert_close(new.keys, torch.stack([old.keys[2], old.keys[0]]))
        assert_close(new.values, torch.stack([old.values[2], old.values[0]]))
    expected: list[Tensor] = [before.source_may_attend[2], before.source_may_attend[0]]
    assert_close(after.source_may_attend, torch.stack(expected))
    assert after.rows_per_sentence == rows


def test_the_position_is_the_number_of_tokens_each_hypothesis_has_read() -> None:
    assert read_one(state().expand(5)).select(torch.tensor([1])).position == READ + 1


def test_an_attention_state_is_a_decoder_state() -> None:
    assert isinstance(state(), DecoderState)
