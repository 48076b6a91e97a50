"""Reads from a verb's options where and how precisely it computes."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from transduce.cli.fields import options_of
from transduce.cli.options import Device, InferencePrecision, Threads

if TYPE_CHECKING:
    from transduce.bundle import ModelBundle


@dataclass(frozen=True)
class _Processor:
    """A device, whose threads are set at once."""

    device: Device = "auto"
    threads: Threads = None

    def __post_init__(self) -> None:
        if self.threads is not None:
            import torch

            torch.set_num_threads(self.threads)


@dataclass(frozen=True)
class _Machine(_Processor):
    """A device, and the precision of inference."""

    precision: InferencePrecision = "float32"

    def open(self, model: str) -> "ModelBundle":
        """Opens a model's bundle, on the device and at the precision."""
        from transduce.cli.model import open_bundle

        return open_bundle(model, self.device, self.precision)


Processor = Annotated[_Processor, options_of(_Processor)]
Machine = Annotated[_Machine, options_of(_Machine)]
