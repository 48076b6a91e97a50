"""What the main thread of this process is doing, as another thread sees it."""

import os
import sys
import threading
from pathlib import Path
from types import FrameType

PACKAGE = f"{Path(__file__).parent}{os.sep}"
TASKS = Path("/proc/self/task")
"""The threads of this process on Linux; elsewhere there is no such folder."""


def innermost_frame() -> FrameType | None:
    """Returns the frame that the main thread runs, or in which it waits for a call of C code to return."""
    return sys._current_frames().get(threading.main_thread().ident or 0)


def describe_place(frame: FrameType | None) -> str:
    """Returns the file and the function of this package that a frame is in or was called from, such as
    "training/trainer.py, kept"."""
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.removeprefix(PACKAGE)}, {frame.f_code.co_name}"


def is_working() -> bool:
    """Returns True if a thread other than the calling one computes or waits for a disk; True where that is unknown."""
    own = threading.get_native_id()
    try:
        states = [_state(thread) for thread in TASKS.iterdir() if thread.name != str(own)]
    except OSError:
        return True
    return any(state in "RD" for state in states)


def switches() -> int:
    """Returns how often the main thread has been woken or suspended, which does not grow while it waits in one call; a
    random number where that is unknown."""
    try:
        lines = (TASKS / str(threading.main_thread().native_id) / "status").read_text().splitlines()
    except OSError:
        return int.from_bytes(os.urandom(8))
    return sum(int(line.split()[1]) for line in lines if "ctxt_switches" in line)


def _state(thread: Path) -> str:
    """Returns the letter of a thread's state; S for one that has just ended."""
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "S"
