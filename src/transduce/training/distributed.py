"""One run on several processes, started by torchrun: each works through some parts of every update's batch."""

import importlib
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

import torch
from torch import Tensor, distributed

from transduce.base.devices import find_device
from transduce.base.errors import ConfigError
from transduce.data.planned import Plan, Rows
from transduce.training.heartbeat import heartbeat
from transduce.training.launch import ENDED
from transduce.training.meeting import meet
from transduce.training.out_of_memory import naming_shortage

T = TypeVar("T")
EXCHANGE = timedelta(minutes=30)  # within which all reach an exchange of numbers, since their work is about equal
PATIENCE = timedelta(hours=2)  # within which the others wait while the first process reads data or validates
WORDS_OF_EXCHANGE = ("gloo", "nccl", "connection")
"""Words in the errors of an exchange in which another process takes no part any more."""
BEYOND_MEMORY = (
    "out of memory during communication between processes; use fewer processes per machine, or a smaller model"
)


@dataclass(frozen=True)
class Part:
    """A part of a batch that a process works through."""

    rows: Rows
    counts: bool = True
    """False if another process has this part: this one only works through it because others have a part more."""


@dataclass(frozen=True)
class Processes:
    """The processes of a run, and the rank of this one; a single process exchanges nothing."""

    rank: int = 0
    """Number of this process, from 0."""
    count: int = 1
    waiting: Callable[[], distributed.ProcessGroup | None] = lambda: None
    """Returns the gloo group in which processes wait for each other for any time; gloo reports at once when one has
    ended."""

    @property
    def is_first(self) -> bool:
        """True if this process is the first, which writes, validates and prints."""
        return self.rank == 0

    def deal(self, parts: Plan) -> list[Part]:
        """Returns the parts of a batch that this process works through, every `count`-th, as many as every other."""
        own = [Part(rows) for rows in self.share(parts)]
        return own if len(own) * self.count >= len(parts) else [*own, Part(parts[0], counts=False)]

    def all_reduce(self, numbers: Tensor) -> None:
        """Replaces numbers by their sums over all processes."""
        if self.count > 1:
            with _naming_failure():
                distributed.all_reduce(numbers)

    def share(self, values: Sequence[T]) -> Sequence[T]:
        """Returns the values that this process works through, every `count`-th."""
        return values[self.rank :: self.count]

    def gather_shares(self, own: Sequence[T]) -> list[T]:
        """Returns what all processes made of their shares, in the order of the values that were shared out."""
        of_each = self.all_gather(list(own))
        return [each[number] for number in range(len(of_each[0])) for each in of_each if number < len(each)]

    def agree(self, *claims: bool) -> list[bool]:
        """Returns for each claim whether any process makes it; GPUs are not waited for."""
        if self.count == 1:
            return list(claims)
        numbers = torch.tensor(claims, dtype=torch.int64)
        with _naming_failure():
            distributed.all_reduce(numbers, group=self.waiting())
        return [bool(number) for number in numbers.tolist()]

    @contextmanager
    def exchanging(self) -> Iterator[None]:
        """Names the failure of an exchange that is made in the block among other things, whose errors stay."""
        try:
            yield
        except RuntimeError as error:
            if self.count == 1 or not any(word in str(error).lower() for word in WORDS_OF_EXCHANGE):
                raise
            raise _ended(error) from None

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


ALONE = Processes()
"""The only process of a run."""


@contextmanager
def join_processes(device: torch.device) -> Iterator[Processes]:
    """Joins the processes that torchrun started, over nccl between GPUs, else gloo; without torchrun, a single
    process."""
    count = _from_torchrun("WORLD_SIZE")
    if count == 1:
        yield ALONE
        return
    # PyTorch imports it at some time anyway, and its functions keep the group of that moment as their default; but the
    # threads of a group that is kept are never joined, and abort the process if the interpreter ends before them.
    importlib.import_module("torch.distributed.nn.functional")
    rank = int(os.environ["RANK"])
    with _naming_failure():
        store = meet(rank, count, EXCHANGE)
    with heartbeat(store, rank, count):
        backend = "nccl" if device.type == "cuda" else "gloo"
        with _naming_failure():
            distributed.init_process_group(backend, timeout=EXCHANGE, store=store, rank=rank, world_size=count)
        try:
            waiting = distributed.new_group(backend="gloo", timeout=PATIENCE)
            yield Processes(rank, count, weakref.ref(waiting))  # weakly: see above
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
        raise _ended(error) from None


def _ended(error: RuntimeError) -> ConnectionError:
    return ConnectionError(f"{ENDED} ({str(error).splitlines()[0]})")
