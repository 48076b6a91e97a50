"""Opens what `evaluate` and `compare` measure: models or finished outputs, and a test set for them."""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from transduce.cli.model import open_translator
from transduce.errors import InputError
from transduce.inference.precision import InferencePrecision
from transduce.inference.translator import Translator
from transduce.text.datasets import open_split
from transduce.text.formats import parallel_files, read_lines
from transduce.text.registry import find_dataset

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
        if (self.dataset is None) == (self.reference is None) or (self.source is not None and self.reference is None):
            raise InputError("give either --source and --reference, or --dataset")
        if self.dataset is None and (self.split or self.direction):
            raise InputError("--split and --direction are for a --dataset, not for --reference")

    def open(self, systems: Iterable[System]) -> "TestSet":
        """Read the test set; a data set's direction is that of the models, which must agree."""
        if self.dataset is None:
            assert self.reference is not None
            if self.source is None:
                return TestSet(None, list(read_lines(self.reference)))
            corpus = parallel_files([self.source, self.reference])
        else:
            split = self.split or find_dataset(self.dataset).test
            if split is None:
                raise InputError(f"{self.dataset} has no test set; choose another part with --split")
            corpus = open_split(self.dataset, split, *self._languages(systems))
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
            raise InputError("outputs do not tell their languages; say --direction, as de-en")
        if len(directions) > 1:
            found = " and ".join("-".join(direction) for direction in directions)
            raise InputError(f"the models translate {found}, which no test set serves; say --direction if one is meant")
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
            print(f"transduce: {path} writes lower case only; --lowercase would score it fairly", file=sys.stderr)
