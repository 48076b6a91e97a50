"""At which precision a trained model computes."""

from typing import Literal, TypeVar

import torch

from transduce.bundle import ModelBundle
from transduce.errors import ConfigError, InputError
from transduce.inference.exported import ExportedModel
from transduce.nn.quantization import quantize

InferencePrecision = Literal["float32", "bfloat16", "int8"]


AnyModel = TypeVar("AnyModel", ModelBundle, ModelBundle | ExportedModel)


def at_precision(model: AnyModel, precision: InferencePrecision) -> AnyModel:
    """The model, which computes so from now on; InputError for an exported one, ConfigError where it cannot."""
    if precision == "float32":
        return model
    if not isinstance(model, ModelBundle):
        raise InputError(
            f"precision {precision} is not for an exported model, whose precision was chosen with --quantization when "
            "it was exported; leave it out"
        )
    _set_precision(model, precision)
    return model


def _set_precision(bundle: ModelBundle, precision: InferencePrecision) -> None:
    if precision == "bfloat16":
        bundle.model.to(torch.bfloat16)
    elif precision == "int8":
        if bundle.device.type != "cpu":
            raise ConfigError(f"--precision int8 is for the cpu, not for {bundle.device}; use bfloat16 there")
        quantize(bundle.model)
