"""fxtranslate, an engine of Firefox Translations' models, runs a folder that was exported for it."""

import math
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from docsegments.extras import require
from transduce.apps.exchange.firefox.arithmetic import open_student
from transduce.apps.exchange.firefox.student_files import StudentPaths
from transduce.base.errors import CheckpointError, InputError
from transduce.bundle.bundle_config import BundleConfig
from transduce.inference.constraints import Constraints, Piece
from transduce.inference.engines.engine import EngineChoice, beyond
from transduce.inference.engines.exported import ExportedModel
from transduce.inference.engines.pytorch import PyTorchEngine
from transduce.search.choices import Search
from transduce.search.loop import Hypothesis
from transduce.text.tokenizer import SPACE, Tokenizer, Tokenizers

LONGEST = 128
"""The most tokens of a source, its end token included, that engines read at once."""
UNKNOWN = "\ue000"
"""A character that no vocabulary has."""


def open_engine(model: ExportedModel, asked: str | None) -> EngineChoice:
    """Returns the engine of an exported model, or PyTorch if that is asked for, which computes as engines do."""
    folder = model.folder
    if model.device.type != "cpu":
        raise InputError(f"{folder} is exported for fxtranslate, which computes on the cpu; leave {model.device} out")
    if asked == "pytorch":
        student, lexicon = open_student(StudentPaths.find(folder), model.config, model.tokenizers)
        return PyTorchEngine(student, shortlist=lexicon)
    return FxtranslateEngine(folder, model.config, model.tokenizers)


def require_fxtranslate() -> Any:
    """Imports and returns fxtranslate; InputError if it is not installed."""
    return require("fxtranslate", "firefox")


def version() -> str:
    """Returns the version of fxtranslate; InputError if it is not installed."""
    from importlib.metadata import version as version_of

    require_fxtranslate()
    return version_of("fxtranslate")


class Student:
    """The files of a model, opened by fxtranslate in each thread that translates: it serves the one that opened it.

    Raises CheckpointError if fxtranslate cannot read them.
    """

    def __init__(self, paths: StudentPaths) -> None:
        files = [paths.model, paths.source_vocabulary, paths.target_vocabulary]
        if paths.shortlist.exists():
            files.append(paths.shortlist)
        self.paths = paths
        self._contents = [file.read_bytes() for file in files]
        self._opened = threading.local()
        self.translate("")

    def translate(self, text: str) -> str:
        """Translates a sentence, which is not divided."""
        if not hasattr(self._opened, "translator"):
            try:
                self._opened.translator = require_fxtranslate().Translator(*self._contents)
            except ValueError as error:
                raise CheckpointError(f"{self.paths.model}: fxtranslate cannot run it: {error}") from None
        return self._opened.translator.translate(text)


class FxtranslateEngine:
    """Runs a folder that `transduce export --to firefox` wrote: greedily, without rules and without probabilities."""

    batches_at_once = 1

    def __init__(self, folder: Path, config: BundleConfig, tokenizers: Tokenizers) -> None:
        paths = StudentPaths.find(folder)
        self.source_limit: int | None = LONGEST
        self.tokenizers = tokenizers
        self.version = version()
        open_student(paths, config, tokenizers)  # which names what is wrong with the files
        self.student = Student(paths)

    def of(self, piece: Piece, search: Search) -> "FxtranslateEngine":
        """See EngineChoice."""
        if piece.required:
            _check([piece], search)
        return self

    def describe(self, search: Search) -> str:
        """See EngineChoice."""
        return f"fxtranslate {self.version}"

    def workers(self, search: Search) -> int:
        """See Engine; as many as PyTorch has threads, since a translation takes one."""
        return torch.get_num_threads()

    def search(self, pieces: Sequence[Piece], constraints: Constraints, search: Search) -> list[list[Hypothesis]]:
        """See Engine; log-probabilities are NaN, since fxtranslate gives none."""
        _check(pieces, search)
        texts = [self.student.translate(text_of(self.tokenizers.source, piece.source)) for piece in pieces]
        return [
            [Hypothesis(self.tokenizers.target.encode(text), math.nan, math.nan, truncated=False)] for text in texts
        ]


def _check(pieces: Sequence[Piece], search: Search) -> None:
    """Raises InputError for what fxtranslate cannot do."""
    if unable := beyond((), search, pieces):
        raise InputError(
            f"fxtranslate searches greedily and gives no scores, without {' and '.join(unable)}; leave that out, "
            "or let PyTorch run the model (engine pytorch)"
        )


def text_of(tokenizer: Tokenizer, tokens: Sequence[int]) -> str:
    """Returns a text that the engine's own tokenizer divides into these tokens."""
    pieces = tokenizer.pieces(tokens)
    known = "".join(UNKNOWN if id_ == tokenizer.unknown else piece for id_, piece in zip(tokens, pieces, strict=True))
    return known.replace(SPACE, " ").removeprefix(" ")
