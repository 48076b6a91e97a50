"""The command line, run in the tests' own process."""

from collections.abc import Callable

import pytest

from transduce.cli.main import app, run


@pytest.fixture
def transduce(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Run the command in this process: exit status, standard output, standard error."""

    def call(*arguments: object) -> tuple[int, str, str]:
        status = run(lambda: app([str(argument) for argument in arguments]))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call
