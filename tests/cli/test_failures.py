"""How the command ends: whatever fails is one line, and nothing shows a traceback that is not asked for."""

import errno
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from transduce.apps.cli.failures import describe, run
from transduce.apps.cli.main import app
from transduce.apps.cli.stopping import Terminated
from transduce.base.errors import InputError, Interrupted

pytestmark = pytest.mark.slow

Command = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]


class PanicException(BaseException):
    """As a panic in a library's Rust comes: no Exception."""


def shell(command: str, *arguments: object) -> "subprocess.CompletedProcess[str]":
    """What bash makes of a command in which $transduce is the program, and $1, $2 ... the arguments."""
    program = f'transduce() {{ {sys.executable} -m transduce "$@"; }}\n{command}'
    words = ["bash", "-c", program, "bash", *(str(argument) for argument in arguments)]
    return subprocess.run(words, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def fail(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


@pytest.mark.parametrize(
    ("error", "status", "told"),
    [
        (InputError("that will not do"), 2, "that will not do"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "unexpected ZeroDivisionError: division by zero; --debug shows the traceback",
        ),
        (RecursionError("maximum depth"), 1, "unexpected RecursionError: maximum depth"),
        (AssertionError(), 1, "unexpected AssertionError; --debug"),
        (RuntimeError("many\nlines " + "x" * 999), 1, "unexpected RuntimeError: many lines xxx"),
        (PanicException("index out of bounds"), 1, "unexpected PanicException: index out of bounds"),
        (MemoryError(), 1, "out of memory"),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB"), 1, "out of memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried"), 1, "out of memory"),
        (FloatingPointError("the loss is not finite"), 1, "the loss is not finite"),
        (OSError(errno.ENOSPC, "No space left on device", "model"), 1, "the disk is full while writing model"),
        (PermissionError(errno.EACCES, "Permission denied", "secret"), 1, "secret: Permission denied"),
        (OSError(errno.EBADF, "Bad file descriptor"), 2, "standard input or output is closed"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 1, "Broken pipe"),  # another pipe than ours
        (UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates"), 2, r"'a\udcff' holds bytes that are not UTF-8"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (Terminated(), 143, "terminated"),
    ],
)
def test_every_failure_is_one_line_and_a_status(
    error: BaseException, status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(fail(error)) == status
    output, errors = capsys.readouterr()
    assert errors.startswith(f"transduce: {told}")
    assert errors.count("\n") == 1
    assert len(errors) < 400
    assert output == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--beem"], "no such option"),
        (["translat"], "no such command 'translat'"),
        (["translate"], "issing argument"),
        (["translate", "a", "b", "c"], "unexpected extra argument"),
        (["translate", "a", "--n-bst", "3"], "--n-bst"),
        (["translate", "a", "--beam-size", "0"], "--beam-size must be from 1 to 1,000, but is 0"),
        (["translate", "a", "--beam-size", "many"], "invalid value for '--beam-size'"),
        (["translate", "a", "--beam-size"], "--beam-size"),
        (["translate", "a", "--precision", "float7"], "invalid value for '--precision'"),
        (["data", "got"], "no such command 'got'"),
    ],
)
def test_a_mistaken_option_is_one_line_that_says_where_help_is(
    transduce: Command, arguments: list[str], told: str
) -> None:
    status, output, errors = transduce(*arguments)
    assert (status, output) == (2, "")
    assert told in errors
    assert errors.count("\n") == 1
    verb = arguments[0] if arguments[0] in ("translate", "data") and arguments[-1] != "--beam-size" else ""
    assert errors.endswith(f"; see {f'transduce {verb}'.strip()} --help\n")


def test_without_arguments_there_is_help(transduce: Command) -> None:
    status, output, errors = transduce()
    assert (status, errors) == (0, "")
    assert "translate" in output


@pytest.mark.parametrize("arguments", [("--debug", "info", "nowhere"), ("info", "nowhere", "--debug")])
def test_debug_shows_the_whole_traceback(transduce: Command, arguments: tuple[str, ...]) -> None:
    status, _, errors = transduce(*arguments)
    assert status == 2
    assert "Traceback" in errors
    assert errors.splitlines()[-1].startswith("transduce: nowhere: no such model")


def test_the_environment_shows_the_traceback_too(transduce: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for value, is_shown in (("1", True), ("0", False), ("", False)):
        monkeypatch.setenv("TRANSDUCE_DEBUG", value)
        assert ("Traceback" in transduce("info", "nowhere")[2]) == is_shown


def test_text_on_the_command_line_that_is_not_utf8_is_a_mistake_in_one_line(
    transduce: Command, tiny_run: Path, corpus: Path
) -> None:
    broken = os.fsdecode(b"Fu\xdfweg")
    status, _, errors = transduce("translate", tiny_run, corpus / "test.en", "--prefix", broken)
    assert status == 2
    assert "not UTF-8" in errors
    assert errors.count("\n") == 1


def test_an_interrupted_training_of_any_verb_is_no_unexpected_error() -> None:
    assert describe(Interrupted()) == ("interrupted; everything is saved", 130)


def test_ctrl_c_anywhere_is_one_line_and_130(
    transduce: Command, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transduce.inference.engines.exported.open_model", fail(KeyboardInterrupt()))
    assert run(lambda: app(["recipes"])) == 0
    monkeypatch.setattr("transduce.experiment.recipes", fail(KeyboardInterrupt()))
    assert transduce("recipes")[::2] == (130, "transduce: interrupted\n")


def test_what_a_closed_stream_cannot_take_is_one_line() -> None:
    done = shell("transduce --version >&-")
    assert done.returncode == 2
    assert done.stderr == "transduce: standard output is closed; leave it open, or name a file\n"
    done = shell("transduce translat 2>&-")
    assert (done.returncode, done.stdout) == (2, "")


def test_closed_input_is_one_line_and_a_closed_output_does_not_matter_where_a_file_is_named(
    tiny_run: Path, tmp_path: Path
) -> None:
    done = shell('transduce translate "$1" <&-', tiny_run)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "transduce: standard input is closed; give a file, or pipe text to it\n"
    done = shell('echo The dog. | transduce translate "$1" -o "$2" --quiet >&- 2>&-', tiny_run, tmp_path / "out")
    assert done.returncode == 0
    assert (tmp_path / "out").read_text().count("\n") == 1


def test_the_reader_of_a_training_that_leaves_ends_it_quietly(recipe_file: Path, tmp_path: Path) -> None:
    done = shell(
        'transduce train "$1" training.report_every=1 training.updates=1000 --out "$2" 2>&1 | head -n 3; '
        "echo ${PIPESTATUS[0]}",
        recipe_file,
        tmp_path / "run",
    )
    assert done.stdout.count("\n") == 4
    assert done.stdout.endswith("\n141\n")
    assert "Traceback" not in done.stdout
    assert done.stderr == ""


def test_sigterm_ends_a_command_as_ctrl_c_does_and_leaves_nothing_behind(
    start: Start, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("The dog sleeps.\tDer Hund schläft.\n" * 200_000, encoding="utf-8")
    process = start("score", tiny_run, "--pairs", pairs, "-o", tmp_path / "out", stdin=subprocess.DEVNULL)
    partial = tmp_path / "out.partial"
    while not (partial.exists() and partial.stat().st_size) and process.poll() is None:
        pass
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate()
    assert (process.returncode, errors) == (143, "transduce: terminated\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pairs.tsv"]


@pytest.mark.parametrize("arguments", [("translate", "m", "--glossary", " "), ("train", "multi30k", "--out=\t ")])
def test_an_options_value_of_white_space_alone_is_refused(transduce: Command, arguments: tuple[str, ...]) -> None:
    status, output, errors = transduce(*arguments)
    assert (status, output) == (2, "")
    assert "it has no letters; give a value or leave the option out" in errors
