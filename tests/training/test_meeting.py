"""Processes of a run meet anew after torchrun has started all of them again, and end when one of them is silent."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from datetime import timedelta
from subprocess import PIPE

import pytest
from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore

from transduce.training import meeting
from transduce.training.meeting import meet

COUNT = 3


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> distributed.Store:
    """The store of torchrun, which outlives the processes."""
    store = distributed.HashStore()
    monkeypatch.setenv("TORCHELASTIC_USE_AGENT_STORE", "True")
    monkeypatch.setattr(meeting, "rendezvous", lambda *_, **__: iter([(store, 0, 0)]))
    monkeypatch.setattr(meeting, "PAUSE", 0.01)
    return store


def meet_all(order: list[int]) -> list[PrefixStore]:
    """Lets processes arrive in an order, some time apart."""
    found: dict[int, PrefixStore] = {}

    def arrive(rank: int) -> None:
        found[rank] = meet(rank, COUNT, timedelta(seconds=30))  # type: ignore[assignment]

    threads = [threading.Thread(target=arrive, args=(rank,)) for rank in order]
    for thread in threads:
        thread.start()
        time.sleep(0.05)
    for thread in threads:
        thread.join()
    return [found[rank] for rank in range(COUNT)]


def test_nobody_finds_what_processes_before_have_left(store: distributed.Store) -> None:
    names = []
    for order in ([0, 1, 2], [2, 1, 0], [1, 0, 2]):
        stores = meet_all(order)
        assert not any(each.check(["address"]) for each in stores)
        stores[0].set("address", "here")
        assert all(each.get("address") == b"here" for each in stores)
        names.append(store.get(meeting.CALL))
    assert len(set(names)) == 3


def test_those_who_wait_for_others_that_do_not_come_say_so(store: distributed.Store) -> None:
    with pytest.raises(ConnectionError, match="were not there in time; start all of them again"):
        meet(0, COUNT, timedelta(seconds=0.1))


SILENT = """
import sys, time
from datetime import timedelta
from subprocess import PIPE
from torch import distributed
from transduce.training import heartbeat
heartbeat.SILENCE = 2.0
heartbeat.INTERVAL = 0.1
rank, port = int(sys.argv[1]), int(sys.argv[2])
store = distributed.TCPStore("127.0.0.1", port, is_master=False, timeout=timedelta(seconds=60))
with heartbeat.heartbeat(store, rank, 2):
    print("beats", flush=True)
    time.sleep(120)
"""


@pytest.mark.slow
def test_a_process_ends_with_a_line_when_another_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other stands still, as if its machine did."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", "1")
    server = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    command = [sys.executable, "-c", SILENT]
    first, second = (
        subprocess.Popen(
            [*command, str(rank), str(server.port)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for rank in range(2)
    )
    for process in (first, second):
        assert process.stdout is not None
        assert process.stdout.readline() == "beats\n"
    time.sleep(1)
    assert first.poll() is None
    second.send_signal(signal.SIGSTOP)
    _, errors = first.communicate(timeout=60)
    second.kill()
    second.communicate()
    assert first.returncode == 1
    assert "another process of this run has ended" in errors


APART = """
import os, signal, sys, threading
import torch
from transduce.apps.cli import stopping
from transduce.apps.cli.failures import run
from transduce.training import heartbeat
from transduce.training.distributed import join_processes
heartbeat.INTERVAL, heartbeat.DEADLOCK, stopping.STANDS = 0.25, {deadlock}, 1.0
def exchange():
    with join_processes(torch.device("cpu")) as processes:
        print("joined", flush=True)
        if {number} and not processes.is_first:
            threading.Timer(0.5, os.kill, (os.getpid(), {number})).start()
        processes.all_reduce(torch.ones(3)) if processes.is_first else processes.all_gather("x")
with stopping.stoppable() as stop:
    status = run(exchange, stop)
sys.exit(status)
"""


def start_apart(deadlock: float, number: int = 0) -> list[subprocess.Popen[str]]:
    """Starts two processes that wait for each other in different exchanges, and returns once both have joined.

    Processes end after `deadlock` seconds of that; the second one is sent the signal of this number."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        places = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1])}
    command = [sys.executable, "-c", APART.format(deadlock=deadlock, number=int(number))]
    started = [
        subprocess.Popen(
            command, stdout=PIPE, stderr=PIPE, text=True, env={**os.environ, **places, "RANK": rank, "LOCAL_RANK": rank}
        )
        for rank in "01"
    ]
    for process in started:
        assert process.stdout is not None and process.stdout.readline() == "joined\n"
    return started


@pytest.mark.slow
def test_processes_that_wait_for_each_other_in_different_exchanges_say_so_and_end() -> None:
    started = start_apart(1.0)
    told = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [1, 1]
    expected = (
        "all processes of this run wait for each other (process 0 in training/distributed.py, all_reduce, "
        "process 1 in training/distributed.py, all_gather); resume the run"
    )
    assert any(expected in each for each in told), told


@pytest.mark.slow
def test_a_process_that_waits_for_another_one_ends_when_it_is_asked_to() -> None:
    """PyTorch waits in C++ code, in which no handler of a signal is called."""
    started = start_apart(1e9, signal.SIGTERM)
    told = started[1].communicate(timeout=120)[1]
    assert started[1].returncode == 128 + signal.SIGTERM
    assert "while it waited in training/distributed.py, all_gather; what was saved before is whole" in told
    assert started[0].wait(120) == 1
