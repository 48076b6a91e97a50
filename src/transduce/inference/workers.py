"""Batches at the same time, each by a thread of its own: small operators leave nothing for several to share."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

MOST = 4
"""More than that would wait for each other in Python."""

_sharing = threading.Lock()

Task = TypeVar("Task")
Result = TypeVar("Result")


def workers_at_most() -> int:
    """How many threads of one batch each PyTorch's threads are enough for."""
    return min(torch.get_num_threads(), MOST)


def at_the_same_time(work: Callable[[Task], Result], tasks: Sequence[Task], workers: int) -> Iterator[Result]:
    """What each task gives, in their order; PyTorch's threads are shared out to those that work meanwhile.

    Few tasks, which might leave a worker without any for long, are done one after the other by all threads. So are
    those of a caller that comes while another's are done: how many threads there are is said for the whole process.
    """
    if workers < 2 or len(tasks) < 2 * workers or not _sharing.acquire(blocking=False):
        yield from map(work, tasks)
        return
    threads = torch.get_num_threads()
    pool = ThreadPoolExecutor(workers, initializer=torch.set_num_threads, initargs=(max(threads // workers, 1),))
    try:
        yield from pool.map(work, tasks)
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(threads)  # a thread's own number is also that of threads to come
        _sharing.release()
