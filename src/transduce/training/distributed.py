"""One run on several processes, started by torchrun: each works through a part of every update's batch."""

import importlib
import os
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, distributed, nn

from transduce.devices import find_device
from transduce.errors import ConfigError
from transduce.training.gradient_sums import GradientSums
from transduce.training.launch import ENDED
from transduce.training.memory import naming_shortage

T = TypeVar("T")
EXCHANGE = timedelta(minutes=30)  # within which all reach an exchange of numbers, since their work is about equal
PATIENCE = timedelta(hours=2)  # within which the others wait while the first process reads data or validates
BEYOND_MEMORY = (
    "out of memory during communication between processes; use fewer processes per machine, or a smaller model"
)


@dataclass(frozen=True)
class Processes:
    """The processes of a run, and the rank of this one; a single process exchanges nothing."""

    rank: int = 0
    """Number of this process, from 0."""
    count: int = 1
    gradient_sums: GradientSums | None = None
    waiting: Callable[[], distributed.ProcessGroup | None] = lambda: None
    """Returns the gloo group in which processes wait for each other for any time; gloo reports at once when one has
    ended."""

    @property
    def is_first(self) -> bool:
        """True if this process is the first, which writes, validates and prints."""
        return self.rank == 0

    def share(self, pairs: NDArray[np.int64], turn: int) -> NDArray[np.int64]:
        """Returns this process's share of pairs sorted by length: about as many, and as long, as every other's.

        If they do not divide evenly, the process that gets one more changes with the turn.
        """
        return pairs[(self.rank + turn) % self.count :: self.count]

    def all_reduce(self, numbers: Tensor) -> None:
        """Replaces numbers by their sums over all processes."""
        if self.count > 1:
            with _naming_failure():
                distributed.all_reduce(numbers)

    @torch.no_grad()
    def all_reduce_gradients(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replaces the gradients, where None is zero, by their sums over all processes.

        They are sums over tokens, not means, and are complete once an update, after its last part; so this is one
        exchange of float32 masters' gradients, where DistributedDataParallel would average those of each part.
        """
        if self.count == 1:
            return
        assert self.gradient_sums is not None
        parameters = list(parameters)
        for parameter in parameters:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
        with _naming_failure():
            self.gradient_sums.all_reduce([parameter.grad for parameter in parameters if parameter.grad is not None])

    def broadcast(self, make: Callable[[], T]) -> T:
        """Returns in all processes what `make` returns in the first."""
        if self.count == 1:
            return make()
        box = [make() if self.is_first else None]
        with _naming_failure():
            distributed.broadcast_object_list(box, group=self.waiting())
        return box[0]  # type: ignore[return-value]

    def all_gather(self, value: T) -> list[T]:
        """Returns the value of each process, by rank."""
        if self.count == 1:
            return [value]
        values: list[Any] = [None] * self.count
        with _naming_failure():
            distributed.all_gather_object(values, value, group=self.waiting())
        return values

    @contextmanager
    def first_process_first(self) -> Iterator[None]:
        """Runs the block in the first process, then in the others, which read what it cached."""
        if self.count > 1 and not self.is_first:
            with _naming_failure():
                distributed.barrier(group=self.waiting())
        yield
        if self.count > 1 and self.is_first:
            with _naming_failure():
                distributed.barrier(group=self.waiting())


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Joins the processes that torchrun started, over nccl between GPUs, else gloo; without torchrun, a single
    process."""
    count = _from_torchrun("WORLD_SIZE")
    if count == 1:
        yield Processes()
        return
    # PyTorch imports it at some time anyway, and its functions keep the group of that moment as their default; but the
    # threads of a group that is kept are never joined, and abort the process if the interpreter ends before them.
    importlib.import_module("torch.distributed.nn.functional")
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo", timeout=EXCHANGE)
    try:
        rank = distributed.get_rank()
        can_share = device.type == "cpu" and os.environ.get("LOCAL_WORLD_SIZE") == str(count)
        waiting = distributed.new_group(backend="gloo", timeout=PATIENCE)
        yield Processes(rank, count, GradientSums(rank, count, can_share), weakref.ref(waiting))  # weakly: see above
        with _naming_failure():
            distributed.barrier(group=waiting)  # none leaves while another still listens to it
    finally:
        distributed.destroy_process_group()


def is_first_process() -> bool:
    """Returns True in the first of torchrun's processes, which prints, or in the only process."""
    return os.environ.get("RANK", "0") == "0"


def local_device(name: str, processes: int = 1) -> torch.device:
    """Returns the device of that name for this process; of several processes on a machine, started or about to be, each
    has its own GPU.

    Raises ConfigError for a missing device, or too few for the processes.
    """
    device = find_device(name, max(processes, _from_torchrun("LOCAL_WORLD_SIZE")))
    if device.type == "cuda" and device.index is None and "LOCAL_RANK" in os.environ:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    return device


def _from_torchrun(name: str) -> int:
    """Returns the number of processes in an environment variable; raises ConfigError if it is not a number."""
    value = os.environ.get(name, "1")
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"{name} = '{value}' in the environment, where torchrun sets a number of processes; unset it")
    return int(value)


@contextmanager
def _naming_failure() -> Iterator[None]:
    try:
        with naming_shortage(lambda: BEYOND_MEMORY):
            yield
    except RuntimeError as error:
        raise ConnectionError(f"{ENDED} ({str(error).splitlines()[0]})") from None
