"""Two processes that train together whatever they are told to: they meet once, and then work through one recipe after
another, each told by a line of JSON and answered by one."""

import contextlib
import functools
import json
import os
import select
import socket
import subprocess
import sys
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from unittest import mock

from supported.cells import Outcome

PATIENCE = 120  # seconds in which both have trained a tiny model, on a busy machine


def train_together(changes: Sequence[str], out: str, is_exact: bool) -> Outcome:
    """What comes of training the working folder's recipe by both."""
    partners = _start(os.getpid())
    order = {"folder": str(Path.cwd()), "changes": list(changes), "out": out, "is_exact": is_exact}
    order["cache"] = os.environ["TRANSDUCE_CACHE"]
    for one in partners:
        assert one.stdin
        one.stdin.write(f"{json.dumps(order)}\n")
        one.stdin.flush()
    answers = []
    for one in partners:
        if one.stdout and select.select([one.stdout], [], [], PATIENCE)[0]:
            answers.append(one.stdout.readline())
    if len(answers) == len(partners) and all(answers):
        return Outcome(**json.loads(answers[0]))
    for one in partners:
        one.kill()
        one.wait()
    _start.cache_clear()
    return Outcome("two processes did not end", is_broken=True)


@functools.cache
def _start(parent: int) -> tuple["subprocess.Popen[str]", ...]:
    """The two partners of a process."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    shared |= {"OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    return tuple(
        subprocess.Popen(
            [sys.executable, "-m", "supported.partners"],
            env={**os.environ, **shared, "RANK": rank, "LOCAL_RANK": rank},
            cwd="/",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in ("0", "1")
    )


def main() -> None:
    """Meet the other one, and train for each line until there are no more."""
    import torch
    from torch import distributed

    from supported.workplace import light, train
    from transduce.training.distributed import Processes

    distributed.init_process_group("gloo")
    waiting = distributed.new_group(backend="gloo")
    rank = distributed.get_rank()

    @contextlib.contextmanager
    def join_processes(device: torch.device) -> Iterator[Processes]:
        yield Processes(rank, 2, weakref.ref(waiting))
        distributed.barrier(group=waiting)

    answers = sys.stdout
    for line in sys.stdin:
        order = json.loads(line)
        os.environ["TRANSDUCE_CACHE"] = order["cache"]
        together = mock.patch("transduce.experiment.run.join_processes", join_processes)
        with contextlib.chdir(order["folder"]), light(order["is_exact"]), together:
            outcome = train(order["changes"], order["out"])
        answers.write(f"{json.dumps({'line': outcome.line, 'is_broken': outcome.is_broken})}\n")
        answers.flush()
    os._exit(0)  # no goodbye between threads of two processes, of which one may be gone


if __name__ == "__main__":
    main()
