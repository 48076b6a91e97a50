"""A run that was stopped, killed or cut off goes on as if nothing had happened."""

import hashlib
import multiprocessing
import random
import shutil
import signal
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from stop_at_update import Stop

import transduce
from transduce.base.errors import CheckpointError, Interrupted
from transduce.bundle.model_bundle import ModelBundle
from transduce.data.batch import Batch
from transduce.experiment import Recipe, load_recipe
from transduce.training.checkpoint import read_progress, whole_checkpoints
from transduce.training.memory_check import MemoryCheck

TIMED = ("seconds", "seconds_per_update", "target_tokens_per_second")
RUN = [
    "data.context.before=1",
    "training.updates=60",
    "training.accumulate=2",
    "optimizer.kind=muon",
    "training.report_every=7",
    "training.moving_average=0.9",
    "checkpoint.every_updates=4",
    "validation.every_updates=6",
    "validation.patience=50",
    "optimizer.schedule={kind='plateau', patience=1}",
]
"""Reports, validations and checkpoints at different updates, and all that a checkpoint must keep."""


def result_of(run: Path) -> dict[str, object]:
    """All that must be the same, bit for bit: weights, optimiser, log, and what is said of the best."""
    log = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    last = whole_checkpoints(run)[-1]
    files = ["model/weights.safetensors", "best.json", f"checkpoints/{last.name}/bundle/weights.safetensors"]
    return {
        "log": [{key: value for key, value in line.items() if key not in TIMED} for line in log],
        "checkpoints": [path.name for path in whole_checkpoints(run)],
        **{file: hashlib.sha256((run / file).read_bytes()).hexdigest() for file in files},
    }


