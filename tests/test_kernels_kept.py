"""Few of the kernels are kept that are made for each shape of a product, whatever a device was chosen for."""

import os
import subprocess
import sys
from collections.abc import Callable

import pytest

from transduce.base.devices import find_device, keep_few_kernels

NAME = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
PRODUCTS = """
import torch
from transduce.base.devices import find_device
find_device("cpu")
for turn in range(2):
    for size in range(64, 464):
        a = torch.zeros(size, 64, dtype=torch.bfloat16)
        a @ a.T
"""


@pytest.mark.parametrize("choose", [keep_few_kernels, find_device])
@pytest.mark.parametrize(("chosen", "expected"), [(None, "128"), ("7", "7")])
def test_what_the_user_has_set_stays(
    monkeypatch: pytest.MonkeyPatch, chosen: str | None, expected: str, choose: Callable[[], object]
) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if chosen is not None:
        monkeypatch.setenv(NAME, chosen)
    choose()
    assert os.environ[NAME] == expected
    monkeypatch.delenv(NAME)  # what was set here, too


@pytest.mark.slow
def test_few_kernels_are_kept() -> None:
    told = {}
    for capacity in (None, "1024"):
        environment = {name: value for name, value in os.environ.items() if name != NAME} | {"ONEDNN_VERBOSE": "all"}
        if capacity is not None:
            environment[NAME] = capacity
        done = subprocess.run(
            [sys.executable, "-c", PRODUCTS], env=environment, capture_output=True, text=True, check=True
        )
        told[capacity] = done.stdout.count("create:cache_hit,cpu,matmul")
    if told["1024"] < 400:
        pytest.skip("PyTorch multiplies bfloat16 without oneDNN here")
    assert told[None] < 400
