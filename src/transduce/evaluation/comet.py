"""COMET (Rei et al. 2020), a metric learned from human judgements; it needs the package unbabel-comet."""

from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import torch

from transduce.errors import InputError

MODEL = "Unbabel/wmt22-comet-da"
"""The model of Rei et al. 2022; reads sources, outputs and references."""

BATCH = 8


def comet_scores(sources: Sequence[str], outputs: Sequence[str], references: Sequence[str]) -> list[float]:
    """Returns a score for each output, mostly 0 to 1; InputError if the package is not installed."""
    rows = [
        {"src": source, "mt": output, "ref": reference}
        for source, output, reference in zip(sources, outputs, references, strict=True)
    ]
    found = _model().predict(rows, batch_size=BATCH, gpus=int(torch.cuda.is_available()), progress_bar=False)
    return [float(score) for score in found.scores]


def comet_version() -> str:
    """Returns the installed package's version."""
    return version("unbabel-comet")


@lru_cache(maxsize=1)
def _model() -> Any:
    try:
        from comet import download_model, load_from_checkpoint
    except ImportError:
        raise InputError("comet needs its package; install it with: pip install unbabel-comet") from None
    return load_from_checkpoint(download_model(MODEL))
