"""Ctrl-C and SIGTERM as exceptions in running code, but not in imports, which they might leave incomplete."""

import _thread
import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ONCE = 1.0  # seconds in which several signals are one: who starts the command may pass on a Ctrl-C that it has already
AGAIN = 0.05  # seconds until it is seen whether an import has ended
ALARM = getattr(signal, "SIGALRM", None)  # Windows has none


class Terminated(KeyboardInterrupt):
    """An error for SIGTERM, which asks the command to stop, as Ctrl-C does."""


class Stop:
    """The signal by which the command was asked to stop, if it was."""

    def __init__(self) -> None:
        self.number: int | None = None
        self._asked_at = 0.0
        self._is_raised = False
        self._is_reminder = False

    def error(self) -> KeyboardInterrupt:
        """Returns the error to raise."""
        return Terminated() if self.number == signal.SIGTERM else KeyboardInterrupt()

    def handle(self, number: int, frame: FrameType | None) -> None:
        """Raises the error in the running code, once; a signal that comes more than a second later ends the process.

        Modules may catch an error that is raised while they are imported, and stay incomplete. So an import may finish
        first; but during a verb's own imports, before its work, the process ends at once, since nothing can be lost.
        """
        is_reminder, self._is_reminder = self._is_reminder or number == ALARM, False
        if not is_reminder:
            if self.number is None:
                self.number, self._asked_at = number, time.monotonic()
            elif time.monotonic() - self._asked_at < ONCE:
                return
            else:
                _end(number)
        if self.number is None or self._is_raised:
            return
        importer = _importer(frame)
        if importer is None:
            self._is_raised = True
            raise self.error()
        if importer.startswith("transduce.cli."):
            _end(self.number)
        self._remind()

    def _remind(self) -> None:
        """Lets `handle` be called again in a moment: by an alarm, or by a thread where the system has none."""
        if ALARM is not None:
            signal.setitimer(signal.ITIMER_REAL, AGAIN)
            return

        def remind() -> None:
            self._is_reminder = True
            _thread.interrupt_main(signal.Signals(self.number or signal.SIGINT))

        threading.Timer(AGAIN, remind).start()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Handles Ctrl-C and SIGTERM, unless the caller has them ignored, as a shell does for background jobs."""
    stop = Stop()
    before = {} if ALARM is None else {ALARM: signal.signal(ALARM, stop.handle)}
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) == default:
            before[number] = signal.signal(number, stop.handle)
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _importer(frame: FrameType | None) -> str | None:
    """Returns the module whose import statement is running, the outermost one; None if there is none."""
    importing = None
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            importing = frame.f_back
        frame = frame.f_back
    return None if importing is None else str(importing.f_globals.get("__name__", ""))


def _end(number: int) -> None:
    """Ends the process at once, with a message."""
    os.write(2, b"transduce: terminated\n" if number == signal.SIGTERM else b"transduce: interrupted\n")
    os._exit(128 + number)
