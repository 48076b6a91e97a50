"""The precision at which a trained model computes."""

from pathlib import Path
from typing import Literal, TypeVar

import torch
from torch import nn

from transduce.base.devices import find_device
from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle
from transduce.inference.engines.exported import ExportedModel
from transduce.nn.cpu import SmallBatchLinear
from transduce.nn.linear import replace_linear_layers
from transduce.nn.quantization import Int8Linear
from transduce.nn.self_attention import join_projections

InferencePrecision = Literal["float32", "bfloat16", "int8"]

AnyModel = TypeVar("AnyModel", ModelBundle, ModelBundle | ExportedModel)


def at_precision(model: AnyModel, precision: InferencePrecision) -> AnyModel:
    """Sets a model to compute at a precision from now on: it can no longer be trained or saved.

    Once more at the same precision changes nothing. Raises InputError for an exported one, or one that was made ready
    for another precision, ConfigError where it cannot.
    """
    if isinstance(model, ModelBundle):
        _set_precision(model, precision)
    elif precision != "float32":
        raise InputError(f"an exported model's precision is fixed at export; leave out precision {precision}")
    return model


def load_bundle(path: str | Path, device: str, precision: InferencePrecision) -> ModelBundle:
    """Returns the bundle in the folder of a model or a run, on a device, to compute at a precision."""
    return at_precision(ModelBundle.load(Path(path), find_device(device_for(precision, device))), precision)


def device_for(precision: InferencePrecision, device: str) -> str:
    """Returns the name of a device, with `auto` read as the cpu for int8, which is computed there alone."""
    return "cpu" if device == "auto" and precision == "int8" else device


def _set_precision(bundle: ModelBundle, precision: InferencePrecision) -> None:
    if precision == "int8" and bundle.device.type != "cpu":
        raise ConfigError(f"precision int8 is for the cpu, not for {bundle.device}; use bfloat16 there")
    before = precision_of(bundle.model)
    if before == precision:
        return
    if before is not None:
        raise InputError(f"the model has been converted to {before}; load it again to use {precision}")
    join_projections(bundle.model)
    if precision == "bfloat16":
        bundle.model.to(torch.bfloat16)
    elif precision == "int8":
        replace_linear_layers(bundle.model, Int8Linear)
    elif bundle.device.type == "cpu":
        replace_linear_layers(bundle.model, SmallBatchLinear)


def precision_of(model: nn.Module) -> InferencePrecision | None:
    """Returns the precision that a model was made ready for; None if it left no trace and hinders no other."""
    if any(isinstance(module, Int8Linear) for module in model.modules()):
        return "int8"
    if any(parameter.dtype == torch.bfloat16 for parameter in model.parameters()):
        return "bfloat16"
    return "float32" if any(isinstance(module, SmallBatchLinear) for module in model.modules()) else None
