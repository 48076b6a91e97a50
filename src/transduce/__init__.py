"""Train, understand and use attention models that turn one sequence into another."""

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transduce.experiment import train as train
    from transduce.inference.translator import load as load

__all__ = ["load", "train", "__version__"]

__version__ = version("transduce")


def __getattr__(name: str) -> Any:
    """`transduce.train` and `transduce.load`, imported when asked for, so that `transduce --help` needs no torch."""
    if name == "train":
        from transduce.experiment import train

        return train
    if name == "load":
        from transduce.inference.translator import load

        return load
    raise AttributeError(f"module 'transduce' has no attribute '{name}'")
