"""Peaks of a process's resident memory, as Linux tells them."""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def status(key: str) -> float:
    """A size of this process, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:")) / 1024


def forget_peak() -> None:
    """Let the peak be what is resident now."""
    Path("/proc/self/clear_refs").write_text("5")


def watch(place: Any, name: str, told: Callable[[float, float], object]) -> None:
    """From now on, tell after each call of a function of this place the peak, in MiB, and the seconds it took."""
    function = getattr(place, name)

    def watched(*arguments: Any, **named: Any) -> Any:
        forget_peak()
        started = time.monotonic()
        try:
            return function(*arguments, **named)
        finally:
            told(status("VmHWM"), time.monotonic() - started)

    setattr(place, name, watched)


def peak_of(command: list[str]) -> float:
    """Most resident memory of a command, in MiB, the interpreter and torch included."""
    program = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", program, *command], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[-1]) / 1024
