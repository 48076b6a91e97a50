"""Training keeps few of the kernels that are made for each shape of a product."""

import os
import subprocess
import sys

import pytest

from transduce.training.precision import keep_few_kernels

NAME = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
PRODUCTS = """
import torch
from transduce.training.precision import keep_few_kernels
keep_few_kernels()
for turn in range(2):
    for size in range(64, 464):
        a = torch.zeros(size, 64, dtype=torch.bfloat16)
        a @ a.T
"""


@pytest.mark.parametrize(("chosen", "expected"), [(None, "128"), ("7", "7")])
def test_what_the_user_has_set_stays(monkeypatch: pytest.MonkeyPatch, chosen: str | None, expected: str) -> None:
    monkeypatch.delenv(NAME, raising=False)
    if chosen is not None:
        monkeypatch.setenv(NAME, chosen)
    keep_few_kernels()
    assert os.environ[NAME] == expected
    monkeypatch.delenv(NAME)  # what was set here, too


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
