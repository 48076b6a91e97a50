"""The inputs of a run, recorded when it begins; it resumes only with the same ones."""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from transduce.base.errors import CheckpointError, DataError
from transduce.base.files import sha256, write_text
from transduce.base.verification import read_json
from transduce.bundle.model_bundle import find_bundle
from transduce.bundle.probe import read_probe
from transduce.experiment.recipe import Recipe
from transduce.tasks.task import Experiment, Input

FILE = "inputs.json"


def find_inputs(recipe: Recipe[Any], experiment: Experiment) -> list[Input]:
    """Returns all inputs of a run, except missing files, which are reported when they are opened."""
    return [*_start(recipe), *experiment.inputs]


def record_inputs(run: Path, inputs: Sequence[Input]) -> None:
    """Writes the inputs into the run's folder."""
    write_text(run / FILE, msgspec.json.format(msgspec.json.encode(inputs)).decode())


def check_inputs(run: Path, inputs: Sequence[Input], tell: Callable[[str], None] = lambda line: None) -> None:
    """Raises DataError for the first input that has changed since the run began; reports if there is no record."""
    path = run / FILE
    if not path.exists():
        tell(f"{path} is missing: cannot check that the data are those the run was started with")
        return
    advice = "remove it to resume without this check"
    before = {each.setting: each.content for each in read_json(path, list[Input], advice)}
    for each in inputs:
        if before.get(each.setting, each.content) != each.content:
            raise DataError(
                f"{each.name} ({each.setting}): the contents have changed since {run} was started; restore them, or "
                f"train in another folder, with training.start_from = '{run}' to begin from its model"
            )


def _start(recipe: Recipe[Any]) -> Iterator[Input]:
    if recipe.config.training.start_from is not None:
        path = recipe.folder / recipe.config.training.start_from
        with suppress(CheckpointError):
            checksums = json.dumps(read_probe(find_bundle(path)).sha256, sort_keys=True)
            content = hashlib.sha256(checksums.encode()).hexdigest()
            yield Input(setting="training.start_from", name=str(path), content=content)
    words = recipe.config.training.new_words
    if words is not None and words.file is not None and (path := recipe.folder / words.file).is_file():
        yield Input(setting="training.new_words.file", name=str(path), content=sha256(path))
