"""Several processes train the model that one would."""

import os
import resource
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import tomli_w
import torch

import transduce
from pronoun_corpus import settings, write_table
from transduce.base.errors import ConfigError
from transduce.bundle.model_bundle import ModelBundle
from transduce.experiment import load_recipe
from transduce.training.checkpoint import whole_checkpoints
from transduce.training.distributed import Processes
from transduce.training.launch import beside

pytestmark = pytest.mark.slow

STILL = ["model.dropout=0.0", "optimizer.learning_rate=1e-3", "training.precision=float32"]


def launch(processes: int, arguments: list[str], *options: str) -> subprocess.Popen[str]:
    """Start `transduce train` under torchrun, with a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    starter = ["-m", "torch.distributed.run", f"--nproc-per-node={processes}", f"--master-port={port}", *options]
    return subprocess.Popen(
        [sys.executable, *starter, "-m", "transduce", "train", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start `transduce train`, which may start others itself."""
    command = [sys.executable, "-m", "transduce", "train", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> tuple[str, str]:
    output, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    return output, errors


def losses(run: Path) -> list[float]:
    lines = [msgspec.json.decode(line) for line in (run / "log.jsonl").read_bytes().splitlines()]
    return [line["loss"] if "loss" in line else line["validation"]["loss"] for line in lines if "samples" not in line]


def test_two_processes_give_the_losses_of_one_and_go_on_as_one(recipe_file: Path, tmp_path: Path) -> None:
    changes = [*STILL, "training.accumulate=2", "training.updates=12", "training.report_every=1"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "one")
    arguments = [str(recipe_file), *changes, "--out", str(tmp_path / "two")]
    output, errors = finish(launch(2, arguments))
    assert output.count("the model is in") == 1
    assert errors.count("2 processes") == 1
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)

    longer = [*changes, "training.updates=18"]
    lines: list[str] = []
    transduce.train(load_recipe(str(recipe_file), longer), tmp_path / "two", resume=True, tell=lines.append)
    assert any("the number of processes differs" in line for line in lines)
    transduce.train(load_recipe(str(recipe_file), longer), tmp_path / "one", resume=True)
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)


def test_two_processes_learn_context_as_one_does(tmp_path: Path) -> None:
    write_table(tmp_path / "train.tsv", 60, 1)
    write_table(tmp_path / "valid.tsv", 10, 2)
    (tmp_path / "recipe.toml").write_text(tomli_w.dumps(settings(12)), encoding="utf-8")
    changes = ["training.accumulate=2", "training.precision=float32", "training.report_every=1"]
    transduce.train(load_recipe(tmp_path / "recipe.toml", changes), tmp_path / "one")
    finish(launch(2, [str(tmp_path / "recipe.toml"), *changes, "--out", str(tmp_path / "two")]))
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    one, two = (ModelBundle.load(tmp_path / name) for name in ("one", "two"))
    assert one.config.context == two.config.context is not None
    assert one.history["validation"]["exact_match"] == two.history["validation"]["exact_match"]


