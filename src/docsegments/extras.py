"""Packages that only some uses need: each is in an extra of pyproject.toml, which an error names."""

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from docsegments.user_errors import InputError

TRAINING = ("ftfy", "matplotlib", "sacrebleu", "tensorboard")
"""The packages of the extra `train`, for training, scoring and drawing."""


def require(module: str, extra: str) -> Any:
    """Imports and returns a module of an optional package; InputError if the package is not installed."""
    try:
        return import_module(module)
    except ImportError as error:
        raise lacking(error, module, extra) from None


def lacking(error: ImportError, module: str, extra: str) -> InputError:
    """Returns an error for an optional module that cannot be imported: it names the extra that brings the package."""
    if isinstance(error, ModuleNotFoundError):
        return _not_installed(error.name or module, extra)
    return InputError(f"{module} is installed, but cannot be imported ({error})")


def check_installed(extra: str, *packages: str) -> None:
    """Raises InputError if one of several packages of an extra is not installed, before long work begins; none of them
    is imported, which may take a second."""
    for package in packages:
        try:
            is_installed = find_spec(package) is not None
        except ValueError:  # an entry in sys.modules that is no module
            is_installed = False
        if not is_installed:
            raise _not_installed(package, extra)


def _not_installed(module: str, extra: str) -> InputError:
    package = module.partition(".")[0]
    return InputError(f"this needs {package}, which is not installed; add it with: pip install 'transduce[{extra}]'")
