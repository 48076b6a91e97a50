"""The models that a server has, and how they are replaced while it works."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from transduce.corpora.directions import Direction
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
    translator: Translator
    """The translator from source to target; models of several directions share their batcher."""
    users: int = 0
    """The number of requests that use it."""
    is_retired: bool = False

    @property
    def name(self) -> str:
        """The name of the model's folder, or of its run."""
        path = Path(self.folder).absolute()
        return path.parent.name if path.name == "model" else path.name


class Models:
    """Models by their languages; new ones are loaded beside those that they replace."""

    def __init__(self, folders: Sequence[str], load: Load, metrics: Metrics) -> None:
        self._folders = folders
        self._load = load
        self._metrics = metrics
        self._lock = threading.Lock()
        self._reloading = threading.Lock()
        self._models = self._load_all()

    @property
    def all(self) -> list[ServedModel]:
        """All models, in the order in which they were named."""
        return list(self._models)

    def reload(self) -> None:
        """Loads all folders anew and verifies them; requests that have begun keep the models that they have.

        Raises TransduceError where one cannot be loaded, and then all stays as it is.
        """
        with self._reloading:
            new = self._load_all()
            with self._lock:
                old, self._models = self._models, new
                for model in old:
                    model.is_retired = True
                _close_unused(old)

    def close(self) -> None:
        """Ends the threads of all, each after its requests; the result of a batch that is being searched is lost."""
        with self._lock:
            for model in self._models:
                model.is_retired = True
            _close_unused(self._models)

    @contextmanager
    def use(self, source: str, target: str) -> Iterator[ServedModel]:
        """Yields the model for two languages while a request needs it; RefusedError (400) if there is none."""
        with self._lock:
            model = next((one for one in self._models if (one.source, one.target) == (source, target)), None)
            if model is None:
                raise RefusedError(
                    400, f"{source[:20]!r} to {target[:20]!r} is not supported; GET /languages tells what is"
                )
            model.users += 1
            siblings = [one for one in self._models if one.batcher is model.batcher]
        try:
            yield model
        finally:
            with self._lock:
                model.users -= 1
                _close_unused(siblings)

    def _load_all(self) -> list[ServedModel]:
        translators: dict[Direction, tuple[str, Translator]] = {}
        for folder in self._folders:
            translator = self._load(folder)
            config = translator.bundle.config
            single = Direction(config.source, config.target)
            for direction in [single] if config.languages is None else config.languages.trained:
                if direction in translators:
                    raise InputError(f"{translators[direction][0]} and {folder} both translate {direction}; serve one")
                translators[direction] = (folder, translator)
        batchers = {folder: Batcher(translator, self._metrics) for folder, translator in translators.values()}
        return [
            ServedModel(
                folder,
                direction.source,
                direction.target,
                batchers[folder],
                translator.directed(direction.target, direction.source),
            )
            for direction, (folder, translator) in translators.items()
        ]


def _close_unused(models: Sequence[ServedModel]) -> None:
    """Closes what retired models share, if no request uses any of them."""
    retired = [model for model in models if model.is_retired]
    for batcher in {id(model.batcher): model.batcher for model in retired}.values():
        if not any(model.users for model in retired if model.batcher is batcher):
            batcher.close()
