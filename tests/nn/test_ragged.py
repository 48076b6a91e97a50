"""Rows side by side without padding."""

import torch
from torch.testing import assert_close

from transduce.nn.ragged import Ragged, takes_ragged

IS_REAL = torch.arange(5) < torch.tensor([[5], [2], [4]])


def test_tokens_are_packed_row_after_row_and_know_their_rows() -> None:
    rows, padded = Ragged.of(IS_REAL), torch.randn(3, 5, 7)
    assert_close(rows.pack(padded)[0], padded[IS_REAL], rtol=0, atol=0)
    assert rows.offsets.tolist() == [0, 5, 7, 11]
    assert rows.offsets.dtype == torch.int32
    assert rows.positions.tolist() == [0, 1, 2, 3, 4, 0, 1, 0, 1, 2, 3]
    assert (rows.longest, rows.time) == (5, 11)


def test_rows_without_tokens_are_none() -> None:
    rows = Ragged.of(torch.ones(3, 0, dtype=torch.bool))
    assert (rows.longest, rows.time, rows.offsets.tolist()) == (0, 0, [0, 0, 0, 0])


def test_flash_attention_takes_half_precision_equal_heads_and_no_dropout_on_a_gpu() -> None:
    gpu, cpu = torch.device("cuda", 0), torch.device("cpu")
    assert takes_ragged(gpu, torch.bfloat16, 64, 64, 0.0)
    for device, dtype, key_dim, value_dim, dropped in [
        (cpu, torch.bfloat16, 64, 64, 0.0),
        (gpu, torch.float32, 64, 64, 0.0),
        (gpu, torch.bfloat16, 64, 32, 0.0),
        (gpu, torch.bfloat16, 12, 12, 0.0),
        (gpu, torch.bfloat16, 264, 264, 0.0),
        (gpu, torch.bfloat16, 64, 64, 0.1),
    ]:
        assert not takes_ragged(device, dtype, key_dim, value_dim, dropped)
