"""The table of engines beside PyTorch: what they are called, and the modules that run models exported for them."""

from dataclasses import dataclass
from importlib import import_module
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


_ENGINES = "transduce.inference.engines"
ENGINES = {
    "ctranslate2": EngineEntry(
        "CTranslate2", f"{_ENGINES}.ctranslate2.engine:open_engine", "ctranslate2", weights=frozenset({"model.bin"})
    ),
    "fxtranslate": EngineEntry(
        "fxtranslate",
        f"{_ENGINES}.firefox.engine:open_engine",
        "firefox",
        tokenizers=f"{_ENGINES}.firefox.files:read_tokenizers",
    ),
    "phrases": EngineEntry("phrases", f"{_ENGINES}.phrases:open_engine"),
}


def automatic_form() -> Any:
    """Imports and returns the module of the form that `auto` makes of a model by itself; see automatic.py."""
    return import_module(f"{_ENGINES}.ctranslate2.kept")


def packages() -> Any:
    """Imports and returns the module that reads packages of Argos Translate, with `is_package` and `unpacked`."""
    return import_module(f"{_ENGINES}.ctranslate2.package")
