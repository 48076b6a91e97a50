"""Batches on a device."""

import torch
from torch.testing import assert_close

from fake_cuda import fake_cuda
from transduce.data.batch import SpecialIds, make_batch
from transduce.data.text_batch import make_text_batch
from transduce.objectives.label_losses import TaggedBatch

SPECIAL = SpecialIds(source_pad=0, source_eos=2, target_pad=0, target_bos=1, target_eos=2)


def test_a_batch_goes_to_a_gpu_in_one_copy_that_nobody_waits_for() -> None:
    batch = make_batch([[5, 6, 7], [8]], [[9], [10, 11]], SPECIAL)
    with fake_cuda() as work:
        there = batch.to(torch.device("cuda", 0))
        assert (work.launches["_to_copy"], sum(work.waits.values())) == (1, 0)
        for name in ("source", "source_is_real", "target_in", "target_out", "target_is_real"):
            assert getattr(there, name).device == torch.device("cuda", 0)
            assert_close(getattr(there, name).cpu(), getattr(batch, name), rtol=0, atol=0)
        assert there.target_rows is not None and batch.target_rows is not None
        assert_close(there.target_rows.offsets.cpu(), batch.target_rows.offsets, rtol=0, atol=0)
        assert there.stream is None


def test_batches_within_batches_are_moved_too() -> None:
    text = make_text_batch([([5, 6], None), ([7], [8, 9])], SPECIAL)
    batch = TaggedBatch(text, torch.tensor([1, 2, 7]), torch.tensor([0, 3, 1]))
    with fake_cuda():
        there = batch.to(torch.device("cuda", 0))
        assert isinstance(there.tags, torch.Tensor) and there.tags.is_cuda
        assert_close(there.text.tokens.cpu(), text.tokens, rtol=0, atol=0)


def test_a_batch_on_the_cpu_is_not_copied() -> None:
    batch = make_batch([[5]], [[9]], SPECIAL)
    assert batch.to(torch.device("cpu")).source is batch.source
