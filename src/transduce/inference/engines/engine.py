"""Engines, which run a model for a translator: PyTorch, or CTranslate2 for one that was exported to it."""

from collections.abc import Sequence
from typing import Protocol

from transduce.bundle import ModelBundle
from transduce.errors import InputError
from transduce.inference.engines.ctranslate2 import CTranslate2Engine
from transduce.inference.engines.exported import ExportedModel, Model
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.requests import Constraints, Piece
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis


class Engine(Protocol):
    """Turns token ids into hypotheses."""

    source_limit: int | None
    """The most tokens of a source, its end token included; None for no limit."""

    def workers(self, search: Search) -> int:
        """Returns the number of batches that may be searched at the same time."""

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """Returns the outputs of each piece of a batch, as many as the search is asked for, best first.

        Either all pieces require phrases or none. Raises InputError for what the engine cannot do.
        """


def engine_for(model: Model, *others: Model, shortlist: Shortlist | None = None, compile: bool = False) -> Engine:
    """Returns the engine that runs the model, or the ensemble of it and others.

    Raises InputError for an ensemble with an exported model, a shortlist for one, or to compile either.
    """
    bundles = [member for member in (model, *others) if isinstance(member, ModelBundle)]
    exported = next((member for member in (model, *others) if isinstance(member, ExportedModel)), None)
    if exported is None:
        if compile and others:
            raise InputError("an ensemble cannot be compiled; leave the others out, or do not compile")
        return PyTorchEngine(*bundles, shortlist=shortlist, compile=compile)
    if shortlist is not None:
        raise InputError(
            f"{exported.folder} is an exported model, which takes no shortlist; leave it out, or give the model that "
            "was exported"
        )
    if others:
        raise InputError(
            f"{exported.folder} is an exported model, which cannot be part of an ensemble; leave the others out"
        )
    if compile:
        raise InputError(f"{exported.folder} is an exported model, which needs no compiling; leave that out")
    return CTranslate2Engine(exported.folder, exported.tokenizers, exported.export.longest, exported.device)
