"""Lets the processes of a run find each other, also after torchrun has started all of them again.

torchrun keeps one store for all of its attempts, with addresses of processes that are gone; the number of the attempt
does not tell them apart, since machines count differently. So processes meet under a new name each time.
"""

import os
import time
import uuid
from datetime import timedelta

from torch import distributed
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

PAUSE = 0.1  # seconds between two questions to a store
CALL = "call"
"""The key under which the first process leaves the name of a meeting."""


def meet(rank: int, count: int, timeout: timedelta) -> distributed.Store:
    """Returns a store in which all processes are, and nothing of processes before them.

    torchrun keeps one store for all of its attempts: what processes of an earlier attempt left there, such as their
    addresses, would be taken for that of the new ones, and its number of the attempt differs between machines. So the
    first process calls the others to a meeting under a new name, and begins it once all have answered.

    Raises ConnectionError if they have not within the timeout.
    """
    store, _, _ = next(rendezvous("env://", rank, count, timeout=timeout))
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        return store
    until = time.monotonic() + timeout.total_seconds()
    name = uuid.uuid4().hex
    if rank == 0:
        store.set(CALL, name)
        answers = [_answer(name, other) for other in range(1, count)]
        while answers and not store.check(answers):
            _wait(until)
        store.set(_begun(name), "")
        return PrefixStore(name, store)
    answered: dict[str, bool] = {}
    while True:
        name = store.get(CALL).decode()
        if name not in answered:  # if a process of this rank has answered before, the meeting was an earlier attempt's
            answered[name] = store.add(_answer(name, rank), 1) == 1
        if answered[name] and store.check([_begun(name)]):
            return PrefixStore(name, store)
        _wait(until)


def _answer(name: str, rank: int) -> str:
    return f"{name}/answer/{rank}"


def _begun(name: str) -> str:
    return f"{name}/begun"


def _wait(until: float) -> None:
    if time.monotonic() > until:
        raise ConnectionError("the other processes of this run were not there in time; start all of them again")
    time.sleep(PAUSE)
