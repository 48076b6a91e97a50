"""Threads that wait for each other sleep: set before PyTorch reads it, and never over what the user has set."""

import os
import subprocess
import sys

import pytest

from transduce.threads import SPINS

TELL = "import os, sys; {}; print(os.environ.get('GOMP_SPINCOUNT'), 'torch' in sys.modules)"


def environment_after(statement: str, **chosen: str) -> list[str]:
    """GOMP_SPINCOUNT in a fresh process after a statement, and whether PyTorch is loaded there."""
    kept = {name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")}
    command = [sys.executable, "-c", TELL.format(statement)]
    return subprocess.run(command, env=kept | chosen, check=True, stdout=subprocess.PIPE, text=True).stdout.split()


@pytest.mark.parametrize(
    "statement", ["import transduce", "from transduce.cli.main import main", "import transduce.threads"]
)
def test_waiting_is_set_before_torch_is_loaded(statement: str) -> None:
    assert environment_after(statement) == [SPINS, "False"]


@pytest.mark.parametrize(
    ("chosen", "spins"),
    [({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
    ids=["spins", "policy"],
)
def test_what_the_user_has_set_stays(chosen: dict[str, str], spins: str) -> None:
    assert environment_after("import transduce", **chosen)[0] == spins
