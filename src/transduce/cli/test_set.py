"""Opens what `evaluate` and `compare` measure: models or finished outputs, and a test set for them."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.cli.model import open_translator
from transduce.corpora.catalogue.download import announce
from transduce.corpora.catalogue.registry import find_dataset
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.formats import parallel_files, read_lines
from transduce.corpora.splits import open_split, open_splits
from transduce.errors import InputError
from transduce.experiment.recipe import recipe_of
from transduce.inference.engines.precision import InferencePrecision
from transduce.inference.translator import Translator

System = Translator | list[str]
"""A model, or outputs that are there already."""


@dataclass(frozen=True)
class TestSetOptions:
    """Which test set the command line names; raises InputError for options that do not go together."""

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
        if self.dataset is None and (self.split or self.direction):
            raise InputError("--split and --direction are for a --dataset; give one, or leave them out")

    def open(self, systems: Mapping[str, System]) -> "TestSet":
        """Read the test set, by default that of the models' runs; a data set's direction is that of the models.

        Raises InputError for models that do not agree.
        """
        if self.dataset is not None:
            split = self.split or find_dataset(self.dataset).test
            if split is None:
                raise InputError(f"{self.dataset} has no test set; choose another part with --split")
            corpus = open_split(self.dataset, split, *self._languages(systems.values()))
        elif self.reference is None:
            corpus = _own_test_set([name for name, system in systems.items() if isinstance(system, Translator)])
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
        directions = sorted({(config.source, config.target) for config in configs})
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
    """None where only references were given, enough for finished outputs."""
    references: list[str]

    def to_translate(self) -> list[str]:
        """The sources, of which a model has need; InputError if there are none."""
        if self.sources is None:
            raise InputError("--source is missing: the text that --reference translates")
        return self.sources


def _own_test_set(models: Sequence[str]) -> ParallelCorpus:
    """The test set of the runs that models stand in, which is told on standard error; InputError unless it is one."""
    ask = "give --dataset, or --source and --reference"
    if not models:
        raise InputError(f"no test set given; {ask}")
    found: list[ParallelCorpus] = []
    for model in models:
        recipe = recipe_of(Path(model))
        if recipe is None:
            raise InputError(f"{model} is not in a run's folder, so it has no test set of its own; {ask}")
        test = open_splits(recipe.config.data, recipe.folder, announce(_tell)).test
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
    """A model's or run's folder as a translator, a file (or -, standard input) as the outputs it holds."""
    if path == "-" or Path(path).is_file():
        return list(read_lines(path))
    if not Path(path).is_dir():
        raise InputError(f"{path}: no such model; expected the folder of a model or of a run, or a file of outputs")
    return open_translator(path, device, precision, shortlist=shortlist)


def warn_of_case(path: str, system: System, lowercase: bool) -> None:
    """Say so on standard error if cased scores are asked of a model that writes lower case alone."""
    if isinstance(system, Translator) and not lowercase:
        tokenizer = system.bundle.config.tokenizer
        if (tokenizer.target or tokenizer).lowercase:
            _tell(f"{path} writes lower case only; --lowercase would score it fairly")
