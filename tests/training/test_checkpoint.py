"""A checkpoint is gone on from as it was saved, or not at all; what lies beside it does no harm."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import transduce
from transduce.base.config import to_toml
from transduce.base.errors import CheckpointError
from transduce.experiment import average, load_recipe
from transduce.experiment.recipe import record
from transduce.training.checkpoint import best_checkpoints, whole_checkpoints
from transduce.training.run_summary import find_runs

OF_ONE_UPDATE = [
    "optimizer.safetensors",
    "progress.json",
    "bundle/weights.safetensors",
    "bundle/history.json",
    "bundle/probe.json",
]
FILES = [*OF_ONE_UPDATE, "bundle/config.toml", "bundle/source.json"]
LONGER = ["training.updates=34", "checkpoint.keep_last=3", "validation.every_updates=10"]


@pytest.fixture
def run(tiny_run: Path, tmp_path: Path) -> Path:
    """A copy of a finished run, whose newest checkpoint is 000030."""
    return Path(shutil.copytree(tiny_run, tmp_path / "run"))


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


def complaint(act: Callable[[], object]) -> str:
    with pytest.raises(CheckpointError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("file", FILES)
def test_a_run_does_not_go_on_from_a_file_with_a_flipped_bit(run: Path, recipe_file: Path, file: str) -> None:
    flip_a_bit(run / "checkpoints" / "000030" / file)
    told = complaint(lambda: transduce.train(load_recipe(str(recipe_file)), run, resume=True))
    wrong = "has changed since it was saved"
    assert f"checkpoints/000030/{file} {wrong}" in told
    assert "remove " in told and "to resume from an earlier one" in told


@pytest.mark.parametrize("file", OF_ONE_UPDATE)
def test_a_run_does_not_go_on_from_a_file_of_another_checkpoint(run: Path, recipe_file: Path, file: str) -> None:
    one, other = run / "checkpoints" / "000020", run / "checkpoints" / "000030"
    shutil.copy(one / file, other / file)
    told = complaint(lambda: transduce.train(load_recipe(str(recipe_file)), run, resume=True))
    wrong = "belongs to checkpoint 000020" if file == "progress.json" else "has changed since it was saved"
    assert f"checkpoints/000030/{file} {wrong}" in told


def test_a_bundle_of_another_checkpoint_is_not_taken_for_this_ones(run: Path, recipe_file: Path) -> None:
    shutil.rmtree(run / "checkpoints" / "000030" / "bundle")
    shutil.copytree(run / "checkpoints" / "000020" / "bundle", run / "checkpoints" / "000030" / "bundle")
    told = complaint(lambda: transduce.train(load_recipe(str(recipe_file)), run, resume=True))
    assert "000030/bundle/probe.json has changed since it was saved" in told


def test_a_copy_under_a_later_name_is_not_taken_for_a_later_checkpoint(run: Path, recipe_file: Path) -> None:
    shutil.copytree(run / "checkpoints" / "000020", run / "checkpoints" / "000040")
    told = complaint(lambda: transduce.train(load_recipe(str(recipe_file)), run, resume=True))
    assert "000040/progress.json belongs to checkpoint 000020" in told


def test_a_checkpoint_of_before_there_were_checksums_says_how_its_model_is_trained_on(
    run: Path, recipe_file: Path
) -> None:
    path = run / "checkpoints" / "000030" / "progress.json"
    path.write_bytes(msgspec.json.encode({"validation_cost": None, "position": {"update": 30}}))
    told = complaint(lambda: transduce.train(load_recipe(str(recipe_file)), run, resume=True))
    start = re.search(r"start a new run with training\.start_from = '(.*)'", told)
    assert start is not None and (Path(start[1]) / "probe.json").exists()


def test_a_damaged_checkpoint_is_not_averaged(run: Path, tmp_path: Path) -> None:
    flip_a_bit(run / "checkpoints" / "000020" / "bundle" / "weights.safetensors")
    told = complaint(lambda: average(run, last=2, out=tmp_path / "average"))
    assert "000020/bundle/weights.safetensors has changed since it was saved" in told
    assert not (tmp_path / "average").exists()
    assert average(run, last=1, out=tmp_path / "average").checkpoints == ["000030"]


def test_training_does_not_start_from_a_damaged_model(run: Path, recipe_file: Path, tmp_path: Path) -> None:
    flip_a_bit(run / "model" / "weights.safetensors")
    recipe = load_recipe(str(recipe_file), [f"training.start_from={run}"])
    assert "weights.safetensors has changed since it was saved" in complaint(
        lambda: transduce.train(recipe, tmp_path / "new")
    )
    assert not (tmp_path / "new").exists()


def litter(checkpoints: Path) -> list[Path]:
    """Odd things beside whole checkpoints: copies, files, what a crash or a hand left behind."""
    shutil.copytree(checkpoints / "000020", checkpoints / "000006.bak")
    shutil.copytree(checkpoints / "000020", checkpoints / "7")
    shutil.copytree(checkpoints / "000020", checkpoints / "0000020")
    shutil.copytree(checkpoints / "000020", checkpoints / "000015")
    (checkpoints / "000015" / "progress.json").write_text('{"position": nul')
    (checkpoints / "000016").mkdir()
    (checkpoints / "000016" / "progress.json").mkdir()
    (checkpoints / "tmp").mkdir()
    (checkpoints / "000017").write_text("a file")
    (checkpoints / "000500").write_text("a file")
    (checkpoints / "notes.txt").write_text("a file")
    (checkpoints / ".000019.swp").write_text("a file")
    return sorted(checkpoints.iterdir())


def test_odd_and_damaged_neighbours_of_the_newest_checkpoint_disturb_nothing(
    run: Path, recipe_file: Path, tmp_path: Path
) -> None:
    tidy = Path(shutil.copytree(run, tmp_path / "tidy"))
    there = litter(run / "checkpoints")
    for place in (tidy, run):
        (place / "experiment.toml").write_text(to_toml(record(load_recipe(str(recipe_file), LONGER), place)))
        transduce.train(load_recipe(str(recipe_file), LONGER), place, resume=True)
    last = "checkpoints/000034/bundle/weights.safetensors"
    assert (run / last).read_bytes() == (tidy / last).read_bytes()
    assert (run / "best.json").read_bytes() == (tidy / "best.json").read_bytes()
    assert [path.name for path in whole_checkpoints(run)] == [path.name for path in whole_checkpoints(tidy)]
    assert set(there) <= set((run / "checkpoints").iterdir())
    assert average(run, last=2).checkpoints == ["000030", "000034"]
    summary = next(found for found in find_runs(tmp_path) if found.run == str(run))
    assert (summary.state, summary.updates, summary.problem) == ("finished", 34, None)


def test_what_a_killed_run_left_half_written_is_cleared_away_be_it_a_file(run: Path, recipe_file: Path) -> None:
    (run / "checkpoints" / ".000030-1a2b3c4d").mkdir()
    (run / "checkpoints" / ".000030-1a2b3c4d.old").write_text("a file")
    transduce.train(load_recipe(str(recipe_file)), run, resume=True)
    assert not list((run / "checkpoints").glob(".*"))


def test_a_newer_checkpoint_that_was_not_written_to_its_end_is_reported(run: Path, recipe_file: Path) -> None:
    shutil.copytree(run / "checkpoints" / "000030", run / "checkpoints" / "000040")
    (run / "checkpoints" / "000040" / "progress.json").unlink()
    lines: list[str] = []
    transduce.train(load_recipe(str(recipe_file)), run, resume=True, tell=lines.append)
    assert "resuming after update 30" in lines
    (told,) = [line for line in lines if "000040" in line]
    assert told.startswith("ignoring ") and "is incomplete (no progress.json)" in told


def test_a_checkpoint_whose_validation_cannot_be_read_is_never_the_best(run: Path) -> None:
    best = best_checkpoints(run, 9)
    (best[0] / "progress.json").write_bytes(b'{"position": {}, "validation_cost": NaN}')
    assert best_checkpoints(run, 9) == best[1:]


def test_a_validation_loss_that_is_not_finite_ends_the_run_and_what_was_best_stays(
    recipe_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    transduce.train(load_recipe(str(recipe_file), ["training.updates=10"]), run)
    best = (run / "best.json").read_bytes()
    # The next update's gradient is sound, and its step makes weights that are not.
    far = ["optimizer.learning_rate=1e30", "optimizer.schedule={kind='constant', warmup=0}", "training.updates=30"]
    far += ["validation.every_updates=11"]
    recipe = load_recipe(str(recipe_file), far)
    (run / "experiment.toml").write_text(to_toml(record(recipe, run)))
    with pytest.raises(FloatingPointError, match="not finite at update 11"):
        transduce.train(recipe, run, resume=True)
    assert (run / "best.json").read_bytes() == best
    assert [path.name for path in whole_checkpoints(run)] == ["000010"]
    assert find_runs(run)[0].updates == 10


def test_weights_that_have_grown_beyond_measure_are_not_saved(recipe_file: Path, tmp_path: Path) -> None:
    far = ["optimizer.learning_rate=1e30", "optimizer.schedule={kind='constant', warmup=0}"]
    recipe = load_recipe(str(recipe_file), [*far, "checkpoint.every_updates=1", "validation.every_updates=2"])
    with pytest.raises(FloatingPointError, match="not finite"):
        transduce.train(recipe, tmp_path / "run")
    assert not whole_checkpoints(tmp_path / "run")
