"""Recognising errors that mean memory has run out, and their messages."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch

from transduce.base.errors import ConfigError

WORDS = ("allocate memory", "bad_alloc", "out of memory")
"""Words in plain errors of PyTorch, the C++ library and CUDA's libraries when memory runs out."""
NO_KERNEL = "could not create a primitive"
"""The whole message of oneDNN if there is no memory for a kernel; other failures have longer ones."""


def is_shortage(error: BaseException) -> bool:
    """Returns True if the error means that the machine or a device ran out of memory."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    message = str(error)
    return isinstance(error, RuntimeError) and (message == NO_KERNEL or any(word in message for word in WORDS))


@contextmanager
def naming_shortage(tell: Callable[[], str]) -> Iterator[None]:
    """Raises ConfigError, with the text that `tell` returns, for an error that means a shortage."""
    try:
        yield
    except Exception as error:
        if not is_shortage(error):
            raise
        raise ConfigError(tell()) from None
