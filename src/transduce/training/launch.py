"""Starting all processes of a run on one machine from the first; torchrun starts those of several machines.

The first process starts the others and has rank 0, instead of becoming torchrun's child: so a mistake is one line, and
Ctrl-C ends with status 130, where torchrun adds a traceback of its own.
"""

import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from transduce.base.errors import ConfigError, Interrupted

RESUME = "resume the run to go on from the last checkpoint"
ENDED = f"another process of this run has ended; {RESUME}"
PATIENCE = 60  # seconds in which the others end when the first has
INTERVAL = 0.5  # seconds between two looks at the others
GRACE = 10  # seconds in which a process notices by itself that another has ended
STARTER = "TRANSDUCE_STARTER"
"""The environment variable with the process id of the one that started this process."""
AS_ASKED = (0, 130)
"""Exit codes of a process that made all updates, or that was asked to stop."""


@contextmanager
def beside(command: Sequence[str], count: int, give_up: Callable[[str], object]) -> Iterator[None]:
    """Runs the command as processes 1 to count - 1 of a run, of which this process becomes the first; nothing if
    this is already one of them.

    All react to Ctrl-C and SIGTERM together. The others' output is shown only if one of them ends alone; then all end.

    Args:
        command: starts a process that calls this function too, with the same count.
        count: of all processes, this one included.
        give_up: ends this process at once with a line of text. It is called from a thread, if another process has
            ended and this one, which may be busy or waiting for its gradients, has not noticed.
    """
    if count == 1:
        yield
        return
    if _is_started(count):
        with _watch(_starter_has_ended, give_up):
            yield
        return
    sizes = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    variables = {**sizes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    with tempfile.TemporaryFile() as said:
        others = [
            subprocess.Popen(
                command,
                env={**os.environ, **variables, "RANK": str(rank), "LOCAL_RANK": str(rank), STARTER: str(os.getpid())},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
            for rank in range(1, count)
        ]
        os.environ.update(variables, RANK="0", LOCAL_RANK="0")

        def end_all(line: str) -> None:
            for other in others:
                other.kill()
            give_up(line + _last_line(said))

        try:
            with _watch(lambda: any(other.poll() not in (None, *AS_ASKED) for other in others), end_all):
                yield
        except (Interrupted, ConnectionError) as error:
            _wait(others)
            if isinstance(error, ConnectionError):
                raise ConnectionError(f"{error}{_last_line(said)}") from None
            raise
        except BaseException:
            for other in others:
                other.terminate()
            raise
        finally:
            _wait(others)
            for name in (*variables, "RANK", "LOCAL_RANK"):
                del os.environ[name]


@contextmanager
def _watch(has_ended: Callable[[], bool], give_up: Callable[[str], object]) -> Iterator[None]:
    """Calls `give_up` if another process has ended and the block has not, some time later."""
    is_over = threading.Event()

    def look() -> None:
        while not is_over.wait(INTERVAL):
            if has_ended():
                if not is_over.wait(GRACE):
                    give_up(ENDED)
                return

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def _starter_has_ended() -> bool:
    """Returns True if the process that started this one has ended; False under torchrun, which ends its own
    processes."""
    return os.environ.get(STARTER, str(os.getppid())) != str(os.getppid())


def _is_started(count: int) -> bool:
    """Returns True if this is one of `count` processes already; raises ConfigError if torchrun started another
    number."""
    started = os.environ.get("WORLD_SIZE")
    if started not in (None, str(count)):
        raise ConfigError(f"{count} processes requested, but torchrun started {started}; do not set processes")
    return started is not None


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


def _wait(others: Sequence[subprocess.Popen[bytes]]) -> None:
    for other in others:
        try:
            other.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            other.kill()
            other.wait()


def _last_line(said: IO[bytes]) -> str:
    said.seek(0)
    lines = said.read().decode(errors="replace").split("\n")
    last = next((line for line in reversed(lines) if line.strip()), None)
    return f"; it said: {last}" if last else ""
