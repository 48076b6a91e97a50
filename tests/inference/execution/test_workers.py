import os
import signal
import subprocess
import sys
import threading
import time
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch

from transduce.base.errors import InputError
from transduce.inference.execution import parallel_search as workers_module
from transduce.inference.execution.parallel_search import map_parallel

Where = tuple[int, int, int]
"""A process, a thread of it, and how many threads PyTorch has there."""

needs_copies = pytest.mark.skipif(sys.platform != "linux", reason="workers are processes on Linux alone")


@pytest.fixture(autouse=True)
def four_threads() -> object:
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield
    torch.set_num_threads(before)


@pytest.fixture(params=["processes", "threads"])
def kind(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "threads":
        monkeypatch.setattr(workers_module.sys, "platform", "darwin")
    elif sys.platform != "linux":
        pytest.skip("workers are processes on Linux alone")
    return str(request.param)


def where(task: object = None) -> Where:
    return os.getpid(), threading.get_ident(), torch.get_num_threads()


def test_results_come_in_the_order_of_their_tasks(kind: str) -> None:
    def work(task: int) -> int:
        time.sleep(0.02 if task == 0 else 0)
        return task * task

    assert list(map_parallel(work, range(9), 2)) == [task * task for task in range(9)]


def test_workers_share_the_threads_and_give_them_back(kind: str) -> None:
    found = list(map_parallel(where, range(20), 2))
    assert {threads for _, _, threads in found} == ({1} if kind == "processes" else {2})
    assert where()[:2] not in {place[:2] for place in found}
    assert {process == os.getpid() for process, _, _ in found} == {kind == "threads"}
    assert torch.get_num_threads() == 4
    assert at_new_thread(torch.get_num_threads) == 4


def at_new_thread(work: object) -> object:
    found: list[object] = []
    thread = threading.Thread(target=lambda: found.append(work()))  # type: ignore[operator]
    thread.start()
    thread.join()
    return found[0]


def test_no_process_is_copied_for_another_than_the_main_thread() -> None:
    found = at_new_thread(lambda: list(map_parallel(where, range(20), 2)))
    assert {process for process, _, _ in found} == {os.getpid()}  # type: ignore[attr-defined]


@needs_copies
def test_a_daemonic_process_which_may_have_none_of_its_own_has_threads() -> None:
    context = get_context("fork")
    found = context.SimpleQueue()
    process = context.Process(
        target=lambda: found.put([place[0] for place in map_parallel(where, range(20), 2)]), daemon=True
    )
    process.start()
    process.join(60)
    assert not found.empty()
    assert set(found.get()) == {process.pid}


@pytest.mark.parametrize(("tasks", "workers"), [(9, 1), (3, 2), (0, 2)])
def test_few_tasks_are_done_by_all_threads_one_after_the_other(tasks: int, workers: int) -> None:
    assert list(map_parallel(where, range(tasks), workers)) == [where()] * tasks


def test_each_worker_has_two_tasks_at_least() -> None:
    def slowly(task: int) -> int:
        time.sleep(0.05)
        return os.getpid()

    assert len(set(map_parallel(slowly, range(7), 100))) <= 3


def test_an_error_ends_the_work_and_gives_the_threads_back(kind: str, tmp_path: Path) -> None:
    def work(task: int) -> None:
        if task == 0:
            raise InputError("no")
        time.sleep(0.01)
        (tmp_path / str(task)).touch()

    with pytest.raises(InputError, match="no"):
        list(map_parallel(work, range(1000), 2))
    assert len(list(tmp_path.iterdir())) < 900
    assert torch.get_num_threads() == 4


@needs_copies
def test_a_worker_that_is_killed_is_reported_in_one_line() -> None:
    with pytest.raises(InputError, match="was killed"):
        list(map_parallel(lambda _: os.kill(os.getpid(), signal.SIGKILL), range(9), 2))
    assert torch.get_num_threads() == 4


@needs_copies
def test_workers_do_not_outlive_a_process_that_is_killed(tmp_path: Path) -> None:
    script = (
        "import os, sys, time\n"
        "from transduce.inference.execution.parallel_search import map_parallel\n"
        "def work(task):\n"
        "    open(os.path.join(sys.argv[1], str(os.getpid())), 'w').close()\n"
        "    time.sleep(60)\n"
        "list(map_parallel(work, range(9), 2))\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script, str(tmp_path)])
    waited_until(lambda: len(list(tmp_path.iterdir())) == 2)
    parent.kill()
    parent.wait()
    workers = [int(path.name) for path in tmp_path.iterdir()]
    waited_until(lambda: not any(is_running(worker) for worker in workers))


def waited_until(condition: object) -> None:
    end = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.02)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_second_caller_meanwhile_does_its_tasks_one_after_the_other() -> None:
    first = map_parallel(lambda task: task, range(10), 2)
    assert next(first) == 0
    assert list(map_parallel(where, range(10), 2)) == [where()] * 10
    assert list(first) == list(range(1, 10))
    assert where() not in list(map_parallel(where, range(10), 2))
    assert torch.get_num_threads() == 4
