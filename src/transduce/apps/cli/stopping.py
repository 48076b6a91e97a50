"""Ctrl-C and SIGTERM as exceptions in running code, but not in imports, which they might leave incomplete."""

import _thread
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from transduce.base.main_thread import IDLE, describe_place, innermost_frame

ONCE = 1.0  # seconds in which several signals are one: who starts the command may pass on a Ctrl-C that it has already
AGAIN = 0.05  # seconds until it is seen whether an import has ended
LOOK = 0.25  # seconds between two looks at a main thread that was asked to stop
STANDS = 5.0  # seconds that it may stay in one call of C code
STANDS_SAVING = 15.0  # the same where it stops by itself, as training and a server do, which save first
STANDS_COMPUTING = 150.0  # the same where it computes meanwhile, such as the last update's gradients


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
        is_reminder, self._is_reminder = self._is_reminder, False
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
        if importer.startswith("transduce.apps.cli."):
            _end(self.number)
        self._remind()

    def _remind(self) -> None:
        """Lets a thread call `handle` again in a moment."""

        def remind() -> None:
            self._is_reminder = True
            _thread.interrupt_main(signal.Signals(self.number or signal.SIGINT))

        threading.Timer(AGAIN, remind).start()


@contextmanager
def stoppable() -> Iterator[Stop]:
    """Handles Ctrl-C and SIGTERM, unless the caller has them ignored, as a shell does for background jobs.

    A process that does not stop within seconds, since its main thread stays in a call of C code, is ended.
    """
    stop = Stop()
    before: dict[signal.Signals, Any] = {}
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) == default:
            before[number] = signal.signal(number, stop.handle)
    try:
        with _watched(stop):
            yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _watched(stop: Stop) -> Iterator[None]:
    """Lets a thread end the process if the main thread does not act on a signal: Python calls handlers in the main
    thread alone, which may wait in C code for another process or a lock for any time."""
    hears, tells = socket.socketpair()
    tells.setblocking(False)
    before = signal.set_wakeup_fd(tells.fileno(), warn_on_full_buffer=False)
    watching = threading.Thread(target=_watch, args=(hears, stop), daemon=True)
    watching.start()
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        tells.close()
        watching.join()
        hears.close()


def _watch(hears: socket.socket, stop: Stop) -> None:
    """Ends the process if it was asked to stop and the main thread then stays where it is; returns once nothing can be
    heard any more.

    Args:
        hears: gives a byte for each signal, its number.
        stop: handles the signals, unless the running command has handlers of its own.
    """
    number, asked_at, since, computed = 0, 0.0, 0.0, 0.0
    place: object = None
    while True:
        try:
            heard = hears.recv(1)
        except TimeoutError:
            heard = None
        if heard == b"":
            return
        if heard is not None and heard[0] not in (signal.SIGINT, signal.SIGTERM):
            continue
        now, frame = time.monotonic(), innermost_frame()
        if not number:
            number, asked_at = ord(heard or b"\0"), now
            hears.settimeout(LOOK)
        is_own = signal.getsignal(number) == stop.handle
        at = frame, frame.f_lasti if frame else 0
        if at != place:
            place, since, computed = at, now, time.process_time()
        is_computing = time.process_time() - computed > (now - since) * IDLE
        longest = STANDS if is_own else STANDS_COMPUTING if is_computing else STANDS_SAVING
        is_repeated = heard is not None and now - asked_at > ONCE and is_own and stop.number is None
        if is_repeated or now - since >= longest:
            where = describe_place(frame)
            _end(number, f" while it waited{f' in {where}' if where else ''}; what was saved before is whole")


def _forget_watch() -> None:
    """Keeps a fork's signals from the thread that watches its parent."""
    signal.set_wakeup_fd(-1)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_watch)


def _importer(frame: FrameType | None) -> str | None:
    """Returns the module whose import statement is running, the outermost one; None if there is none."""
    importing = None
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            importing = frame.f_back
        frame = frame.f_back
    return None if importing is None else str(importing.f_globals.get("__name__", ""))


def _end(number: int, where: str = "") -> None:
    """Ends the process at once, with a message."""
    with suppress(OSError):  # standard error may be gone
        os.write(2, f"transduce: {'terminated' if number == signal.SIGTERM else 'interrupted'}{where}\n".encode())
    os._exit(128 + number)
