"""What runs a model for a translator: PyTorch, or CTranslate2 for one that was exported to it."""

from collections.abc import Sequence
from typing import Protocol, cast

import torch

from transduce.bundle import ModelBundle
from transduce.data.batch import pad
from transduce.errors import InputError
from transduce.inference.engines.compiled import CompiledModel
from transduce.inference.engines.ctranslate2 import CTranslate2Engine
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.exported import ExportedModel, Model
from transduce.inference.engines.pytorch_search import decode
from transduce.inference.execution.workers import size_of, threads_for
from transduce.inference.requests import Constraints, Piece
from transduce.inference.shortlist.shortlist import Shortlist
from transduce.inference.shortlist.vocabulary import Vocabulary
from transduce.models.interface import EncoderDecoder
from transduce.nn.state import DecoderState
from transduce.search.beam import Beam
from transduce.search.choices import Search
from transduce.search.hypothesis import Hypothesis


class Engine(Protocol):
    """Turns token ids into hypotheses."""

    @property
    def source_limit(self) -> int | None:
        """The most tokens a source may have, its end token included; None where any length will do."""
        ...

    def workers(self, search: Search) -> int:
        """How many batches may be searched at the same time."""
        ...

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """The outputs of each piece of a batch, as many as the search is asked for, best first.

        Either all pieces require phrases or none. Raises InputError for what the engine cannot do.
        """
        ...


class PyTorchEngine:
    """A bundle's model, on its device and at its precision; with others, an ensemble, with a shortlist, fewer words.

    Compiled, it is faster for one piece alone.
    """

    def __init__(
        self, bundle: ModelBundle, *others: ModelBundle, shortlist: Shortlist | None = None, compile: bool = False
    ) -> None:
        models = [cast(EncoderDecoder[DecoderState], one.model) for one in (bundle, *others)]
        self.bundle = bundle
        self.shortlist = None if shortlist is None else shortlist.to(bundle.device)
        self.model: EncoderDecoder[DecoderState] = Ensemble(models) if others else models[0]  # type: ignore[assignment]
        self.compiled = CompiledModel(self.model) if compile else None
        """What searches when there is one piece and nothing to record."""
        self._threads = torch.get_num_threads()
        self._size = sum(size_of(one.model) for one in (bundle, *others))

    @property
    def source_limit(self) -> int | None:
        """See Engine."""
        return self.model.source_limit

    def workers(self, search: Search) -> int:
        """See Engine; with a coverage penalty one alone, since for it attention is recorded, whoever computes it."""
        return 1 if self.bundle.device.type != "cpu" or _is_recorded(search) else torch.get_num_threads()

    @torch.inference_mode()
    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine."""
        special = self.bundle.special
        ids, is_real = (
            tensor.to(self.bundle.device)
            for tensor in pad([piece.source for piece in pieces], special.source_pad, special.source_eos)
        )
        vocabulary = Vocabulary.of(constraints.tokenizer, lambda: constraints.edges)
        model = self.model
        is_plain = len(pieces) > 1 or _is_recorded(search)
        if self.compiled and not is_plain and torch.get_num_threads() == self._threads:  # compiled for as many
            model = cast(EncoderDecoder[DecoderState], self.compiled)
            return decode(self.bundle, model, ids, is_real, pieces, vocabulary, search, self.shortlist)
        with threads_for(len(pieces) * search.rows, self._size, self.bundle.device):
            return decode(self.bundle, model, ids, is_real, pieces, vocabulary, search, self.shortlist)


def _is_recorded(search: Search) -> bool:
    """Whether attention is recorded after the search."""
    return isinstance(search, Beam) and search.coverage_penalty > 0


def engine_for(model: Model, *others: Model, shortlist: Shortlist | None = None, compile: bool = False) -> Engine:
    """The engine that runs the model, or the ensemble of it and others.

    Raises InputError for an ensemble with an exported model, a shortlist for one, or to compile either.
    """
    exported = next((one for one in (model, *others) if isinstance(one, ExportedModel)), None)
    if exported is None:
        if compile and others:
            raise InputError("an ensemble cannot be compiled; leave the others out, or do not compile")
        return PyTorchEngine(*cast(Sequence[ModelBundle], (model, *others)), shortlist=shortlist, compile=compile)
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
