"""Searches several batches at the same time, one per worker: small operators gain nothing from several threads."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import current_process, get_context, parent_process
from typing import Any, TypeVar

import torch
from torch import nn

from transduce.base.errors import InputError

MAX_THREADS = 4
"""The most threads of workers: more would wait for each other in Python."""

LITTLE = 5e7
"""Multiplications of a step that are not worth sharing: four rows of a model of 12 million parameters."""

_sharing = threading.Lock()
_work: Callable[[Any], Any]
"""The function that a worker process calls on each task."""

Task = TypeVar("Task")
Result = TypeVar("Result")


def map_parallel(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    """Yields each task's result, in order; PyTorch's threads are divided among the workers meanwhile.

    On Linux workers are forked processes of one thread, like those of PyTorch's DataLoader: changes that `work` makes
    are lost, and tasks and results must be picklable. Elsewhere, and outside the main thread (where a fork could copy
    locks that other threads hold), workers are threads.

    A few tasks, which might leave a worker idle for long, are done one after the other by all threads. So are those of
    a call during another call: the number of threads is a setting of the whole process.

    Raises InputError if a worker process is killed.
    """
    workers = min(workers, len(tasks) // 2)
    if workers < 2 or not _sharing.acquire(blocking=False):
        yield from map(work, tasks)
        return
    threads = torch.get_num_threads()
    pool, do = _pool(work, workers, threads)
    try:
        yield from pool.map(do, tasks)
    except BrokenProcessPool:
        raise InputError("a worker process was killed, possibly for lack of memory; use fewer threads") from None
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # a thread's own number is also that of threads to come
        _sharing.release()


def size_of(model: nn.Module) -> int:
    """Returns the number of weights of a model, those in int8 included."""
    return sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))


@contextmanager
def threads_for(rows: int, size: int, device: torch.device) -> Iterator[None]:
    """Sets PyTorch to one thread for a search with small steps, in which several threads would mostly wait: on a busy
    machine each of the many waits may cost milliseconds.

    Args:
        rows: hypotheses that are extended at once.
        size: number of the model's weights.
        device: the model's device.
    """
    threads = torch.get_num_threads()
    if threads == 1 or rows * size > LITTLE or device.type != "cpu":
        yield
        return
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _pool(work: Callable[[Task], Result], workers: int, threads: int) -> tuple[Executor, Callable[[Task], Result]]:
    """Returns a pool of workers, and the function to give it."""
    is_main = threading.current_thread() is threading.main_thread()
    if sys.platform == "linux" and is_main and not current_process().daemon:  # which may have no processes
        return ProcessPoolExecutor(workers, get_context("fork"), _begin_process, (work,)), _do
    workers = min(workers, MAX_THREADS)
    return ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(max(threads // workers, 1),)), work


def _begin_process(work: Callable[[Any], Any]) -> None:
    """Makes a copy of a process a worker, which stops when that process says so or ends."""
    global _work
    _work = work
    torch.set_num_threads(1)  # the other threads were not copied
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _do(task: Any) -> Any:
    return _work(task)
