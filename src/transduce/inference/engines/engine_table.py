"""The table of engines beside PyTorch: what they are called, and the modules that run models exported for them."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from typing import Any


@dataclass(frozen=True)
class EngineEntry:
    """A row of the table."""

    title: str
    """The engine's name for people."""
    place: str
    """Module and name of a function that returns the engine of an ExportedModel, given the name of the engine asked
    for; see engine.py."""
    form: str | None = None
    """The form of `transduce export` that makes its models; None for models that are learned for the engine."""
    tokenizers: str | None = None
    """Module and name of a function that reads the tokenizers in a folder; None if they are a bundle's."""
    weights: frozenset[str] = frozenset()
    """Files of weights that each of its models has."""

    def open(self, model: Any, asked: str | None) -> Any:
        """Imports the engine, and returns it for an exported model."""
        return resolve_name(self.place)(model, asked)


ENGINES = {
    "ctranslate2": EngineEntry(
        "CTranslate2",
        "transduce.apps.exchange.ctranslate2.ctranslate2_engine:open_engine",
        "ctranslate2",
        weights=frozenset({"model.bin"}),
    ),
    "fxtranslate": EngineEntry(
        "fxtranslate",
        "transduce.apps.exchange.firefox.fxtranslate_engine:open_engine",
        "firefox",
        tokenizers="transduce.apps.exchange.firefox.student_files:read_tokenizers",
    ),
    "phrases": EngineEntry("phrases", "transduce.inference.engines.phrase_engine:open_engine"),
}


def is_firefox(folder: Path) -> bool:
    """Returns True if a folder seems to hold a model of Firefox Translations, though it may still be compressed."""
    return folder.is_dir() and any(folder.glob("model.*.bin*"))


def automatic_form() -> Any:
    """Imports and returns the module of the form that `auto` makes of a model by itself; see automatic.py."""
    return import_module("transduce.apps.exchange.ctranslate2.kept")


def packages() -> Any:
    """Imports and returns the module that reads packages of Argos Translate, with `is_package` and `unpacked`."""
    return import_module("transduce.apps.exchange.ctranslate2.package")
