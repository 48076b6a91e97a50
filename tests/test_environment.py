"""Variables that PyTorch reads are set before it is loaded, and never over what the user has set."""

import os
import subprocess
import sys

import pytest

from transduce.base.environment import SEGMENTS, SPINS

NAMES = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY", "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF")
TELL = "import os, sys; {}; print(*(os.environ.get(name) for name in {}), 'torch' in sys.modules)"
HELD = SEGMENTS if sys.platform == "linux" else "None"


def environment_after(statement: str, **chosen: str) -> list[str]:
    """The variables in a fresh process after a statement, and whether PyTorch is loaded there."""
    kept = {name: value for name, value in os.environ.items() if name not in NAMES}
    command = [sys.executable, "-c", TELL.format(statement, NAMES)]
    return subprocess.run(command, env=kept | chosen, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


@pytest.mark.parametrize(
    "statement", ["import transduce", "from transduce.apps.cli.main import main", "import transduce.base.environment"]
)
def test_variables_are_set_before_torch_is_loaded(statement: str) -> None:
    assert environment_after(statement) == [SPINS, "None", HELD, "None", "False"]


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("GOMP_SPINCOUNT", "7", ["7", "None", HELD, "None"]),
        ("OMP_WAIT_POLICY", "ACTIVE", ["None", "ACTIVE", HELD, "None"]),
        ("PYTORCH_ALLOC_CONF", "backend:native", [SPINS, "None", "backend:native", "None"]),
        ("PYTORCH_CUDA_ALLOC_CONF", "backend:native", [SPINS, "None", "None", "backend:native"]),
    ],
)
def test_what_the_user_has_set_stays(name: str, value: str, expected: list[str]) -> None:
    assert environment_after("import transduce", **{name: value})[:-1] == expected
