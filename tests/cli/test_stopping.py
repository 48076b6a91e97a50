"""Ctrl-C and SIGTERM: once, wherever they come."""

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transduce.apps.cli.failures import run
from transduce.apps.cli.stopping import Terminated, stoppable

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
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    for number, error in ((signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, Terminated)):
        with stoppable():
            with pytest.raises(error):
                os.kill(os.getpid(), number)
            os.kill(os.getpid(), number)  # passed on by who has started the command
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_a_signal_that_was_to_be_ignored_is() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with stoppable():
        os.kill(os.getpid(), signal.SIGINT)
    signal.signal(signal.SIGINT, before)


def test_an_import_is_let_finish_before_anything_is_raised(slow: signal.Signals) -> None:
    with pytest.raises(KeyboardInterrupt), stoppable():
        importlib.import_module("slow")
        for _ in range(100):
            time.sleep(0.05)
    assert sys.modules["slow"].finished


def test_before_a_verb_works_it_is_ended_at_once(slow: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "told"
    child = os.fork()
    if not child:
        os.dup2(os.open(told, os.O_WRONLY | os.O_CREAT), 2)
        with stoppable():
            exec("import slow", {"__name__": "transduce.apps.cli.verb"})
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


STARTED = """
import ctypes, hashlib, os, signal, sys, threading
from transduce.apps.cli import stopping
from transduce.apps.cli.failures import run
stopping.LOOK, stopping.STANDS, stopping.STANDS_SAVING = 0.02, 0.3, 0.3
libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(128)
libc.pthread_mutex_lock(mutex)
stop_soon = lambda: threading.Timer(0.2, os.kill, (os.getpid(), signal.{name})).start()
def wait_in_c():
    libc.pthread_mutex_lock(mutex)
def command():
    {command}
with stopping.stoppable() as stop:
    status = run(command, stop)
sys.exit(status)
"""


def end_of(command: str, number: signal.Signals) -> tuple[int, str]:
    """Returns the exit status of a process in which a command is asked to stop, and what it says."""
    script = STARTED.format(name=number.name, command=command.replace("\n", "\n    "))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "command",
    [
        "stop_soon(); wait_in_c()",
        "try:\n    stop_soon(); threading.Event().wait()\nfinally: wait_in_c()",
        "for n in (2, 15): signal.signal(n, lambda *_: None)\nstop_soon(); wait_in_c()",
    ],
    ids=["while it works", "while it cleans up", "with a handler of its own"],
)
def test_a_command_that_waits_in_c_code_for_ever_is_ended(command: str, number: signal.Signals) -> None:
    status, told = end_of(command, number)
    assert status == 128 + number
    assert told.startswith(f"transduce: {'terminated' if number == 15 else 'interrupted'} while it waited")
    assert "what was saved before is whole" in told and told.count("\n") == 1


def test_the_function_that_waits_is_named() -> None:
    lock = "Lock = type('Lock', (), {'fileno': lambda self: wait_in_c()})"
    _, told = end_of(f"from transduce.base import files\n{lock}\nstop_soon(); files.lock(Lock())", signal.SIGTERM)
    assert told == "transduce: terminated while it waited in base/files.py, lock; what was saved before is whole\n"


def test_a_command_that_still_computes_to_save_its_work_is_not_ended() -> None:
    """A single call of C code may be all that is left of an update."""
    work = "for n in (2, 15): signal.signal(n, lambda *_: None)\nstop_soon()\n"
    work += "hashlib.pbkdf2_hmac('sha512', b'', b'', 1_500_000)\nprint('saved', file=sys.stderr)"
    assert end_of(work, signal.SIGTERM) == (0, "saved\n")


def test_signals_of_a_fork_are_not_those_of_its_parent() -> None:
    fork = (
        "child = os.fork()\nif not child: signal.signal(15, lambda *_: None); os.kill(os.getpid(), 15); os._exit(0)\n"
    )
    assert end_of(f"{fork}os.waitpid(child, 0)\nthreading.Event().wait(1)", signal.SIGTERM) == (0, "")


def test_an_interpreter_that_waits_for_a_thread_at_its_end_is_ended_with_the_status_of_its_command() -> None:
    waiting = """
import sys, threading
from transduce import __main__
from transduce.apps.cli import main
__main__.LONGEST_END = 0.3
def fail():
    threading.Thread(target=threading.Event().wait).start()
    sys.exit(7)
main.main = fail
__main__.start()
"""
    done = subprocess.run([sys.executable, "-c", waiting], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (7, "")
