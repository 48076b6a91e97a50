"""Which errors mean that memory has run out, and what is said then."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from transduce.errors import ConfigError

WORDS = ("allocate memory", "bad_alloc", "out of memory")
"""Of PyTorch, the C++ library, and CUDA's libraries, whose errors are plain ones."""
NO_KERNEL = "could not create a primitive"
"""All that oneDNN says where there is no memory for a kernel; it says more where it has none for such a product."""


def is_shortage(error: BaseException) -> bool:
    """Whether memory, of the machine or of a device, did not suffice."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    message = str(error)
    return isinstance(error, RuntimeError) and (message == NO_KERNEL or any(word in message for word in WORDS))


@contextmanager
def naming_shortage(tell: Callable[[], str]) -> Iterator[None]:
    """Raise ConfigError, with what is told, for an error that means a shortage."""
    try:
        yield
    except Exception as error:
        if not is_shortage(error):
            raise
        raise ConfigError(tell()) from None
