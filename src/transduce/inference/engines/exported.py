"""The folder of a model that another engine runs: a bundle's description beside that engine's own files."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, Literal

import msgspec
import torch

from transduce.base.config import Settings
from transduce.base.devices import find_device
from transduce.base.errors import CheckpointError
from transduce.base.ranges import PositiveInt
from transduce.base.verification import check_unchanged, checksums, read_json
from transduce.bundle.bundle_config import BundleConfig, read_config
from transduce.bundle.model_bundle import (
    EXPORT,
    Marks,
    ModelBundle,
    find_bundle,
    marks_of,
    read_history,
    read_tokenizers,
)
from transduce.corpora.directions import Direction
from transduce.inference.engines.engine_table import ENGINES, packages
from transduce.text.tokenizer import Tokenizers

FORMAT = 2  # in 1, the end token had to be added to each source by the caller

Quantization = Literal["float32", "float16", "bfloat16", "int16", "int8", "int8_float16", "int8_bfloat16"]


class Parity(Settings, frozen=True):
    """Comparison of the exported model's greedy outputs to those of the model it was made from."""

    sentences: int
    """Number of sentences translated by both."""
    identical: int
    """Number of outputs that are the same, token by token."""
    largest_difference: float
    """The largest difference of log-probabilities of an output that is the same, in nats; 0 if none is."""


NOT_COMPARED = Parity(sentences=0, identical=0, largest_difference=0.0)
"""The comparison with no model that it was made from."""


class Export(Settings, frozen=True):
    """The facts in `export.json`."""

    format: int
    """Version of the folder's layout."""
    engine: Literal["ctranslate2", "fxtranslate", "phrases"]
    """The engine that runs it."""
    version: str
    """The engine's version that wrote it."""
    quantization: Quantization
    """The type in which its weights are stored."""
    longest: PositiveInt | None
    """The most tokens of a source or an output, the end token included; None for no limit."""
    parity: Parity
    """The comparison made when it was exported."""
    sha256: dict[str, str]
    """SHA-256 of each of the folder's other files."""

    @staticmethod
    def write(
        folder: Path,
        engine: Literal["ctranslate2", "fxtranslate", "phrases"],
        version: str,
        quantization: Quantization = "float32",
        longest: int | None = None,
        parity: Parity = NOT_COMPARED,
    ) -> "Export":
        """Writes the facts of a folder that has all its other files, and returns them."""
        export = Export(
            format=FORMAT,
            engine=engine,
            version=version,
            quantization=quantization,
            longest=longest,
            parity=parity,
            sha256=checksums(folder),
        )
        (folder / EXPORT).write_bytes(msgspec.json.format(msgspec.json.encode(export)))
        return export


@dataclass(frozen=True)
class ExportedModel:
    """A model that an engine other than PyTorch runs, with its tokenizers and settings."""

    folder: Path
    device: torch.device
    export: Export
    config: BundleConfig
    tokenizers: Tokenizers
    history: dict[str, Any]

    @property
    def marks(self) -> Marks:
        """The tokens that mark the chosen direction; InputError if one must be chosen first."""
        return marks_of(self.tokenizers, self.config)

    def directed(self, direction: Direction) -> "ExportedModel":
        """Returns the same model with a direction chosen; see `BundleConfig.find_direction`."""
        return replace(self, config=self.config.directed(direction))

    @staticmethod
    def load(folder: Path, device: str | torch.device = "cpu") -> "ExportedModel":
        """Reads and verifies a folder; raises CheckpointError for one that is not whole."""
        export = _read_export(folder)
        check_unchanged(folder, export.sha256)
        config = read_config(folder)
        own = ENGINES[export.engine].tokenizers
        tokenizers = read_tokenizers(folder, config) if own is None else resolve_name(own)(folder)
        return ExportedModel(folder, torch.device(device), export, config, tokenizers, read_history(folder))


@dataclass(frozen=True)
class ThroughThird:
    """Two models that translate through a third language; see inference/pivot.py."""

    config: BundleConfig
    """The settings of the second model, with the source language of the first."""
    tokenizers: Tokenizers
    """The source's of the first, the target's of the second."""
    history: dict[str, Any] = field(default_factory=dict)

    @property
    def marks(self) -> Marks:
        """No tokens of languages: each model has its own."""
        return Marks()

    def directed(self, direction: Direction) -> "ThroughThird":
        """Returns the same models, which have one direction."""
        return self


Model = ModelBundle | ExportedModel
"""A model that is in a folder."""


def open_model(path: str | Path, device: str = "auto") -> Model:
    """Opens the folder of a model, a run, or an exported model, or a package of Argos Translate.

    The device `auto` is the cpu for a model of another engine.

    Raises CheckpointError if it is not whole, ConfigError for a device that is not there, InputError for a package with
    what is not supported.
    """
    path = Path(path)
    folder = packages().unpacked(path) if packages().is_package(path) else find_bundle(path)
    if (folder / EXPORT).exists():
        return ExportedModel.load(folder, find_device("cpu" if device == "auto" else device))
    return ModelBundle.load(folder, find_device(device))


def open_tokenizers(path: Path) -> Tokenizers:
    """Reads the tokenizers of a model, a run, or an exported model without its weights; raises as `open_model` does."""
    folder = find_bundle(path)
    if (folder / EXPORT).exists():
        return ExportedModel.load(folder).tokenizers
    return read_tokenizers(folder, read_config(folder))


def _read_export(folder: Path) -> Export:
    path = folder / EXPORT
    facts = read_json(path, dict[str, Any])
    try:
        if facts["format"] != FORMAT:
            raise CheckpointError(
                f"{path} has format {facts['format']}, but this Transduce reads {FORMAT}; export the model again, or "
                "install the Transduce that wrote it"
            )
        export = msgspec.convert(facts, Export)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is damaged ({error}); copy the model again") from None
    if missing := {"config.toml", *ENGINES[export.engine].weights} - export.sha256.keys():
        raise CheckpointError(f"{path} is damaged (no checksum of {min(missing)}); copy the model again")
    return export
