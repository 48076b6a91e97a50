"""Stopping a run at Ctrl-C or SIGTERM without losing anything."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def catch_signals() -> Iterator[Callable[[], bool]]:
    """Catches Ctrl-C and SIGTERM, so that the run stops after its update; a second Ctrl-C stops it at once."""
    asked: list[float] = []

    def remember(number: int, frame: FrameType | None) -> None:
        # torchrun passes on the Ctrl-C that the terminal has sent already: twice within a second is once.
        if asked and number == signal.SIGINT and time.monotonic() - asked[0] > 1:
            raise KeyboardInterrupt
        asked.append(time.monotonic())

    try:
        before = {number: signal.signal(number, remember) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: the caller handles signals
        before = {}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