@pytest.fixture(scope="module")
def left_alone(recipe_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupts."""
    run = tmp_path_factory.mktemp("runs") / "left-alone"
    transduce.train(load_recipe(str(recipe_file), RUN), run)
    return run


@pytest.mark.slow
def test_killed_at_ten_random_moments_a_run_ends_as_the_one_left_alone(
    recipe_file: Path, left_alone: Path, tmp_path: Path
) -> None:
    recipe, run = load_recipe(str(recipe_file), RUN), tmp_path / "run"
    chance = random.Random()
    for _ in range(10):
        process = multiprocessing.get_context("fork").Process(
            target=transduce.train, args=(recipe, run), kwargs={"resume": True}
        )
        process.start()
        _wait_for_progress(run, process, chance.randrange(3))
        time.sleep(chance.uniform(0, 0.05))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL, "the run was over before it could be killed: make it longer"
    transduce.train(recipe, run, resume=True)
    assert result_of(run) == result_of(left_alone)
    assert not list(run.glob("checkpoints/.*")), "what the killed processes left half done is cleared away"


def _wait_for_progress(run: Path, process: multiprocessing.process.BaseProcess, checkpoints: int) -> None:
    """Until so many checkpoints were written since now, 0 for none."""
    seen = {path.name for path in whole_checkpoints(run)}
    while checkpoints and process.is_alive():
        now = {path.name for path in whole_checkpoints(run)}
        checkpoints -= len(now - seen)
        seen |= now
        time.sleep(0.005)


@pytest.mark.slow
def test_stopped_by_ctrl_c_between_reports_the_log_is_that_of_the_run_left_alone(
    recipe_file: Path, left_alone: Path, tmp_path: Path
) -> None:
    recipe, run = load_recipe(str(recipe_file), RUN), tmp_path / "run"
    for update in (14, 35):
        with pytest.raises(Interrupted):
            transduce.train(recipe, run, resume=update > 14, observers=[Stop(update)])
    transduce.train(recipe, run, resume=True)
    assert result_of(run) == result_of(left_alone)


@pytest.mark.slow
def test_grouped_queries_and_rms_norms_resume_load_at_every_precision_and_show_what_they_attend_to(
    recipe_file: Path, tmp_path: Path
) -> None:
    recipe = load_recipe(str(recipe_file), [*RUN, "training.updates=20", "model.kv_heads=1", "model.norm_kind=rms"])
    transduce.train(recipe, tmp_path / "left-alone")
    with pytest.raises(Interrupted):
        transduce.train(recipe, tmp_path / "run", observers=[Stop(14)])
    transduce.train(recipe, tmp_path / "run", resume=True)
    assert result_of(tmp_path / "run") == result_of(tmp_path / "left-alone")
    scores = []
    for precision in ("float32", "bfloat16", "int8"):
        translator = transduce.load(tmp_path / "run", precision=precision)
        scores.append(translator.score(("The dog sleeps.", "Der Hund.")).per_token)
    assert 0 < abs(scores[1] - scores[0]) < 0.05 and 0 < abs(scores[2] - scores[0]) < 0.05
    look = transduce.load(tmp_path / "run").look("The dog sleeps.")
    assert {attention.weights.shape[0] for attention in look.attention} == {3}, "a map for each head of queries"


def test_a_checkpoint_without_its_last_file_is_not_taken(recipe_file: Path, left_alone: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(left_alone, run)
    last = whole_checkpoints(run)[-1]
    (last / "progress.json").unlink()
    lines: list[str] = []
    transduce.train(load_recipe(str(recipe_file), RUN), run, resume=True, tell=lines.append)
    assert f"resuming after update {int(last.name) - 4}" in lines
    assert result_of(run) == result_of(left_alone)


@pytest.mark.parametrize("file", ["optimizer.safetensors", "progress.json", "bundle/weights.safetensors"])
def test_a_damaged_checkpoint_is_named(recipe_file: Path, left_alone: Path, tmp_path: Path, file: str) -> None:
    run = tmp_path / "run"
    shutil.copytree(left_alone, run)
    path = whole_checkpoints(run)[-1] / file
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(CheckpointError, match=r"remove .*checkpoints.000060 to resume from an earlier one"):
        transduce.train(load_recipe(str(recipe_file), RUN), run, resume=True)


def test_a_killed_run_that_did_not_come_to_name_its_best_checkpoint_does_so_when_resumed(
    recipe_file: Path, left_alone: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    shutil.copytree(left_alone, run)
    (run / "best.json").write_text('{"checkpoint": "000004", "validation": {}}')
    transduce.train(load_recipe(str(recipe_file), RUN), run, resume=True)
    assert (run / "best.json").read_bytes() == (left_alone / "best.json").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("table", "ends", "goes_on", "key"),
    [
        ("training", {"updates": 20}, {"updates": 24}, "training.updates"),
        ("training", {"updates": None, "epochs": 1}, {"updates": None, "epochs": 2}, "training.epochs"),
        ("validation", {"every_updates": 2, "patience": 1}, {"every_updates": 2, "patience": 3}, "validation.patience"),
    ],
)
def test_a_resume_with_nothing_left_to_do_names_the_key_to_raise_and_raised_it_goes_on(
    recipe_file: Path, tmp_path: Path, table: str, ends: dict[str, int], goes_on: dict[str, int], key: str
) -> None:
    rising = ["optimizer.learning_rate=3", "optimizer.schedule={kind='constant'}"]  # ends the last one's patience
    recipe = load_recipe(str(recipe_file), rising)

    def changed(values: dict[str, int]) -> Recipe:
        part = msgspec.structs.replace(getattr(recipe.config, table), **values)
        return replace(recipe, config=msgspec.structs.replace(recipe.config, **{table: part}))

    first = transduce.train(changed(ends), tmp_path / "run")
    lines: list[str] = []
    again = transduce.train(changed(ends), tmp_path / "run", resume=True, tell=lines.append)
    assert any(line.startswith("nothing is left to train") and f"raise {key}" in line for line in lines)
    assert again == first
    assert transduce.train(changed(goes_on), tmp_path / "run", resume=True).updates > first.updates


def test_checkpoints_are_written_by_the_clock_too(recipe_file: Path, tmp_path: Path) -> None:
    changes = ["checkpoint={every_minutes=0.0001, keep_last=1000}", "validation.every_updates=1000"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "run")
    assert len(whole_checkpoints(tmp_path / "run")) > 10


def test_as_many_checkpoints_stay_as_are_asked_for(recipe_file: Path, tmp_path: Path) -> None:
    changes = ["checkpoint={every_updates=2, keep_last=3, keep_best=2}", "validation.every_updates=10"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "run")
    assert {path.name for path in whole_checkpoints(tmp_path / "run")} >= {"000026", "000028", "000030", "000020"}
    assert len(whole_checkpoints(tmp_path / "run")) == 4
    assert ModelBundle.load(tmp_path / "run").history["updates"] == 30


@pytest.mark.slow
def test_parts_that_the_memory_check_chose_stay_when_a_run_is_resumed(
    recipe_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work_through, most = MemoryCheck._learn, 40
    lines: list[str] = []

    def lacks_memory(self: MemoryCheck, batch: Batch, times: int = 1) -> None:
        if batch.source_is_real.sum() > most:
            raise MemoryError
        work_through(self, batch, times)

    def train(run: str, *changes: str, resume: bool = False) -> None:
        recipe = load_recipe(str(recipe_file), ["training.accumulate=auto", "training.updates=14", *changes])
        transduce.train(recipe, tmp_path / run, resume=resume, tell=lines.append)

    monkeypatch.setattr(MemoryCheck, "_learn", lacks_memory)
    train("whole")
    chosen = read_progress(whole_checkpoints(tmp_path / "whole")[-1]).position.accumulate
    assert chosen is not None and chosen > 1
    told = f"training.accumulate = auto: a batch is split into {chosen} parts, the fewest that fit into memory"
    assert told in lines
    train("stopped", "training.updates=7", "checkpoint.every_updates=7")
    most = 10_000  # now fewer would fit
    lines.clear()
    train("stopped", resume=True)
    assert told in lines
    results = [result_of(tmp_path / name)["model/weights.safetensors"] for name in ("stopped", "whole")]
    assert results[0] == results[1]
    most = 20
    lines.clear()
    train("stopped", "training.updates=15", resume=True)
    assert any(f"before they were {chosen}, so the run will not be bit for bit" in line for line in lines)
