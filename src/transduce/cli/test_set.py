"""Opens what `evaluate` and `compare` measure: models or finished outputs, and a test set for them."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transduce.bundle import is_model
from transduce.bundle_config import BundleConfig
from transduce.cli.model import open_translator
from transduce.corpora.catalogue.download import announce
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.directions import MANY, Direction
from transduce.corpora.formats import parallel_files, read_lines
from transduce.corpora.splits import open_split, open_splits
from transduce.errors import InputError
from transduce.experiment.recipe import Recipe, recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.inference.translator import Translator

FOR_DATASETS = "--split and --direction are for a --dataset; give one, or leave them out"

System = Translator | list[str]
"""A model, or finished outputs."""


@dataclass(frozen=True)
class TestSetOptions:
    """Options that name a test set; raises InputError for options that do not go together."""

    source: str | None
    reference: str | None
    dataset: str | None
    split: str | None
    direction: str | None

    def __post_init__(self) -> None:
        if self.source is not None and self.reference is None:
            raise InputError("--source goes with --reference: give both, or --dataset")
        if self.dataset is not None and self.reference is not None:
            raise InputError("--dataset and --reference exclude each other; leave one of them out")
        if self.dataset is None and self.split:
            raise InputError(FOR_DATASETS)

    def directions_of(self, model: str, system: Translator) -> list[Direction]:
        """Returns the directions in which a model of several is tested: the one that is named, else all that it was
        trained in and there is a test set for.

        Raises InputError where none is named for files, or there is no test set of any.
        """
        languages = system.bundle.config.languages
        assert languages is not None
        if self.direction is not None:
            source, target = self._languages([])
            return [languages.find(target, source)]
        if self.reference is not None:
            raise InputError(f"{model} translates in several directions; say which with --direction, such as de-en")
        if self.dataset is not None:
            known = find_dataset(self.dataset).languages
            found = [one for one in languages.trained if {one.source, one.target} <= set(known)]
        else:
            recipe = recipe_of(Path(model))
            found = [] if recipe is None else _tested_directions(recipe)
        if not found:
            raise InputError(f"{model}: there is no test set in any of its directions; give --dataset, or files")
        return found

    def directed(self, systems: Mapping[str, System]) -> dict[str, System]:
        """Returns the same systems, models of several directions in the named one, or that of the other models."""
        if not any(is_many(system) for system in systems.values()):
            return dict(systems)
        source, target = self._languages(systems.values())
        return {
            name: system.directed(target, source) if isinstance(system, Translator) else system
            for name, system in systems.items()
        }

    def open(self, systems: Mapping[str, System]) -> "TestSet":
        """Reads the test set, by default that of the models' runs; a data set's direction is that of the models.

        Raises InputError for models that do not agree.
        """
        are_many = any(isinstance(one, Translator) and one.bundle.config.languages for one in systems.values())
        if self.direction is not None and self.dataset is None and not are_many:
            raise InputError(FOR_DATASETS)
        if self.dataset is not None:
            split = self.split or find_dataset(self.dataset).test
            if split is None:
                raise InputError(f"{self.dataset} has no test set; choose another part with --split")
            corpus = open_split(self.dataset, split, *self._languages(systems.values()))
        elif self.reference is None:
            models = {name: one.bundle.config for name, one in systems.items() if isinstance(one, Translator)}
            corpus = _own_test_set(models)
        elif self.source is None:
            return TestSet(None, list(read_lines(self.reference)))
        else:
            corpus = parallel_files([self.source, self.reference])
        pairs = list(corpus)
        return TestSet([pair.source for pair in pairs], [pair.target for pair in pairs])

    def _languages(self, systems: Iterable[System]) -> tuple[str, str]:
        if self.direction is not None:
            source, _, target = self.direction.partition("-")
            if not source or not target:
                raise InputError(f"--direction {self.direction}: expected two languages, as de-en")
            return source, target
        configs = [system.bundle.config for system in systems if isinstance(system, Translator)]
        directions = sorted({(config.source, config.target) for config in configs if config.target != MANY})
        if not directions and configs:
            raise InputError("the models translate in several directions; choose one with --direction, such as de-en")
        if not directions:
            raise InputError("give the languages of the outputs with --direction, such as de-en")
        if len(directions) > 1:
            found = " and ".join("-".join(direction) for direction in directions)
            raise InputError(f"the models translate in different directions ({found}); choose one with --direction")
        return directions[0]


@dataclass(frozen=True)
class TestSet:
    """A test set's texts, aligned line by line."""

    sources: list[str] | None
    """The sources; None if only references were given, enough for finished outputs."""
    references: list[str]

    def to_translate(self) -> list[str]:
        """The sources, which a model needs; InputError if there are none."""
        if self.sources is None:
            raise InputError("--source is missing: the text that --reference translates")
        return self.sources


def _tested_directions(recipe: Recipe[Any]) -> list[Direction]:
    """Lists the directions that a run has test data for."""
    data = recipe.config.data
    splits = open_splits(data, recipe.folder, announce(_tell))
    if splits.directions:
        return [direction for direction, own in splits.directions.items() if own.test is not None]
    return [] if splits.test is None else [Direction(data.source, data.target)]


def is_many(system: System) -> bool:
    """Returns True if a system is a model of several directions, of which none is chosen."""
    return isinstance(system, Translator) and system.bundle.config.target == MANY


def _own_test_set(models: Mapping[str, BundleConfig]) -> ParallelCorpus:
    """Opens the test set of the models' runs, and says so on standard error; InputError unless there is one."""
    ask = "give --dataset, or --source and --reference"
    if not models:
        raise InputError(f"no test set given; {ask}")
    found: list[ParallelCorpus] = []
    for model, config in models.items():
        recipe = recipe_of(Path(model))
        if recipe is None:
            raise InputError(f"{model} is not in a run's folder, so it has no test set of its own; {ask}")
        splits = open_splits(recipe.config.data, recipe.folder, announce(_tell))
        test = splits.directions.get(Direction(config.source, config.target), splits).test
        if test is None:
            raise InputError(f"the run of {model} has no test set; {ask}")
        found.append(test)
    if len({test.content() for test in found}) > 1:
        raise InputError(f"the runs have different test sets; {ask}")
    _tell(f"the test set is the run's own: {found[0].name}")
    return found[0]


def _tell(line: str) -> None:
    print(f"transduce: {line}", file=sys.stderr)


def open_system(path: str, device: str, precision: InferencePrecision, shortlist: bool | str = False) -> System:
    """Opens a model's or run's folder, or a ZIP file of one, as a translator, another file (or -) as its outputs."""
    if path == "-" or (Path(path).is_file() and not is_model(path)):
        return list(read_lines(path))
    if not is_model(path):
        raise InputError(f"{path}: no such model; expected the folder of a model or of a run, or a file of outputs")
    return open_translator(path, device, precision, shortlist=shortlist)


def warn_of_case(path: str, system: System, lowercase: bool) -> None:
    """Warns on standard error if cased scores are asked of a model that writes lower case alone."""
    if isinstance(system, Translator) and not lowercase and system.bundle.config.tokenizer.of_target.lowercase:
        _tell(f"{path} writes lower case only; --lowercase would score it fairly")
