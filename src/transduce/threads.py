"""Waiting threads sleep, so that they do not waste a shared machine's time in spinning."""

import os

SPINS = "1000"
"""How often a waiting thread checks before it sleeps; GNU's OpenMP, which PyTorch brings, checks 300,000 times (a
millisecond or more). A spinning thread may occupy the core that the awaited thread needs."""


def wait_asleep() -> None:
    """Set in the environment how OpenMP's threads wait, unless the user has set it.

    OpenMP reads this once, when PyTorch is loaded; so it has no effect in a process that has imported torch before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
