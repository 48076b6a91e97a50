"""The form for CTranslate2 that Transduce makes of a model by itself: certified, and kept for the next time."""

import errno
import hashlib
import math
import os
import shutil
from pathlib import Path

import numpy as np
import torch

from transduce.apps.exchange.ctranslate2.ctranslate2_model import never_written, require_ctranslate2
from transduce.apps.exchange.ctranslate2.exact import ExactCTranslate2Engine
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import (
    TOLERANCE,
    export_bundle,
    samples_of,
    what_cannot_be_exported,
)
from transduce.base.errors import CheckpointError, InputError, TransduceError
from transduce.base.files import locked, remove, write_text
from transduce.base.unzipping import is_unzipped
from transduce.base.version import VERSION
from transduce.bundle.model_bundle import EXPORT, ModelBundle, identity
from transduce.corpora.catalogue.dataset_files import cache_folder
from transduce.data.batch import pad
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.automatic_engine import why_failed
from transduce.inference.engines.engine import Engine
from transduce.inference.engines.ensemble import Ensemble
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.engines.inference_precision import precision_of
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.search.beam import Beam
from transduce.search.loop import Hypothesis

RUNS = frozenset(["a beam", "a list of the best", "other lengths", "unknown tokens"])
"""Settings of a search with which CTranslate2 gives the outputs of PyTorch."""

MOST_WEIGHTS = 200_000_000
"""The weights of the largest model that is kept in a second form, which takes 0.8 GB of the disk and as much memory. In
larger ones matrix products take most of the time, which both engines compute alike."""

FOLDER = ".ctranslate2"
"""The folder beside a model's files that holds its form for CTranslate2; hidden, so that uploads leave it out."""

LIKELIEST_FORBIDDEN = 0.01
"""The largest probability, at any step of a sample, of a token that no output may have. CTranslate2's beam follows such
a token until it drops out, and ours never does; so unlikely a one is at the end of a beam."""

CERTIFIED = Beam(n_best=Beam().size, max_ratio=1, max_extra=20)
"""The search that must give the same lists of samples in both engines, with scores within the writer's tolerance."""

SPACE = 2
"""Free bytes that must remain, as multiples of those that are written."""


class KeptExport:
    """Finds or makes the form of a model for CTranslate2.

    It is in `.ctranslate2` in the model's folder or, where that cannot be written, in the user's cache, in a folder
    that is named after what it was made from and by: the hash of the model and the versions of CTranslate2 and of this
    program. So a model that has changed gets a new one, in place of the old. Of several processes one makes it, and the
    others wait.
    """

    def __init__(self, pytorch: PyTorchEngine) -> None:
        bundle = pytorch.bundle
        assert bundle.folder is not None, "callers ask `why_never`"
        self._pytorch = pytorch
        self.model = bundle.folder
        self.identity = identity(bundle.folder)
        self._bytes = sum(4 * parameter.numel() for parameter in bundle.model.parameters())
        of = f"{self.identity} {require_ctranslate2().__version__} {VERSION}"
        self.name = hashlib.sha256(of.encode()).hexdigest()[:16]

    def open(self) -> ExactCTranslate2Engine:
        """Returns the engine that runs the form, which is made now if there is none.

        Raises InputError if it cannot be kept anywhere, or if the model has changed since it was loaded;
        CheckpointError if CTranslate2 does not translate as the model does, or what else goes wrong with this model,
        which is not tried again.
        """
        kept = next(filter(None, map(self._read, self._places)), None)
        for parent in self._places if kept is None else ():
            try:
                parent.mkdir(parents=True, exist_ok=True)
                with locked(parent):
                    kept = self._read(parent) or self._make(parent)
                break
            except OSError as error:
                problem = f"{parent} cannot be written: {str(error.strerror).lower()}"
        if kept is None:
            raise InputError(problem)
        return ExactCTranslate2Engine(kept, self._pytorch)

    @property
    def is_decided(self) -> bool:
        """True if the form has been made, or refused."""
        files = (path for parent in self._places for path in (parent / self.name / EXPORT, self._refusal(parent)))
        return any(path.is_file() for path in files)

    @property
    def _places(self) -> list[Path]:
        """The folders that may hold the form, the best first."""
        beside = [] if is_unzipped(self.model) else [self.model / FOLDER]
        return [*beside, cache_folder() / "ctranslate2"]

    def _read(self, parent: Path) -> ExportedModel | None:
        """Returns the form in a folder; None if there is none, or a damaged one."""
        folder, refusal = parent / self.name, self._refusal(parent)
        if refusal.is_file():
            raise CheckpointError(refusal.read_text(encoding="utf-8"))
        try:
            return ExportedModel.load(folder) if (folder / EXPORT).is_file() else None
        except CheckpointError:
            return None

    def _make(self, parent: Path) -> ExportedModel:
        if shutil.disk_usage(parent).free < (1 + SPACE) * self._bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        bundle = ModelBundle.load(self.model)  # as it was before it was made ready for a precision
        if identity(self.model) != self.identity:
            raise InputError(f"{self.model} has changed since it was loaded")
        folder, beside = parent / self.name, parent / f".{self.name}"  # where others do not see it uncertified
        try:
            certificate = SampleOutputs(bundle, self.model)
            export_bundle(bundle, beside, "float32", certificate.samples)
            certificate.check(ExportedModel.load(beside))
            remove(folder)  # if it is damaged
            beside.rename(folder)
        except (OSError, MemoryError):  # which may pass
            raise
        except Exception as error:
            write_text(self._refusal(parent), why_failed(error))
            raise
        finally:
            remove(beside)
        for other in parent.iterdir():
            if parent.name == FOLDER and other.is_dir() and other != folder:  # of this model as it was before
                remove(other)
        return ExportedModel.load(folder)

    def _refusal(self, parent: Path) -> Path:
        """Returns the file that says why a model has no form for CTranslate2."""
        return parent / f"{self.name}.refused"


