"""Commands of the command line as tasks: one for each of several files."""

import ctypes
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.apps.cluster.workers import GO_ON, TaskEndedError, Workers
from transduce.base.errors import InputError

PROGRAM = ("-m", "transduce")
PR_SET_PDEATHSIG = 1  # of linux/prctl.h


@dataclass(frozen=True)
class Command:
    """A command without the option for its output, a file."""

    arguments: tuple[str, ...]
    output: Path
    folder: Path
    """The folder that it runs in."""
    resumes: bool = False
    """True if it goes on, with --resume, where an interruption has left it."""


def run_commands(commands: Sequence[Command], workers: Workers) -> Iterator[str]:
    """Runs the commands whose output is not there; yields what each reports. Raises InputError for one that fails."""
    return workers.map(_run, [command for command in commands if not command.output.exists()])


def _run(command: Command) -> str:
    is_begun = command.output.with_name(f"{command.output.name}.partial").exists()
    result = subprocess.run(
        [sys.executable, *PROGRAM, *command.arguments, "--output", str(command.output)]
        + ["--resume"] * (command.resumes and is_begun),
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        preexec_fn=_end_with_parent if sys.platform == "linux" else None,
    )
    lines = result.stderr.splitlines() or [""]
    if result.returncode < 0:
        raise TaskEndedError(f"{command.output.name}: its process was ended by signal {-result.returncode}; {GO_ON}")
    if result.returncode:
        line = lines[-1].removeprefix("transduce: ")
        raise InputError(line if command.output.name in line else f"{command.output.name}: {line}")
    return result.stderr


def _end_with_parent() -> None:
    """Lets the kernel end this process when its worker ends, so that nobody else writes what the next try writes."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
