"""Commands of the command line as tasks: one for each of several files."""

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from transduce.cluster.workers import Workers
from transduce.errors import InputError


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
        [sys.executable, "-m", "transduce", *command.arguments, "--output", str(command.output)]
        + ["--resume"] * (command.resumes and is_begun),
        cwd=command.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
    )
    lines = result.stderr.splitlines() or [""]
    if result.returncode:
        line = lines[-1].removeprefix("transduce: ")
        raise InputError(line if command.output.name in line else f"{command.output.name}: {line}")
    return result.stderr
