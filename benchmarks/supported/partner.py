"""A process that trains as the second of two whenever it is told to: one line of JSON in, one out.

It is started once and not forked for each training: a fork of a process with threads may wait for ever.
"""

import contextlib
import functools
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

PATIENCE = 20  # seconds in which the partner has ended when the other has


@contextlib.contextmanager
def joined(environment: Mapping[str, str], is_exact: bool) -> Iterator[None]:
    """Let the partner train what the working folder's recipe says, beside the block, which does the same."""
    partner = _start(os.getpid())
    assert partner.stdin and partner.stdout
    order = {"folder": str(Path.cwd()), "environment": dict(environment), "is_exact": is_exact}
    partner.stdin.write(f"{json.dumps(order)}\n")
    partner.stdin.flush()
    yield
    if select.select([partner.stdout], [], [], PATIENCE)[0]:
        partner.stdout.readline()
    else:  # it waits for a process that has failed
        partner.kill()
        partner.wait()
        _start.cache_clear()


@functools.cache
def _start(parent: int) -> "subprocess.Popen[str]":
    """The partner of a process."""
    paths = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "supported.partner"]
    return subprocess.Popen(command, env=environment, cwd="/", stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def main() -> None:
    """Train for each line until there are no more."""
    from supported.workplace import TWO, light, train

    answers = sys.stdout
    for line in sys.stdin:
        order = json.loads(line)
        os.environ |= order["environment"]
        with contextlib.chdir(order["folder"]), light(order["is_exact"]):
            outcome = train((), TWO)
        answers.write(f"{outcome.line}\n")
        answers.flush()


if __name__ == "__main__":
    main()
