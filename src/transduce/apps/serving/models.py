"""The models of a server, which are replaced while it runs."""

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.apps.serving.batching import Batcher
from transduce.apps.serving.pivot_batcher import PivotBatcher
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.corpora.directions import Direction
from transduce.corpora.language_detector import DETECTION
from transduce.inference.pivot import Pivot
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

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
    engine: str
    """The engine that runs plain beams."""
    legs: "tuple[ServedModel, ...]" = ()
    """The two models that translate one after the other, through a third language; none for a model of its own."""
    lease: object = None
    """Keeps the thread of the batcher; it ends when nobody has the model, or another of the same batcher, any more."""

    @property
    def through(self) -> str | None:
        """The language between, of two models; None for a model of its own."""
        return self.legs[0].target if self.legs else None

    @property
    def name(self) -> str:
        """The name of the model's folder, or of its run."""
        if self.legs:
            return " + ".join(dict.fromkeys(leg.name for leg in self.legs))
        path = Path(self.folder).absolute()
        return path.parent.name if path.name == "model" else path.name


class _Lease:
    """Ends a batcher when nobody has the lease any more, after its queued work."""

    def __init__(self, batcher: Batcher) -> None:
        self.batcher = batcher

    def __del__(self) -> None:
        self.batcher.close()


class Models:
    """Models by their languages; new ones are loaded beside those that they replace."""

    def __init__(self, folders: Sequence[str], load: Load, metrics: Metrics) -> None:
        self.folders = folders
        """The folders of the models, as they were given."""
        self._load = load
        self._metrics = metrics
        self._reloading = threading.Lock()
        self._models = self._load_all()

    @property
    def all(self) -> list[ServedModel]:
        """All models, in the order of their folders."""
        return list(self._models)

    def reload(self) -> None:
        """Loads all folders again and verifies them; requests in progress keep their models.

        Raises TransduceError if one cannot be loaded; then all models stay.
        """
        with self._reloading:
            self._models = self._load_all()

    def close(self) -> None:
        """Ends the threads of all models, each after its requests; the result of a batch in progress is lost."""
        self._models = []

    def translator(self, source: str, target: str) -> Translator | None:
        """Returns the translator of a direction that one model serves now; None without one."""
        models = [model for model in self._models if (model.source, model.target) == (source, target)]
        return models[0].translator if models and not models[0].legs else None

    def own_languages(self) -> Iterator[str]:
        """Yields the profiles that models have of languages which only they know."""
        for model in self._models:
            own = model.translator.bundle.history.get(DETECTION)
            yield from filter(lambda one: isinstance(one, str), own.values() if isinstance(own, dict) else ())

    def find(self, source: str, target: str) -> ServedModel:
        """Returns the model of a direction; RefusedError (400) without one."""
        model = next((model for model in self._models if (model.source, model.target) == (source, target)), None)
        if model is None:
            raise RefusedError(
                400, f"{source[:20]!r} to {target[:20]!r} is not supported; GET /languages lists what is"
            )
        return model

    def _load_all(self) -> list[ServedModel]:
        translators: dict[Direction, tuple[str, Translator]] = {}
        for folder in self.folders:
            translator = self._load(folder)
            config = translator.bundle.config
            single = Direction(config.source, config.target)
            for direction in [single] if config.languages is None else config.languages.trained:
                if direction in translators:
                    raise InputError(f"{translators[direction][0]} and {folder} both translate {direction}; serve one")
                translators[direction] = (folder, translator)
        leases = {folder: _Lease(Batcher(translator, self._metrics)) for folder, translator in translators.values()}
        models = [
            ServedModel(
                folder,
                direction.source,
                direction.target,
                leases[folder].batcher,
                translator.directed(direction.target, direction.source),
                translator.engine.describe(Beam()),  # now, so that no request waits for what an engine makes first
                lease=leases[folder],
            )
            for direction, (folder, translator) in translators.items()
        ]
        return [*models, *_pivots(models)]


def _pivots(models: Sequence[ServedModel]) -> list[ServedModel]:
    """Returns each direction that no model has, but two of different folders have one after the other."""
    from_language: defaultdict[str, list[ServedModel]] = defaultdict(list)
    for model in models:
        from_language[model.source].append(model)
    pivots: list[ServedModel] = []
    served = {(model.source, model.target) for model in models}
    for first in models:
        for second in from_language[first.target]:
            direction = (first.source, second.target)
            if first.folder == second.folder or first.source == second.target or direction in served:
                continue
            served.add(direction)
            pivot = Pivot(first.translator, second.translator)
            batcher = PivotBatcher(pivot, first.batcher, second.batcher)
            engine = f"{first.engine}, then {second.engine}"
            pivots.append(ServedModel(first.folder, *direction, batcher, pivot, engine, (first, second)))
    return pivots
