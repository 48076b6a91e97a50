"""The libraries that read documents, which are an optional extra."""

from importlib import import_module
from typing import Any

from transduce.errors import InputError


def require(name: str) -> Any:
    """A library by its module's name; InputError if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise InputError(
            f"this needs {name}, which is not installed; install what documents need with: pip install "
            "'.[documents]' in the folder of Transduce"
        ) from None
