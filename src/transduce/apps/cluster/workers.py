"""Runs tasks on the processes of this machine, or on a cluster; results come in the order of the tasks."""

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from transduce.base.errors import InputError

R = TypeVar("R")
GO_ON = "what is finished stays: run the same command again to go on"


class TaskEndedError(InputError):
    """The process of a task was ended from outside; the task may be begun again."""


class Workers(Protocol):
    """Runs a function of a module on tasks, each by itself; both travel to other processes, and so do errors."""

    def map(self, function: Callable[..., R], *arguments: Sequence[Any]) -> Iterator[R]:
        """Yields the results in order, as the built-in `map` does: a task has one of each of the arguments. Raises the
        first error."""


@dataclass(frozen=True)
class LocalWorkers:
    """Processes of this machine; only one runs the tasks in this process, and a daemonic one, which may have none."""

    count: int

    def map(self, function: Callable[..., R], *arguments: Sequence[Any]) -> Iterator[R]:
        """See Workers."""
        count = min(self.count, len(arguments[0]))
        if count <= 1 or multiprocessing.current_process().daemon:
            yield from map(function, *arguments)
            return
        context = multiprocessing.get_context("spawn")  # a fork would copy threads' locks
        with ProcessPoolExecutor(count, context, _one_thread) as pool:
            try:
                yield from pool.map(function, *arguments)
            except BrokenProcessPool:
                raise InputError(f"a worker process was ended, perhaps for want of memory; {GO_ON}") from None
            finally:
                pool.shutdown(cancel_futures=True)


def _one_thread() -> None:
    """Lets the libraries of a worker use one thread: there is a worker for each core."""
    os.environ |= {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
