"""Watches the main thread of this process from another thread."""

import os
import sys
import threading
from pathlib import Path
from types import FrameType

PACKAGE = f"{Path(__file__).parents[1]}{os.sep}"
IDLE = 0.02  # the share of a core below which a process is taken to compute nothing


def innermost_frame() -> FrameType | None:
    """Returns the frame that the main thread runs, or in which it waits for a call of C code to return."""
    return sys._current_frames().get(threading.main_thread().ident or 0)


def describe_place(frame: FrameType | None) -> str:
    """Returns the file and the function of this package that a frame is in or was called from, such as
    "training/trainer.py, kept"."""
    while frame is not None and not frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename.removeprefix(PACKAGE)}, {frame.f_code.co_name}"
