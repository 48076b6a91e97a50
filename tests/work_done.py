"""Counts the work of code as lines of Python that run in all threads, which no other process and no clock changes."""

import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_run(work: Callable[[], object], of: str = "transduce") -> int:
    """The number of lines of modules of a package that run while work is done."""
    count = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        if event == "call":
            return trace if str(frame.f_globals.get("__name__", "")).startswith(of) else None
        count += event == "line"
        return trace

    threading.settrace(trace)  # of threads that begin from here on
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
        threading.settrace(None)  # type: ignore[arg-type]
    return count
