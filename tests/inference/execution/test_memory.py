import platform
import subprocess
import sys

import pytest

PAGE_FAULTS = """
import resource, sys
import torch
from transduce.inference.execution.malloc import keep_free_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def step():
    return [torch.empty(2**20).fill_(1) for _ in range(30)]

if sys.argv[1] == "keep":
    keep_free_memory()
step()
before = faults()
for _ in range(20):
    step()
print(faults() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries do as they do")
def test_memory_that_is_free_again_is_used_again() -> None:
    kept, given_back = (
        int(subprocess.run([sys.executable, "-c", PAGE_FAULTS, way], capture_output=True, check=True).stdout)
        for way in ("keep", "give back")
    )
    assert 3 * kept < given_back
