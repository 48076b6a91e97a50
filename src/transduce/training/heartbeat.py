"""Noticing that a process or a machine of a run is gone, or that all processes wait for each other."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import torch
from torch import distributed

from transduce.base.main_thread import IDLE, describe_place, innermost_frame
from transduce.training.launch import ENDED, RESUME

INTERVAL = 1.0  # seconds between two beats
SILENCE = 7.0  # seconds without a beat after which a process counts as gone
DEADLOCK = 60.0  # seconds that all processes stay in one call of PyTorch each, and compute nothing
TORCH = f"{Path(torch.__file__).parent}{os.sep}"
BY_TORCHRUN = "TORCHELASTIC_RUN_ID"
"""An environment variable of the processes that torchrun started."""


class Beat(msgspec.Struct):
    """State of a process, which it sends the others each second."""

    number: int = 0
    waited: float = 0.0
    """Seconds that its main thread has stayed in one call of PyTorch, while the process computed nothing."""
    place: str = ""
    """Where in this package that call is."""


@contextmanager
def heartbeat(store: distributed.Store, rank: int, count: int) -> Iterator[None]:
    """Ends this process if all wait for each other while the block runs; one of torchrun's also if another one falls
    silent, or torchrun itself ends.

    An exchange over gloo fails at once where another process was killed. But neither gloo nor NCCL notices for half an
    hour that a machine no longer answers or that another process waits in another exchange, and NCCL not even that a
    process was killed. A process that waits for one that is gone must end, so that torchrun can start all of them
    again. Processes that the command started itself are watched by `beside` in launch.py, too.

    Args:
        store: a store that all processes reach.
        rank: of this process.
        count: of all processes.
    """
    own = store.clone()  # while a thread waits for a store's answer, no other can ask it
    own.set(_key(rank), msgspec.json.encode(Beat()))
    starter, is_over = os.getppid(), threading.Event()
    beats = [Beat() for _ in range(count)]
    begun = time.monotonic() + SILENCE  # others may begin later
    times = {other: begun for other in range(count) if other != rank}  # of the last beats

    def beat() -> None:
        """Beats and listens, until the store does not answer: then it may wait for any time."""
        call, computed = None, time.process_time()
        while not is_over.wait(INTERVAL):
            call_before, call = call, _call_of_pytorch()
            computed_before, computed = computed, time.process_time()
            is_waiting = call is not None and call == call_before and computed - computed_before < INTERVAL * IDLE
            waited = beats[rank].waited + INTERVAL if is_waiting else 0.0
            beats[rank] = Beat(beats[rank].number + 1, waited, describe_place(innermost_frame()))
            try:
                own.set(_key(rank), msgspec.json.encode(beats[rank]))
                values = own.multi_get([_key(each) for each in range(count)])
            except RuntimeError:  # the store is gone
                return
            for other in times:
                value = msgspec.json.decode(values[other], type=Beat)
                if value.number != beats[other].number:
                    beats[other], times[other] = value, time.monotonic()

    def watch() -> None:
        is_of_torchrun = BY_TORCHRUN in os.environ
        while not is_over.wait(INTERVAL):
            is_silent = any(time.monotonic() - last > SILENCE for last in times.values())
            if is_of_torchrun and (is_silent or os.getppid() != starter):
                _end_process(ENDED)
            if min(each.waited for each in beats) >= DEADLOCK:
                places = ", ".join(f"process {number} in {each.place}" for number, each in enumerate(beats))
                _end_process(f"all processes of this run wait for each other ({places}); {RESUME}")

    watching = threading.Thread(target=watch, daemon=True)
    for thread in (watching, threading.Thread(target=beat, daemon=True)):
        thread.start()
    try:
        yield
    finally:
        is_over.set()
        watching.join()


def _call_of_pytorch() -> object:
    """Returns what stays the same as long as the main thread waits in one call of PyTorch; None if it is elsewhere."""
    frame = innermost_frame()
    if frame is None or not frame.f_code.co_filename.startswith(TORCH):
        return None
    return id(frame), frame.f_lasti


def _key(rank: int) -> str:
    return f"beat/{rank}"


def _end_process(line: str) -> None:
    """Ends this process, whose main thread may wait for another for any time, with a line."""
    os.write(2, f"transduce: {line}\n".encode())
    os._exit(1)
