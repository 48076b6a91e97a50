"""Every bad input is answered in one line that helps: no traceback, no hang, nothing accepted in silence."""

import re
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import click
import pytest

from bad_inputs.harness import fastest_place, outcomes_of
from bad_inputs.outcome import Outcome, describe
from bad_inputs.row import Row
from bad_inputs.tables import ROWS
from transduce.apps.cli.main import app
from transduce.corpora.compression import COMPRESSED
from transduce.corpora.formats import PAIR_FORMATS

pytestmark = pytest.mark.slow

SGML = ".sgm"
UNREAD = {"README.md"}
"""What stands in folders of models and runs, and is not read."""
REFUSED = ".refused"
"""The ending of a note, named by a model's hash, of which each content is a reason."""
CACHES = {"doctored", "held-out", "overlaps", "plans", "stores"}
"""Folders of the cache whose files are taken for absent where they are damaged."""


def _can_run(row: Row) -> bool:
    """Whether the libraries are here that a row needs."""
    command, damaged = " ".join(row.command), " ".join(damage.path for damage in row.damages)
    needed = ["ctranslate2"] * (("export" in command and "huggingface" not in command) or "exported" in damaged)
    if re.search("marian|opus", f"{command} {damaged}"):
        needed += ["transformers", "sentencepiece"]
    if "firefox" in f"{command} {damaged}":
        needed.append("sentencepiece")
    return all(find_spec(library) is not None for library in needed)


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A place for rows, and for the folder that they begin with."""
    with tempfile.TemporaryDirectory(dir=fastest_place(), ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[int, Outcome]:
    """What became of each row, by its number."""
    return outcomes_of([number for number, row in enumerate(ROWS) if _can_run(row)], folder)


def test_every_bad_input_is_answered_as_its_row_says(outcomes: dict[int, Outcome]) -> None:
    wrong = [told for number, outcome in outcomes.items() if (told := describe(ROWS[number], outcome))]
    assert not wrong, "\n\n".join([f"{len(wrong)} of {len(outcomes)} rows:", *wrong])


def test_every_verb_has_rows() -> None:
    commands = [" ".join(row.command) + " " for row in ROWS]
    assert not [verb for verb in _verbs(app) if not any(c.startswith(verb) for c in commands)]


def test_every_format_of_text_has_rows() -> None:
    names = [damage.path for row in ROWS for damage in row.damages] + [word for row in ROWS for word in row.command]
    endings = {ending for name in names for ending in re.findall(r"\.\w+", name)}
    assert not {*PAIR_FORMATS, *COMPRESSED, SGML} - endings


def test_every_file_that_the_program_writes_has_rows(outcomes: dict[int, Outcome], folder: Path) -> None:
    files = [path for path in (folder / "world").glob("*/**/*") if path.is_file()]
    written = {
        path.name
        for path in files
        if path.suffix != REFUSED and not CACHES.intersection(path.parts) and not path.name.endswith(".lock")
    }
    damaged = {Path(damage.path).name for row in ROWS for damage in row.damages}
    assert sorted(written - damaged - UNREAD) == []


def _verbs(command: click.Command, words: str = "") -> Iterator[str]:
    """Each verb as it is written, with a space after it."""
    inside = app.all_commands() if command is app else getattr(command, "commands", {})
    if not inside:
        yield words
    for name, each in inside.items():
        yield from _verbs(each, f"{words}{name} ")
