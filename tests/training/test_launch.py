"""`transduce train --processes N` is one run: one result, one voice, one end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.training.test_distributed import STILL, losses

import transduce
from transduce.experiment import load_recipe
from transduce.training.checkpoint import whole_checkpoints

TRAIN = [sys.executable, "-m", "transduce", "train"]
ALONE = {name: value for name, value in os.environ.items() if name != "WORLD_SIZE"}


def start(*arguments: object, started: int | None = None) -> subprocess.Popen[str]:
    environment = ALONE if started is None else {**ALONE, "WORLD_SIZE": str(started)}
    command = [*TRAIN, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def children(process: subprocess.Popen[str]) -> list[int]:
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True)
    return [int(pid) for pid in found.stdout.split()]


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def wait_for_a_checkpoint(process: subprocess.Popen[str], run: Path) -> None:
    while process.poll() is None and not whole_checkpoints(run):
        time.sleep(0.05)


def test_two_processes_give_the_losses_of_one(recipe_file: Path, tmp_path: Path) -> None:
    changes = [*STILL, "training.updates=6", "training.report_every=1"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "one")
    process = start(recipe_file, *changes, "--processes", 2, "--out", tmp_path / "two")
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert output.count("the model is in") == 1 and errors.count("2 processes") == 1
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


def test_all_stop_and_save_when_the_first_is_asked_to(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(recipe_file, "training.updates=100000", "--processes", 2, "--out", run)
    wait_for_a_checkpoint(process, run)
    others = children(process)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.count("everything is saved") == 1 and "Traceback" not in errors
    assert others and not any(map(is_running, others))


def test_when_another_dies_the_run_ends_in_one_line(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = start(recipe_file, "training.updates=100000", "--processes", 2, "--quiet", "--out", run)
    wait_for_a_checkpoint(process, run)
    os.kill(children(process)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1 and "another process of this run has ended" in errors


@pytest.mark.parametrize("change", ["training.updates=none", "data.train=['none.en', 'none.de']"])
def test_a_mistake_is_told_once(recipe_file: Path, tmp_path: Path, change: str) -> None:
    process = start(recipe_file, change, "--processes", 2, "--out", tmp_path / "run")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert len(errors.splitlines()) == 1 and errors.startswith("transduce: ")


def test_torchrun_and_processes_must_agree(recipe_file: Path, tmp_path: Path) -> None:
    process = start(recipe_file, "--processes", 2, "--out", tmp_path / "run", started=3)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "--processes 2, but torchrun has started 3" in errors