@pytest.mark.parametrize(("parts", "count"), [(1, 1), (12, 1), (12, 4), (16, 8), (5, 2), (1, 3)])
def test_whole_parts_are_dealt_out_each_once_and_all_processes_work_through_as_many(parts: int, count: int) -> None:
    plan = [np.array([number]) for number in range(parts)]
    of_each = [Processes(rank, count).deal(plan) for rank in range(count)]
    assert {len(own) for own in of_each} == {-(-parts // count)}
    counted = [int(part.rows[0]) for own in of_each for part in own if part.counts]
    assert sorted(counted) == list(range(parts))


@dataclass(frozen=True)
class OneOf(Processes):
    """A process that knows what all send."""

    of_each: tuple[list[int], ...] = ()

    def all_gather(self, value: object) -> list[Any]:
        return list(self.of_each)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_is_shared_out_comes_back_in_order(count: int) -> None:
    values = list(range(7))
    shares = tuple(list(Processes(rank, count).share(values)) for rank in range(count))
    assert OneOf(0, count, of_each=shares).gather_shares(shares[0]) == values


@pytest.mark.thorough
def test_torchrun_brings_a_run_back_when_one_of_its_processes_was_killed(recipe_file: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    changes = ["training.updates=100000", "checkpoint={every_updates=5, keep_last=1}"]
    process = launch(2, [str(recipe_file), *changes, "--out", str(run), "--resume"], "--max-restarts=1")
    try:
        wait_for_a_checkpoint(process, run)
        workers, newest = children(process), whole_checkpoints(run)[-1]
        os.kill(workers[-1], signal.SIGKILL)
        while process.poll() is None and not whole_checkpoints(run)[-1:] > [newest]:
            time.sleep(0.1)
        assert process.poll() is None
        assert not any(map(is_running, workers))
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)


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


SHOWING_THREADS = """
import sys
from pathlib import Path
from transduce.apps.cli.main import app, run
status = run(app)
print(*(name.read_text().strip() for name in Path("/proc/self/task").glob("*/comm")))
sys.exit(status)
"""


def test_processes_started_by_the_command_give_the_losses_of_one_and_leave_no_thread(
    recipe_file: Path, tmp_path: Path
) -> None:
    """A thread that exchanged gradients and is alive while the interpreter ends may abort the process."""
    changes = [*STILL, "training.updates=6", "training.report_every=1"]
    transduce.train(load_recipe(str(recipe_file), changes), tmp_path / "one")
    arguments = ["train", str(recipe_file), *changes, "--processes", "2", "--out", str(tmp_path / "two")]
    command = [sys.executable, "-c", SHOWING_THREADS, *arguments]
    output, errors = finish(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
    assert output.count("the model is in") == 1 and errors.count("2 processes") == 1
    assert losses(tmp_path / "two") == pytest.approx(losses(tmp_path / "one"), abs=1e-5)
    threads = output.splitlines()[-1]  # nothing where there is no /proc
    assert "gloo" not in threads and (threads or not Path("/proc/self/task").exists())


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


def test_when_a_process_that_the_command_started_dies_the_run_ends_in_one_line(
    recipe_file: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    process = start(recipe_file, "training.updates=100000", "--processes", 2, "--quiet", "--out", run)
    wait_for_a_checkpoint(process, run)
    os.kill(children(process)[0], signal.SIGKILL)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1 and "another process of this run has ended" in errors


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory")])
def test_memory_that_runs_out_in_an_exchange_is_not_another_process_that_has_ended(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr("torch.distributed.all_reduce", fail)
    with pytest.raises(ConfigError, match=r"out of memory during communication between processes; use fewer processes"):
        Processes(0, 2).all_reduce(torch.zeros(3))


def test_a_mistake_in_a_model_is_not_another_process_that_has_ended() -> None:
    with pytest.raises(RuntimeError, match=r"^mat1 and mat2"), Processes(0, 2).exchanging():
        raise RuntimeError("mat1 and mat2 shapes cannot be multiplied")
    with pytest.raises(ConnectionError, match=r"another process of this run has ended"), Processes(0, 2).exchanging():
        raise RuntimeError("[third_party/gloo/transport/tcp/pair.cc] Connection closed by peer")


@pytest.mark.thorough
def test_where_one_process_lacks_memory_all_end_with_the_line_that_says_so(recipe_file: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def begin(rank: int, mebibytes: int) -> subprocess.Popen[str]:
        limit = mebibytes * 2**20
        places = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "RANK": str(rank), "LOCAL_RANK": str(rank)}
        large = ["model.feed_forward_dim=30000", "batching.target_tokens=100000", "training.updates=1"]
        return subprocess.Popen(
            [sys.executable, "-m", "transduce", "train", str(recipe_file), *large, "--out", str(tmp_path / "run")],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **places, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1"},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )

    processes = [begin(rank, mebibytes) for rank, mebibytes in ((0, 8000), (1, 700))]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 2, errors
        assert "does not fit into the memory of cpu" in errors.splitlines()[-1]


def test_a_mistake_is_reported_once(recipe_file: Path, tmp_path: Path) -> None:
    process = start(recipe_file, "data.train=['none.en', 'none.de']", "--processes", 2, "--out", tmp_path / "run")
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    assert len(errors.splitlines()) == 1 and errors.startswith("transduce: ")


def test_torchrun_and_processes_must_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    refused = pytest.raises(ConfigError, match="2 processes requested, but torchrun started 3; do not set processes")
    with refused, beside([], 2, str):
        raise AssertionError("begun")
