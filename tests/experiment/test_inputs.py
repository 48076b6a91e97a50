"""A run goes on only with what it learned from when it began."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

import transduce
from transduce.base.errors import DataError
from transduce.corpora import formats
from transduce.experiment import load_recipe

SHORT = ["training.updates=2", "checkpoint.every_updates=2", "search={size=1, max_extra=0}"]
LONGER = ["training.updates=4", "checkpoint.every_updates=2", "search={size=1, max_extra=0}"]


@pytest.fixture(scope="module")
def begun(corpus: Path, recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recipe, its corpus and its run, side by side."""
    folder = tmp_path_factory.mktemp("begun")
    shutil.copytree(corpus, folder, dirs_exist_ok=True)
    go(folder / recipe_file.name)
    return folder / recipe_file.name


@pytest.fixture
def own(begun: Path, tmp_path: Path) -> Path:
    """A copy of that for a test to change."""
    return Path(shutil.copytree(begun.parent, tmp_path / "begun")) / begun.name


@pytest.fixture
def new(own: Path) -> Path:
    """The recipe and its corpus, without a run."""
    shutil.rmtree(own.parent / "run")
    return own


def go(recipe: Path, *changes: str, resume: bool = False) -> list[str]:
    """Train beside the recipe; what was told."""
    lines: list[str] = []
    overrides = [*(LONGER if resume else SHORT), *changes]
    run = recipe.parent / "run"
    transduce.train(load_recipe(str(recipe), overrides), run, resume=resume, tell=lines.append)
    return lines


def refusal(recipe: Path, *changes: str) -> str:
    with pytest.raises(DataError) as caught:
        go(recipe, *changes, resume=True)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def swap_two_lines(file: Path) -> None:
    """A change that leaves the number of lines and bytes as it was."""
    first, second, *rest = file.read_text(encoding="utf-8").splitlines(keepends=True)
    assert first != second
    file.write_text("".join([second, first, *rest]), encoding="utf-8")


@pytest.mark.parametrize("file", ["train.en", "train.de", "dev.en", "test.de"])
def test_a_changed_file_is_an_error_that_names_it_and_says_what_to_do(own: Path, file: str) -> None:
    swap_two_lines(own.parent / file)
    told = refusal(own)
    assert str(own.parent / file) in told
    assert "restore them" in told and "training.start_from" in told


def test_when_a_file_is_put_back_the_run_goes_on(own: Path) -> None:
    before = (own.parent / "train.en").read_bytes()
    swap_two_lines(own.parent / "train.en")
    refusal(own)
    (own.parent / "train.en").write_bytes(before)
    assert "resuming after update 2" in go(own, resume=True)


def test_of_several_training_corpora_the_changed_one_is_named(new: Path) -> None:
    for name in ("en", "de"):
        shutil.copy(new.parent / f"test.{name}", new.parent / f"more.{name}")
    changes = ["data.train=[{files=['train.en', 'train.de']}, {files=['more.en', 'more.de']}]"]
    go(new, *changes)
    swap_two_lines(new.parent / "more.de")
    told = refusal(new, *changes)
    assert "more.de (data.train 2)" in told and "train.de" not in told


def test_where_held_out_text_is_left_out_of_training_its_change_is_reported_and_not_the_training_files(
    new: Path,
) -> None:
    changes = ["data.cleaning=[{kind='overlap'}]"]
    go(new, *changes)
    swap_two_lines(new.parent / "test.en")
    assert "test.en and " in refusal(new, *changes)


def test_a_changed_tokenizer_file_is_an_error_that_names_it_and_a_lost_one_is_none(new: Path) -> None:
    shared = load_recipe(str(new), [*SHORT, "tokenizer={kind='words', min_frequency=1}"])
    transduce.train(shared, new.parent / "first")
    shutil.copy(new.parent / "first" / "model" / "tokenizer.json", new.parent / "brought.json")
    changes = ["tokenizer={kind='file', file='brought.json'}"]
    go(new, *changes)
    path = new.parent / "brought.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"dog"', '"cog"'), encoding="utf-8")
    assert "brought.json (tokenizer.file)" in refusal(new, *changes)
    path.unlink()  # checkpoints have a copy
    assert "resuming after update 2" in go(new, *changes, resume=True)


def test_a_changed_model_to_start_from_is_an_error_that_names_it_and_a_lost_one_is_none(new: Path) -> None:
    changes = ["training.start_from=first"]
    for name, update in (("first", 1), ("other", 3)):
        transduce.train(load_recipe(str(new), [*SHORT, f"training.updates={update}"]), new.parent / name)
    go(new, *changes)
    shutil.rmtree(new.parent / "first")
    (new.parent / "other").rename(new.parent / "first")
    assert "first (training.start_from)" in refusal(new, *changes)
    shutil.rmtree(new.parent / "first")  # checkpoints have what was taken from it
    assert "resuming after update 2" in go(new, *changes, resume=True)


def test_a_run_that_keeps_no_checkpoint_yet_begins_anew_with_changed_files(own: Path) -> None:
    shutil.rmtree(own.parent / "run" / "checkpoints")
    shutil.rmtree(own.parent / "run" / "model")
    swap_two_lines(own.parent / "train.en")
    go(own, resume=True)
    assert "resuming after update 4" in go(own, resume=True)


def test_a_run_without_a_record_goes_on_and_says_that_nothing_is_known(own: Path) -> None:
    (own.parent / "run" / "inputs.json").unlink()
    assert any("inputs.json is missing: cannot check that the data are" in line for line in go(own, resume=True))


def test_the_record_says_what_was_learned_from(own: Path) -> None:
    record = msgspec.json.decode((own.parent / "run" / "inputs.json").read_bytes())
    settings = {each["setting"]: each["name"] for each in record}
    assert settings.keys() == {"data.train 1", "data.validation", "data.test"}
    assert "train.de" in settings["data.train 1"] and "dev.de" in settings["data.validation"]


def test_each_file_is_hashed_once_a_run(new: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    original = formats.sha256

    def counting(path: Path) -> str:
        hashed.append(path.name)
        return original(path)

    monkeypatch.setattr(formats, "sha256", counting)
    go(new, "data.cleaning=[{kind='overlap'}]")
    assert sorted(hashed) == ["dev.de", "dev.en", "test.de", "test.en", "train.de", "train.en"]


@pytest.mark.slow
def test_a_change_is_reported_once_where_several_processes_go_on(own: Path) -> None:
    swap_two_lines(own.parent / "train.de")
    run = ["--out", str(own.parent / "run"), "--resume", "--processes", "2", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "transduce", "train", str(own), *LONGER, *run],
        capture_output=True,
        text=True,
        timeout=300,
        env={name: value for name, value in os.environ.items() if name != "WORLD_SIZE"},
    )
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert "train.de (data.train 1): the contents have changed since " in line
