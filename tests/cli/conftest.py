"""The command line, run in the tests' own process or in one of its own."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from transduce.apps.cli.main import app, run


@pytest.fixture
def transduce(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: exit status, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = run(lambda: app([str(argument) for argument in arguments]))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start the command in a process of its own, with pipes for its three streams."""
    started = []

    def call(*arguments: object, **options: Any) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "transduce", *(str(argument) for argument in arguments)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        # A line is not there for a reader before the command counts it.
        options.setdefault("env", os.environ | {"PYTHONUNBUFFERED": ""})
        process = subprocess.Popen(command, text=True, **(pipes | options))
        started.append(process)
        return process

    yield call
    for process in started:
        process.kill()
        process.communicate()
