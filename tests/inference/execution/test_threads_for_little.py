"""What multiplies little is searched by one thread, and the number of threads is as before afterwards."""

from collections.abc import Iterator

import pytest
import torch
from torch import nn

from transduce.inference.execution.parallel_search import LITTLE, size_of, threads_for
from transduce.nn.quantization import Int8Linear

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def _three_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(
    ("rows", "size", "device", "threads"),
    [
        (4, 10_000_000, CPU, 1),
        (40, 10_000_000, CPU, 3),
        (1, int(LITTLE) + 1, CPU, 3),
        (4, 10_000_000, torch.device("cuda"), 3),
    ],
)
def test_one_thread_does_little_work(rows: int, size: int, device: torch.device, threads: int) -> None:
    with pytest.raises(ZeroDivisionError), threads_for(rows, size, device):
        assert torch.get_num_threads() == threads
        1 / 0  # noqa: B018
    assert torch.get_num_threads() == 3


def test_weights_of_int8_count_as_much_as_they_did() -> None:
    layer = nn.Linear(7, 5)
    assert size_of(Int8Linear(layer)) >= size_of(layer)
