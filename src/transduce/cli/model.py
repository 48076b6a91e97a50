"""Opens the model that a verb was given."""

from collections.abc import Sequence
from pathlib import Path

import torch

from transduce.bundle import ModelBundle, find_bundle
from transduce.bundle_config import read_config
from transduce.devices import find_device
from transduce.errors import InputError
from transduce.inference.engines.exported import ExportedModel, open_model
from transduce.inference.engines.precision import InferencePrecision, at_precision, device_for
from transduce.inference.execution.memory import keep_free_memory
from transduce.inference.shortlist.shortlist import find_shortlist
from transduce.inference.translator import Translator


def set_threads(threads: int | None) -> None:
    """Sets the number of processor threads."""
    if threads is not None:
        torch.set_num_threads(threads)


def open_bundle(model: str, device: str, precision: InferencePrecision) -> ModelBundle:
    """Opens a bundle on a device, at a precision."""
    return at_precision(ModelBundle.load(Path(model), find_device(device_for(precision, device))), precision)


def open_translator(
    model: str,
    device: str,
    precision: InferencePrecision,
    others: Sequence[str] = (),
    engine: str | None = None,
    shortlist: bool | str = False,
    compile: bool = False,
) -> Translator:
    """Loads a translator; with others, an ensemble; with a shortlist, see `transduce.load`; to compile, see warm_up.

    Raises InputError where the models' folders are not for the engine, if one is named.
    """
    keep_free_memory()
    models = [open_model(one, device_for(precision, device)) for one in (model, *others)]
    for path, one in zip((model, *others), models, strict=True):
        if engine == "ctranslate2" and isinstance(one, ModelBundle):
            raise InputError(
                f"{path} is not for CTranslate2; first: transduce export {path} --to ctranslate2 -o FOLDER"
            )
        if engine == "pytorch" and isinstance(one, ExportedModel):
            raise InputError(f"{path} is exported for CTranslate2; use the original model")
    models = [at_precision(one, precision) for one in models]
    return Translator(*models, shortlist=find_shortlist(model, models[0].tokenizers, shortlist), compile=compile)


def languages_of(model: str, to: str | None, from_: str | None) -> tuple[str, str]:
    """Returns the languages that a model translates between, read before the model; InputError for others."""
    direction = read_config(find_bundle(Path(model))).find_direction(to, from_)
    return direction.source, direction.target


def which_shortlist(use_shortlist: bool, file: str | None) -> bool | str:
    """Returns the model's own shortlist or a file's, if any, as two options say; InputError if both are given."""
    if use_shortlist and file is not None:
        raise InputError("--shortlist and --shortlist-file exclude each other; leave one of them out")
    return use_shortlist if file is None else file
