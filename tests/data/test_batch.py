"""A batch is its pairs in a rectangle, and nothing else."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transduce.data.batch import SpecialIds, make_batch, pad

SPECIAL = SpecialIds(source_pad=2, source_eos=3, target_pad=5, target_bos=7, target_eos=11)
rows = st.lists(st.integers(13, 29), max_size=6)
pairs = st.lists(st.tuples(rows, rows), min_size=1, max_size=5)


@given(pairs)
def test_a_batch_holds_each_pair_with_its_beginning_and_end_and_padding_where_it_is_not_real(pairs):
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    assert len(batch) == len(pairs)
    for row, (source, target) in enumerate(pairs):
        assert batch.source[row][batch.source_is_real[row]].tolist() == [*source, 3]
        assert batch.target_in[row][batch.target_is_real[row]].tolist() == [7, *target]
        assert batch.target_out[row][batch.target_is_real[row]].tolist() == [*target, 11]
    assert (batch.source[~batch.source_is_real] == 2).all()
    assert (batch.target_out[~batch.target_is_real] == 5).all()
    assert batch.source.shape[1] == max(len(source) for source, _ in pairs) + 1
    assert batch.target_out.shape[1] == max(len(target) for _, target in pairs) + 1


@given(pairs)
def test_what_a_decoder_reads_is_what_it_learns_one_place_later(pairs):
    batch = make_batch([source for source, _ in pairs], [target for _, target in pairs], SPECIAL)
    assert (batch.target_in[:, 1:] == batch.target_out[:, :-1]).all()


@given(st.lists(rows, min_size=1, max_size=5))
def test_what_is_real_comes_before_what_is_not(rows):
    _, is_real = pad(rows, 2, end=3)
    assert (is_real[:, :-1] | ~is_real[:, 1:]).all()


def test_a_batch_moves_as_one():
    batch = make_batch([[13]], [[17, 19]], SPECIAL).to(torch.device("meta"))
    tensors = [value for value in vars(batch).values() if isinstance(value, torch.Tensor)]
    assert len(tensors) == 5 and {tensor.device.type for tensor in tensors} == {"meta"}


def test_a_batch_cannot_be_changed():
    with pytest.raises(AttributeError):
        make_batch([[13]], [[17, 19]], SPECIAL).source = torch.zeros(2, 3)
