"""Searches batches at the same time, each by one worker: small operators leave nothing for several threads to share."""

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

from transduce.errors import InputError

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

    On Linux workers are processes of one thread, copies of this one, as those of PyTorch's DataLoader are: what `work`
    changes is lost, tasks and results must be such as can be pickled. Elsewhere, and where another than the main thread
    asks (so that no copy is made while others are at work), they are threads.

    Few tasks, which might leave a worker without any for long, are done one after the other by all threads. So are
    those of a caller that comes while another's are done: how many threads there are is said for the whole process.

    Raises InputError where a worker process is killed.
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
    """Returns how many numbers a model's weights have, those of int8 too."""
    return sum(tensor.numel() for tensor in (*model.parameters(), *model.buffers()))


@contextmanager
def threads_for(rows: int, size: int, device: torch.device) -> Iterator[None]:
    """Search with one thread what multiplies so little a step that several would wait longer than they work: on a
    machine with other work each of the many waits may cost milliseconds.

    Args:
        rows: hypotheses that are extended at once.
        size: that of the model.
        device: where it is.
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
