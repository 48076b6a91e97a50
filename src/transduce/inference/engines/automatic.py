"""The fastest engine on this machine: CTranslate2 for what it does exactly as PyTorch does, else PyTorch."""

import os
import threading

from transduce.errors import TransduceError
from transduce.inference.engines.ctranslate2.engine import unlike_a_plain_beam
from transduce.inference.engines.ctranslate2.exact import ExactCTranslate2Engine
from transduce.inference.engines.ctranslate2.kept import KeptExport, why_failed
from transduce.inference.engines.ctranslate2.model import require_ctranslate2
from transduce.inference.engines.ctranslate2.writing import what_cannot_be_exported
from transduce.inference.engines.engine import Engine
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.precision import precision_of
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.inference.requests import Piece
from transduce.search.beam import Beam
from transduce.search.choices import Search

MOST_WEIGHTS = 200_000_000
"""The weights of the largest model that is kept in a second form, which takes 0.8 GB of the disk and as much memory. In
larger ones matrix products take most of the time, which both engines compute alike."""


class AutomaticEngine:
    """Chooses, for each search and piece, the engine that is fastest with the same outputs.

    CTranslate2 runs plain beam searches without constraints, on a CPU in float32, of models that it computes as PyTorch
    does. Its form of the model is made at the first such search (see KeptExport).
    """

    def __init__(self, pytorch: PyTorchEngine) -> None:
        self.pytorch = pytorch
        self.source_limit = pytorch.source_limit
        self._reasons: list[str] = []
        """The reasons why CTranslate2 cannot run this model here; empty if it can, as far as is known."""
        self._kept: KeptExport | None = None
        try:
            self._reasons = _why_never(pytorch)
            self._kept = None if self._reasons else KeptExport(pytorch.bundle)
        except Exception as error:  # of a library; PyTorch can run what it loaded
            self._reasons = [why_failed(error)]
        self._exact: ExactCTranslate2Engine | None = None
        self._making = threading.Lock()
        self._process = os.getpid()

    def of(self, piece: Piece, search: Search) -> Engine:
        """See EngineChoice."""
        exact = None if self._why_pytorch(search, piece) else self._opened()
        return exact or self.pytorch.of(piece, search)

    def describe(self, search: Search) -> str:
        """See EngineChoice; makes the form for CTranslate2 if the search needs it."""
        reasons = self._why_pytorch(search)
        exact = None if reasons else self._opened()
        if exact is None:
            return f"PyTorch, for {' and '.join(reasons or self._reasons)}"
        return f"CTranslate2 {exact.model.version} ({exact.folder})"

    def expected(self) -> str:
        """Returns what `describe` says of a plain beam, without making a form for CTranslate2."""
        if self._kept is None or self._kept.is_decided:
            return self.describe(Beam())
        return "CTranslate2, unless the first translation finds that it computes differently"

    def _why_pytorch(self, search: Search, piece: Piece | None = None) -> list[str]:
        if self._reasons:
            return self._reasons
        if os.getpid() != self._process:  # CTranslate2's threads are not in a forked process
            return ["a forked process"]
        reasons = unlike_a_plain_beam(search, piece)
        if search.min_ratio:
            reasons.append("a minimum length")
        if search.no_repeat_ngram:
            reasons.append("no repeated n-grams")
        return reasons

    def _opened(self) -> ExactCTranslate2Engine | None:
        """Returns the engine of CTranslate2, made at the first call; None if it cannot be made."""
        with self._making:
            if self._exact is None and self._kept is not None and not self._reasons:
                try:
                    self._exact = ExactCTranslate2Engine(self._kept.open(), self.pytorch)
                except Exception as error:  # a library's too: PyTorch runs the model in any case
                    self._reasons = [why_failed(error)]
            return self._exact


def _why_never(pytorch: PyTorchEngine) -> list[str]:
    """Lists why CTranslate2 cannot run a model as PyTorch does, whatever the search; empty if it may."""
    bundle = pytorch.bundle
    if isinstance(pytorch.model, Ensemble):
        return ["an ensemble"]
    if pytorch.compiled is not None:
        return ["the model is compiled"]
    if pytorch.shortlist is not None:
        return ["a shortlist"]
    if bundle.device.type != "cpu":
        return [f"the device is {bundle.device}"]
    if (precision := precision_of(bundle.model)) not in (None, "float32"):
        return [f"the precision is {precision}"]
    if bundle.folder is None:
        return ["the model is in no folder"]
    if sum(parameter.numel() for parameter in bundle.model.parameters()) > MOST_WEIGHTS:
        return [f"the model has more than {MOST_WEIGHTS:,} weights; `transduce export` makes an engine's form of it"]
    try:
        require_ctranslate2()
    except TransduceError:
        return ["CTranslate2, which is faster, is not installed (pip install 'transduce[export]')"]
    return what_cannot_be_exported(bundle)
