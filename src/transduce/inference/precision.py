"""At which precision a trained model computes."""

from typing import Literal

import torch

from transduce.bundle import ModelBundle
from transduce.errors import ConfigError
from transduce.nn.quantization import quantize

InferencePrecision = Literal["float32", "bfloat16", "int8"]


def set_precision(bundle: ModelBundle, precision: InferencePrecision) -> None:
    """Make a bundle's model compute so from now on; ConfigError where it cannot."""
    if precision == "bfloat16":
        bundle.model.to(torch.bfloat16)
    elif precision == "int8":
        if bundle.device.type != "cpu":
            raise ConfigError(f"--precision int8 is for the cpu, not for {bundle.device}; use bfloat16 there")
        quantize(bundle.model)
