"""Calls a function in as many processes as there are cores.

Processes are forked, so that nothing is pickled and no script needs a guard. A fork reads and encodes text, and
computes nothing with PyTorch.
"""

import multiprocessing
import os
import sys
from collections.abc import Callable, Sequence
from multiprocessing.connection import wait
from typing import TypeVar

from transduce.base.errors import DataError

T = TypeVar("T")


def for_each(work: Callable[[T], object], items: Sequence[T]) -> None:
    """Calls a function on each item, in forks of this process, whose results are files; raises the first error.

    Forks need nothing to be sent to them, and no script to be importable, but may use no other threads: `work` may not
    compute with PyTorch. Where the system cannot fork safely, or has one core, this process does the work; so does a
    daemonic one, such as a worker of a pool, which may have no children.
    """
    count = min(cores(), len(items))
    if count < 2 or multiprocessing.current_process().daemon:
        for item in items:
            work(item)
        return
    context = multiprocessing.get_context("fork")
    taken = context.Value("i", 0)
    receiving, sending = context.Pipe(duplex=False)

    def run() -> None:
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads are not in the fork
        try:
            while True:
                with taken.get_lock():
                    number = taken.value
                    taken.value += 1
                if number >= len(items):
                    return
                work(items[number])
        except BaseException as error:
            with taken.get_lock():
                sending.send(error)
            raise SystemExit(1) from None

    processes = [context.Process(target=run, daemon=True) for _ in range(count)]
    try:
        for process in processes:
            process.start()
        left = list(processes)
        while left:
            wait([receiving, *(process.sentinel for process in left)])
            if receiving.poll():
                raise receiving.recv()
            if any(process.exitcode for process in left):
                raise DataError("a process that reads training data was ended, perhaps for want of memory")
            left = [process for process in left if process.exitcode is None]
    finally:
        for process in processes:
            if process.is_alive():
                process.terminate()
            if process.pid is not None:
                process.join()


def cores() -> int:
    """Returns the number of processes that may fork."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else 1
