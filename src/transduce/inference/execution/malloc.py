"""Settings of how the C library manages freed memory."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # of mallopt(3)
KEPT_BYTES = 256 * 2**20
LARGEST_BYTES = 32 * 2**20  # glibc takes no more


def keep_free_memory() -> None:
    """Lets glibc keep up to 256 MiB of freed memory for later use; other C libraries are left as they are.

    Else it returns the memory of each step's logits to the system, which clears the pages again at the next step: an
    eighth of the time of translating a file.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(TRIM_THRESHOLD, KEPT_BYTES)
        mallopt(MMAP_THRESHOLD, LARGEST_BYTES)
