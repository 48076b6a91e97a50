"""The processes of a run on one machine, started by the first of them; torchrun starts those of several machines."""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from transduce.errors import ConfigError
from transduce.training.signals import Interrupted

PATIENCE = 60  # seconds in which the others end when the first has


@contextmanager
def beside(arguments: Sequence[str], count: int) -> Iterator[None]:
    """Run `transduce` with these arguments as processes 1 to count - 1 of a run, of which this process becomes the
    first; nothing where this is already one of them.

    All answer to Ctrl-C and SIGTERM as one. What the others say is told only if one of them ends alone.
    """
    if count == 1 or _is_started(count):
        yield
        return
    sizes = {"WORLD_SIZE": str(count), "LOCAL_WORLD_SIZE": str(count)}
    places = {**sizes, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(_free_port())}
    with tempfile.TemporaryFile() as said:
        others = [
            subprocess.Popen(
                [sys.executable, "-m", "transduce", *arguments],
                env={**os.environ, **places, "RANK": str(rank), "LOCAL_RANK": str(rank)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )
            for rank in range(1, count)
        ]
        os.environ.update(places, RANK="0", LOCAL_RANK="0")
        try:
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
            for name in (*places, "RANK", "LOCAL_RANK"):
                del os.environ[name]


def _is_started(count: int) -> bool:
    """Whether this is one of so many processes already; raises ConfigError if it is one of another number."""
    started = os.environ.get("WORLD_SIZE")
    if started not in (None, str(count)):
        raise ConfigError(f"--processes {count}, but torchrun has started {started}; leave --processes out")
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
