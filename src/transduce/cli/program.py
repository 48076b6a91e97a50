"""The name by which a user calls this program, for commands that are printed to be copied."""

import os
import shutil
import sys
from pathlib import Path


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
    """Returns a path from the working folder if it is in there."""
    return os.path.relpath(path) if path.is_relative_to(Path.cwd()) else str(path)
