"""Prints verbs' results and progress, and commands to be copied."""

import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec


def as_json(facts: object) -> str:
    """Returns facts for programs, on one line."""
    return msgspec.json.encode(facts).decode()


def print_json(facts: object) -> None:
    """Prints a result for programs."""
    print(as_json(facts))


def teller(quiet: bool = False, prefix: str = "transduce: ") -> Callable[[str], None]:
    """Returns a function that prints a line on standard error, or nothing if quiet."""
    return lambda line: None if quiet else print(f"{prefix}{line}", file=sys.stderr, flush=True)


def as_typed(command: str) -> str:
    """Returns a command with `transduce` written so that it works in this shell, which may not find it by its name."""
    return command.replace("transduce ", f"{_program()} ", 1)


def _program() -> str:
    started, known = Path(sys.argv[0]), shutil.which("transduce")
    is_script = started.name == "transduce" and started.is_file()
    if known is not None and (not is_script or Path(known).resolve() == started.resolve()):
        return "transduce"
    return _short(started.absolute()) if is_script else f"{_short(Path(sys.executable))} -m transduce"


def _short(path: Path) -> str:
    """Returns a path, relative to the working folder if it is inside."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
