"""Noticing within seconds that a process or a machine of a run is gone."""

import itertools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from torch import distributed

from transduce.training.launch import ENDED

INTERVAL = 1.0  # seconds between two beats
SILENCE = 7.0  # seconds without a beat after which a process counts as gone
BY_TORCHRUN = "TORCHELASTIC_RUN_ID"
"""An environment variable of the processes that torchrun started."""


@contextmanager
def heartbeat(store: distributed.Store, rank: int, count: int) -> Iterator[None]:
    """Ends this process, one of torchrun's, if another one falls silent while the block runs, or torchrun itself ends.

    An exchange over gloo fails at once where another process was killed. But neither gloo nor NCCL notices for half an
    hour that a machine no longer answers, and NCCL not even that a process was killed. A process that waits for one
    that is gone must end, so that torchrun can start all of them again. Processes that the command started itself are
    watched by `beside` in launch.py.

    Args:
        store: a store that all processes reach.
        rank: of this process.
        count: of all processes.
    """
    if BY_TORCHRUN not in os.environ:
        yield
        return
    own = store.clone()  # while a thread waits for a store's answer, no other can ask it
    own.set(_key(rank), "0")
    starter, is_over = os.getppid(), threading.Event()
    others = [other for other in range(count) if other != rank]
    times = dict.fromkeys(others, time.monotonic() + SILENCE)  # of the last beats; others may begin later

    def beat() -> None:
        """Beats and listens, until the store does not answer: then it may wait for any time."""
        heard = dict.fromkeys(others, b"")
        for number in itertools.count(1):
            if is_over.wait(INTERVAL):
                return
            try:
                own.set(_key(rank), str(number))
                values = own.multi_get([_key(other) for other in others])
            except RuntimeError:  # the store is gone
                return
            for other, value in zip(others, values, strict=True):
                if value != heard[other]:
                    heard[other], times[other] = value, time.monotonic()

    def watch() -> None:
        while not is_over.wait(INTERVAL):
            is_silent = any(time.monotonic() - last > SILENCE for last in times.values())
            if is_silent or os.getppid() != starter:
                _end_process()

    watching = threading.Thread(target=watch, daemon=True)
    for thread in (watching, threading.Thread(target=beat, daemon=True)):
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()


def _key(rank: int) -> str:
    return f"beat/{rank}"


def _end_process() -> None:
    """Ends this process, whose main thread may wait for another for any time, with a line."""
    os.write(2, f"transduce: {ENDED}\n".encode())
    os._exit(1)
