"""Environment variables that PyTorch reads when it is loaded: how its threads wait, and how memory of a GPU is held."""

import os
import sys

SPINS = "1000"
"""Number of checks of a waiting thread before it sleeps; GNU's OpenMP, which PyTorch brings, makes 300,000 (a
millisecond or more). A spinning thread may occupy the core that the awaited thread needs."""
SEGMENTS = "expandable_segments:True"
"""Memory of a GPU in segments that grow: batches of many shapes would leave gaps between fixed ones."""


def prepare_environment() -> None:
    """Makes waiting threads of OpenMP sleep soon, and PyTorch's memory of a GPU grow (on Linux, which alone can); what
    the user has set stays.

    It has no effect in a process that has imported torch before.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", SPINS)
    if sys.platform == "win32":  # whose PyTorch has no libuv, by which processes would find each other
        os.environ.setdefault("USE_LIBUV", "0")
    if sys.platform == "linux" and "PYTORCH_CUDA_ALLOC_CONF" not in os.environ:  # the older name of the same
        os.environ.setdefault("PYTORCH_ALLOC_CONF", SEGMENTS)
