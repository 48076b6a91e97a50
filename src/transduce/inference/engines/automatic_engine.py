"""The fastest engine on this machine: another engine's form of the model where outputs are the same, else PyTorch."""

import os
import threading
from typing import Any

from transduce.base.errors import TransduceError
from transduce.inference.constraints import Piece
from transduce.inference.engines.engine import Engine, beyond
from transduce.inference.engines.engine_table import automatic_form
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.nn.recording import takes_plain_paths
from transduce.search.beam import Beam
from transduce.search.choices import Search


class AutomaticEngine:
    """Chooses, for each search and piece, the engine that is fastest with the same outputs.

    CTranslate2 runs plain beam searches without constraints, on a CPU in float32, of models that it computes as PyTorch
    does. Its form of the model is made at the first such search (see KeptExport). Whatever fails, PyTorch runs the
    model.
    """

    def __init__(self, pytorch: PyTorchEngine) -> None:
        self.pytorch = pytorch
        self.source_limit = pytorch.source_limit
        self._reasons: list[str] = []
        """The reasons why CTranslate2 cannot run this model here; empty if it can, as far as is known."""
        try:
            self._form = automatic_form()
            self._reasons = self._form.why_never(pytorch)
            self._kept = None if self._reasons else self._form.KeptExport(pytorch)
        except Exception as error:  # of a library; PyTorch can run what it loaded
            self._reasons, self._kept = [why_failed(error)], None
        self._exact: Any = None
        self._making = threading.Lock()
        self._process = os.getpid()

    def of(self, piece: Piece, search: Search) -> Engine:
        """See EngineChoice."""
        exact: Engine | None = None if self._why_pytorch(search, piece) else self._opened()
        return exact or self.pytorch.of(piece, search)

    def describe(self, search: Search) -> str:
        """See EngineChoice; makes the form for CTranslate2 if the search needs it."""
        reasons = self._why_pytorch(search)
        exact = None if reasons else self._opened()
        return str(exact.describe(search)) if exact else f"PyTorch, for {' and '.join(reasons or self._reasons)}"

    def expected(self) -> str:
        """Returns what `describe` says of a plain beam, without making a form for CTranslate2."""
        if self._kept is None or self._kept.is_decided:
            return self.describe(Beam())
        return "CTranslate2, unless the first translation finds that it computes differently"

    def _why_pytorch(self, search: Search, *pieces: Piece) -> list[str]:
        if self._reasons:
            return self._reasons
        if os.getpid() != self._process:  # CTranslate2's threads are not in a forked process
            return ["a forked process"]
        if takes_plain_paths():
            return ["an intervention"]
        return beyond(self._form.RUNS, search, pieces)

    def _opened(self) -> Any:
        """Returns the engine of CTranslate2, made at the first call; None if it cannot be made."""
        with self._making:
            if self._exact is None and self._kept is not None and not self._reasons:
                try:
                    self._exact = self._kept.open()
                except Exception as error:  # a library's too: PyTorch runs the model in any case
                    self._reasons = [why_failed(error)]
            return self._exact


def why_failed(error: Exception) -> str:
    """Returns the reason that an error gives why CTranslate2 does not run a model."""
    return str(error) if isinstance(error, TransduceError) else f"CTranslate2 failed ({type(error).__name__}: {error})"
