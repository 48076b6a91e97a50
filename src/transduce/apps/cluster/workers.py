"""Runs tasks on the processes of this machine, or on a cluster; results come in the order of the tasks."""

import logging
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from docsegments.extras import require
from transduce.base.errors import InputError

R = TypeVar("R")
GO_ON = "what is finished stays: run the same command again to go on"
LOCAL = "local"
TRIES = 3
"""The number of times that a task is begun again after its worker or its machine has ended."""


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


class RayWorkers:
    """A running cluster of Ray, or with the address "local" one that is started on this machine; see Workers.

    Its machines share a file system and have Transduce installed.
    """

    def __init__(self, address: str) -> None:
        self._ray = _ray()
        options: dict[str, Any] = {"include_dashboard": False} if address == LOCAL else {}
        try:
            self._ray.init(address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=True, **options)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise InputError(
                f"Ray at {address}: {str(error).splitlines()[0]}; name a cluster (auto, or HOST:PORT), or local"
            ) from None

    def map(self, function: Callable[..., R], *arguments: Sequence[Any]) -> Iterator[R]:
        """See Workers; a task whose worker ends is begun again elsewhere."""
        remote = self._ray.remote(num_cpus=1, max_retries=TRIES, retry_exceptions=[TaskEndedError])(function)
        results = [remote.remote(*task) for task in zip(*arguments, strict=True)]
        try:
            for result in results:
                yield self._ray.get(result)
        except self._ray.exceptions.RayTaskError as error:
            raise error.cause from None
        except self._ray.exceptions.RayError as error:
            raise InputError(f"a worker of the cluster was lost ({type(error).__name__}); {GO_ON}") from None
        finally:
            for result in results:
                self._ray.cancel(result, force=True)

    def __enter__(self) -> "RayWorkers":
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()


def _one_thread() -> None:
    """Lets the libraries of a worker use one thread: there is a worker for each core."""
    os.environ |= {"RAYON_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


def _ray() -> Any:
    require("ray.exceptions", "ray")
    return require("ray", "ray")
