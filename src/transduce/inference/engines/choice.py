"""Chooses the engine of a model, or of an ensemble."""

import os
from typing import Literal

from transduce.base.errors import ConfigError, InputError
from transduce.bundle.model_bundle import ModelBundle, why_not_trainable
from transduce.inference.engines.automatic_engine import AutomaticEngine
from transduce.inference.engines.engine import EngineChoice
from transduce.inference.engines.engine_table import ENGINES
from transduce.inference.engines.exported import ExportedModel, Model
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.shortlist.shortlist import Shortlist

EngineName = Literal["auto", "pytorch", "ctranslate2", "fxtranslate"]
"""`auto` is the fastest with the same outputs (see AutomaticEngine), or the one that a model was exported for;
`ctranslate2` and `fxtranslate` are for exported models alone; `pytorch` computes as fxtranslate does where a model was
exported for that."""


def engine_for(
    model: Model,
    *others: Model,
    shortlist: Shortlist | None = None,
    compile: bool = False,
    engine: EngineName | None = None,
) -> EngineChoice:
    """Returns the engine that runs the model, or the ensemble of it and others.

    By default a bundle is run by PyTorch, as it is; `auto` may run the model of its folder instead. The environment
    variable TRANSDUCE_ENGINE can set the engine of `auto`. Raises InputError for a model of another engine, an ensemble
    with an exported model, a shortlist for one, or to compile either.
    """
    bundles = [member for member in (model, *others) if isinstance(member, ModelBundle)]
    exported = [member for member in (model, *others) if isinstance(member, ExportedModel)]
    if engine in ENGINES and bundles:
        folder, entry = bundles[0].folder, ENGINES[engine]
        raise InputError(
            f"{folder} is not for {entry.title}; first export it to {entry.form}, by: transduce export {folder}"
        )
    for of in exported:
        own, folder = of.export.engine, of.folder
        if engine not in (None, "auto", own) and (engine, own) != ("pytorch", "fxtranslate"):
            raise InputError(
                why_not_trainable(folder)
                if own == "phrases"
                else f"{folder} is exported for {ENGINES[own].title}; use the original model"
            )
    if not exported:
        if compile and others:
            raise InputError("an ensemble cannot be compiled; leave the others out, or do not compile")
        pytorch = PyTorchEngine(*bundles, shortlist=shortlist, compile=compile)
        return AutomaticEngine(pytorch) if engine == "auto" and _meaning_of_auto() == "auto" else pytorch
    of = exported[0]
    if shortlist is not None:
        raise InputError(
            f"{of.folder} is an exported model, which takes no shortlist; leave it out, or give the model that was "
            "exported"
        )
    if others:
        raise InputError(f"{of.folder} is an exported model, which cannot be part of an ensemble; leave the others out")
    if compile:
        raise InputError(f"{of.folder} is an exported model, which needs no compiling; leave that out")
    chosen: EngineChoice = ENGINES[of.export.engine].open(of, engine)
    return chosen


def pytorch_of(engine: EngineChoice) -> PyTorchEngine | None:
    """Returns the engine of PyTorch that an engine is or has, whose model does more than search; None for an exported
    model."""
    if isinstance(engine, AutomaticEngine):
        return engine.pytorch
    return engine if isinstance(engine, PyTorchEngine) else None


def _meaning_of_auto() -> str:
    """Returns the engine that TRANSDUCE_ENGINE names in place of `auto`; ConfigError if it names none."""
    name = os.environ.get("TRANSDUCE_ENGINE") or "auto"
    if name not in ("auto", "pytorch"):
        raise ConfigError(f"TRANSDUCE_ENGINE is {name!r}; expected auto or pytorch")
    return name
