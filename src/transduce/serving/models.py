"""The models that a server has, and how they are replaced while it works."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from transduce.errors import InputError
from transduce.inference.translator import Translator
from transduce.serving.batching import Batcher
from transduce.serving.failures import RefusedError
from transduce.serving.metrics import Metrics

Load = Callable[[str], Translator]


@dataclass
class ServedModel:
    """A model at work."""

    folder: str
    source: str
    target: str
    batcher: Batcher
    users: int = 0
    """Requests that have it."""
    is_retired: bool = False


class Models:
    """Models by their languages; those that replace others are loaded beside them first."""

    def __init__(self, folders: Sequence[str], load: Load, metrics: Metrics) -> None:
        self._folders = folders
        self._load = load
        self._metrics = metrics
        self._lock = threading.Lock()
        self._reloading = threading.Lock()
        self._models = self._load_all()

    @property
    def all(self) -> list[ServedModel]:
        """In the order in which they were named."""
        return list(self._models)

    def reload(self) -> None:
        """Load all folders anew and verify them; requests that have begun keep the models that they have.

        Raises TransduceError where one cannot be loaded, and then all stays as it is.
        """
        with self._reloading:
            new = self._load_all()
            with self._lock:
                old, self._models = self._models, new
                for model in old:
                    model.is_retired = True
                    _close_unused(model)

    @contextmanager
    def use(self, source: str, target: str) -> Iterator[ServedModel]:
        """The model for two languages while a request needs it; RefusedError (400) where there is none."""
        with self._lock:
            model = next((one for one in self._models if (one.source, one.target) == (source, target)), None)
            if model is None:
                raise RefusedError(
                    400, f"{source[:20]!r} to {target[:20]!r} is not supported; GET /languages tells what is"
                )
            model.users += 1
        try:
            yield model
        finally:
            with self._lock:
                model.users -= 1
                _close_unused(model)

    def _load_all(self) -> list[ServedModel]:
        translators: dict[tuple[str, str], tuple[str, Translator]] = {}
        for folder in self._folders:
            translator = self._load(folder)
            config = translator.bundle.config
            pair = (config.source, config.target)
            if pair in translators:
                raise InputError(f"{translators[pair][0]} and {folder} both translate {'-'.join(pair)}; serve one")
            translators[pair] = (folder, translator)
        return [
            ServedModel(folder, *pair, Batcher(translator, self._metrics))
            for pair, (folder, translator) in translators.items()
        ]


def _close_unused(model: ServedModel) -> None:
    if model.is_retired and not model.users:
        model.batcher.close()
