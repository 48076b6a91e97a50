"""What a run learns from, recorded when it begins: it goes on only with the same."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

from transduce.bundle import find_bundle
from transduce.config import Settings
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.splits import Splits
from transduce.errors import CheckpointError, DataError
from transduce.experiment.recipe import Recipe
from transduce.files import sha256, write_text
from transduce.probe import read_probe
from transduce.verification import read_json

FILE = "inputs.json"
VALIDATION = "data.validation"


class Input(Settings, frozen=True):
    """Something that a run learns from, is validated or tested on, or starts from."""

    setting: str
    """What names it."""
    name: str
    """The files, the data set's split, or the folder."""
    content: str
    """A hash that changes when it does."""


def find_inputs(recipe: Recipe, splits: Splits) -> list[Input]:
    """All that a run learns from. Files that are not there are left out: what needs them says so.

    Training data come last: filters on them may hold a hash of what is held out, whose change is to be told first.
    """
    held_out = [(VALIDATION, splits.validation), ("data.test", splits.test)]
    training = [(f"data.train {number}", entry.corpus) for number, entry in enumerate(splits.train, 1)]
    return [
        *_tokenizer_files(recipe),
        *_start(recipe),
        *(corpus_input(setting, corpus) for setting, corpus in held_out + training if corpus is not None),
    ]


def corpus_input(setting: str, corpus: ParallelCorpus) -> Input:
    """A corpus as an input."""
    return Input(setting=setting, name=corpus.name, content=corpus.content())


def record_inputs(run: Path, inputs: Sequence[Input]) -> None:
    """Write them into the run's folder."""
    write_text(run / FILE, msgspec.json.format(msgspec.json.encode(inputs)).decode())


def check_inputs(run: Path, inputs: Sequence[Input], tell: Callable[[str], None] = lambda line: None) -> None:
    """Raise DataError for the first that is not what the run was begun with; tells where there is no record of that."""
    path = run / FILE
    if not path.exists():
        tell(f"there is no {path}: whether the data are what the run was begun with is not known")
        return
    advice = "remove it to go on without knowing whether the data are what they were"
    before = {each.setting: each.content for each in read_json(path, list[Input], advice)}
    for each in inputs:
        if before.get(each.setting, each.content) != each.content:
            raise DataError(
                f"{each.name} ({each.setting}) is not what {run} was begun with: its contents have changed; put back "
                f"what it was, or train in another folder, with training.start_from = '{run}' to begin from its model"
            )


def _tokenizer_files(recipe: Recipe) -> Iterator[Input]:
    config = recipe.config.tokenizer
    for name, side in (("tokenizer", config), ("tokenizer.source", config.source), ("tokenizer.target", config.target)):
        if side is not None and side.file is not None and (path := recipe.folder / side.file).is_file():
            yield Input(setting=f"{name}.file", name=str(path), content=sha256(path))


def _start(recipe: Recipe) -> Iterator[Input]:
    if recipe.config.training.start_from is not None:
        path = recipe.folder / recipe.config.training.start_from
        with suppress(CheckpointError):
            checksums = json.dumps(read_probe(find_bundle(path)).sha256, sort_keys=True)
            content = hashlib.sha256(checksums.encode()).hexdigest()
            yield Input(setting="training.start_from", name=str(path), content=content)