def why_never(pytorch: PyTorchEngine) -> list[str]:
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


class SampleOutputs:
    """A model's own outputs of sample sentences, which its form for CTranslate2 must give too.

    Raises CheckpointError if a token that no output may have is likely at one of their steps.
    """

    def __init__(self, bundle: ModelBundle, folder: Path) -> None:
        self.samples = samples_of(bundle, folder, None)
        self._bundle = bundle.for_probe
        self._pytorch = PyTorchEngine(self._bundle)
        self._outputs = self._search(self._pytorch)
        self._check_forbidden()

    def check(self, exported: ExportedModel) -> None:
        """Raises CheckpointError unless the n-th best outputs have equal scores for every n."""
        theirs = self._search(ExactCTranslate2Engine(exported, self._pytorch))
        scores = [[[output.score for output in n_best] for n_best in lists] for lists in (self._outputs, theirs)]
        apart = [
            max(map(abs, np.subtract(ours, others)), default=0.0) if len(ours) == len(others) else math.inf
            for ours, others in zip(*scores, strict=True)
        ]
        if max(apart) > TOLERANCE:
            raise CheckpointError(
                f"CTranslate2's beams of sample sentences have scores up to {max(apart):.2g} from the model's own"
            )

    def _search(self, engine: Engine) -> list[list[Hypothesis]]:
        pieces = [Piece(source, [], [], [], self._bundle.marks.begin) for source in self.samples]
        return engine.search(pieces, Constraints(self._bundle.tokenizers.target), CERTIFIED)

    @torch.inference_mode()
    def _check_forbidden(self) -> None:
        special, writer, target = self._bundle.special, self._bundle.writer, self._bundle.tokenizers.target
        forbidden = torch.tensor(sorted(never_written(target, allow_unknown=False)))
        for source, (best, *_) in zip(self.samples, self._outputs, strict=True):  # vocabularies may be large
            ids, is_real = pad([source], special.source_pad, special.source_eos)
            tokens = torch.tensor([[special.target_bos, *best.tokens]])
            logits, _ = writer.decoder(tokens, writer.start(writer.encode(ids, is_real)))
            likeliest, index = logits[0].softmax(-1)[:, forbidden].amax(0).max(0)
            if likeliest > LIKELIEST_FORBIDDEN:
                (piece,) = target.pieces([int(forbidden[index])])
                raise CheckpointError(
                    f"the model gives {piece}, which no output may have, a probability of up to "
                    f"{float(likeliest):.2g}, and CTranslate2's beam would follow it"
                )
