"""What a document can do to the process that reads it; the fork server of the tests imports this file, too."""

import os
import re
import resource
import signal
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from docsegments.document_formats import read_document
from transduce.apps.serving.documents import messages, worker


def work(connection: Connection, limits: worker.ProcessLimits) -> None:
    """The work of a process, whose reader obeys the documents above."""

    def read(data: bytes, *others: Any) -> Any:
        text = data.decode(errors="replace").strip("\ufeff")
        if text == "loops":
            re.match("(a+)+$", "a" * 64 + "b")  # holds the interpreter for ages
        elif text == "works for half a second":
            until = time.process_time() + 0.5
            while time.process_time() < until:
                pass
        elif text == "eats memory":
            return [bytearray(2**20) for _ in range(2**20)]
        elif text == "kills its process":
            os.kill(os.getpid(), signal.SIGSEGV)
        elif text == "makes a mistake":
            raise IndexError(f"in the middle of {text}")
        elif text == "says what it must not":
            connection.send_bytes(messages.encode(messages.WrittenFiles([b"made up"])))
        return read_document(data, *others)

    worker.read_document = read
    worker.work(connection, limits)


def report(connection: Connection, limits: worker.ProcessLimits) -> None:
    """The work of a process that only says what it has."""
    worker.confine(limits, connection.fileno())
    connection.recv_bytes()
    opened = []
    for number in range(300):
        with suppress(OSError):
            opened.append((number, str(Path(f"/proc/self/fd/{number}").readlink())))
    had: dict[str, Any] = {
        name: resource.getrlimit(kind)[0]
        for name, kind in {
            "memory": resource.RLIMIT_DATA,
            "seconds": resource.RLIMIT_CPU,
            "written": resource.RLIMIT_FSIZE,
            "core": resource.RLIMIT_CORE,
        }.items()
    }
    had["nowhere"] = [number for number, path in opened if path == os.devnull]
    had["elsewhere"] = len(opened) - len(had["nowhere"])
    connection.send_bytes(messages.encode(messages.Sampled(repr(had))))
    os._exit(0)
