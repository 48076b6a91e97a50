"""Ctrl-C and SIGTERM: once, wherever they come."""

import importlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from transduce.cli.failures import run
from transduce.cli.stopping import Terminated, stoppable

SLOW = """
import os, signal, time
os.kill(os.getpid(), signal.{name})
time.sleep(0.2)
finished = True
"""


@pytest.fixture(params=["SIGINT", "SIGTERM"])
def slow(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> signal.Signals:
    """The signal that comes while a module `slow` is imported."""
    (tmp_path / "slow.py").write_text(SLOW.format(name=request.param))
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow", raising=False)
    return signal.Signals[request.param]


def test_a_signal_is_raised_once_and_handlers_are_as_before() -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)]
    for number, error in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)):
        with stoppable():
            with pytest.raises(error):
                os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)  # passed on by who has started the command
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)] == before


def test_a_signal_that_was_to_be_ignored_is() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stoppable():
        os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_import_is_let_finish_before_anything_is_raised(slow: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), stoppable():
        importlib.import_module("slow")
        time.sleep(5)
    assert sys.modules["slow"].finished


def test_before_a_verb_works_it_is_ended_at_once(slow: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "told"
    child = os.fork()
    if not child:
        os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT), 2)
        with stoppable():
            exec("import slow", {"__name__": "transduce.cli.verb"})
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 128 + slow
    assert told.read_text() in ("transduce: interrupted\n", "transduce: terminated\n")


def test_another_error_that_a_library_makes_of_it_is_reported_as_what_it_was(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def command() -> None:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        except KeyboardInterrupt:
            raise ValueError("could not determine the shape") from None

    with stoppable() as stop:
        assert run(command, stop) == 143
    assert capsys.readouterr().err == "transduce: terminated\n"
