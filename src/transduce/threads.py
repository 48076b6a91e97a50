"""Waiting threads sleep, so that they do not waste a shared machine's time in spinning."""

import os

SPINS = "1000"
"""Number of checks of a waiting thread before it sleeps; GNU's OpenMP, which PyTorch brings, makes 300,000 (a
millisecond or more). A spinning thread may occupy the core that the awaited thread needs."""


def wait_asleep() -> None:
    """Makes waiting threads of OpenMP sleep soon, by an environment variable, unless the user has set one.

    OpenMP reads it once, when PyTorch is loaded; it has no effect in a process that has imported torch before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
