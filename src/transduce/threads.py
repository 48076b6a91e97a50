"""How threads wait for each other: asleep, so that work on a shared machine is not spun away."""

import os

SPINS = "1000"
"""How often a waiting thread looks before it sleeps; GNU's OpenMP, which PyTorch brings, looks 300,000 times (a
millisecond or more). Beside other processes, a thread that spins takes the core from the one that it waits for."""


def wait_asleep() -> None:
    """Say in the environment how OpenMP's threads wait, unless the user has said it.

    OpenMP reads this once, when PyTorch is loaded; so it has no effect in a process that has imported torch before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
