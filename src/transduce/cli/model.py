"""Opens the model that a verb was given."""

from collections.abc import Sequence
from pathlib import Path

import torch

from transduce.bundle import ModelBundle
from transduce.errors import ConfigError, InputError
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


def set_threads(threads: int | None) -> None:
    """Use that many processor threads."""
    if threads is not None:
        torch.set_num_threads(threads)


def find_device(name: str) -> torch.device:
    """A device that is there; raises ConfigError for another."""
    try:
        device = torch.device(name)
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"--device {name}: {str(error).splitlines()[0]}") from None
    return device


def open_bundle(model: str, device: str, precision: str) -> ModelBundle:
    """A bundle on a device, at a precision."""
    bundle = ModelBundle.load(Path(model), find_device(device))
    if precision == "bfloat16":
        bundle.model.to(torch.bfloat16)
    return bundle


def open_translator(model: str, device: str, precision: str, others: Sequence[str] = ()) -> Translator:
    """A translator ready to use; with others, of an ensemble."""
    return Translator(*(open_bundle(one, device, precision) for one in (model, *others)))


def make_beam(**options: object) -> Beam:
    """Search settings from command-line options; raises InputError for a combination that makes no sense."""
    try:
        return Beam(**options)  # type: ignore[arg-type]
    except ValueError as error:
        raise InputError(str(error)) from None
