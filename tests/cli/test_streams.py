"""Text that comes in as it arrives, and what ends it."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from transduce.apps.cli import input
from transduce.apps.cli.input import BLOCK, lines_of
from transduce.base.errors import DataError

Command = Callable[..., tuple[int, str, str]]
Start = Callable[..., "subprocess.Popen[str]"]


class Descriptor:
    """Standard input as a number alone."""

    def __init__(self, number: int) -> None:
        self.number = number

    def fileno(self) -> int:
        return self.number


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """The end of a pipe that standard input reads from."""
    reading, writing = os.pipe()
    monkeypatch.setattr("sys.stdin", Descriptor(reading))
    yield writing
    os.close(reading)


def write(pipe: int, data: bytes) -> threading.Thread:
    """Write from another thread, since a pipe holds only so much."""

    def work() -> None:
        with open(pipe, "wb", closefd=True) as stream:
            stream.write(data)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_lines_that_have_arrived_come_together_and_none_is_waited_for(pipe: int) -> None:
    groups = lines_of("-")
    for group in ([b"one"], [b"two", b"", b"three\r"], [b"a\xe2\x80\xa8b"]):
        os.write(pipe, b"".join(line + b"\n" for line in group))
        assert next(groups) == [line.decode().removesuffix("\r") for line in group]
    os.write(pipe, b"begun")
    os.close(pipe)
    assert list(groups) == [["begun"]]


@pytest.mark.parametrize("at_once", [1000, 7])
def test_long_streams_come_whole_in_groups_that_can_be_held(
    pipe: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input, "LINES_AT_ONCE", at_once)
    lines = [f"{number} " + "x" * (number % 150) for number in range(5000)] + ["y" * (3 * BLOCK + 5)]
    writer = write(pipe, "\n".join(lines).encode())
    groups = list(lines_of("-"))
    writer.join()
    assert [line for group in groups for line in group] == lines
    assert 7 <= max(map(len, groups)) <= at_once


def test_a_mark_at_the_beginning_goes_and_bytes_that_are_not_utf8_are_reported(pipe: int) -> None:
    os.write(pipe, b"\xef\xbb\xbfone\ntwo\nf\xfcr\n")
    os.close(pipe)
    groups = lines_of("-")
    with pytest.raises(DataError, match="-: line 3 is not UTF-8"):
        assert list(groups)


def test_ctrl_c_ends_an_interactive_translation_with_one_line(start: Start, tiny_run: Path) -> None:
    process = start("translate", tiny_run)
    assert process.stdin
    assert process.stdout
    process.stdin.write("The dog sleeps.\n")
    process.stdin.flush()
    assert process.stdout.readline().endswith("\n")
    process.send_signal(signal.SIGINT)  # while it waits for the next line
    process.wait()
    assert process.stderr
    assert (process.returncode, process.stderr.read()) == (130, "transduce: interrupted; 1 line is done\n")


@pytest.mark.slow
def test_a_reader_or_a_file_of_prefixes_that_ends_while_input_is_open_ends_all(
    start: Start, tiny_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "begun").write_text("Der\n")
    ended = start("translate", tiny_run, "--prefix-file", tmp_path / "begun")
    unread = start("translate", tiny_run)
    for process in (ended, unread):
        assert process.stdin
        assert process.stdout
        process.stdin.write("The dog sleeps.\n")
        process.stdin.flush()
        assert process.stdout.readline().endswith("\n")
        if process is unread:
            process.stdout.close()
        process.stdin.write("The dog sleeps.\n")
        process.stdin.flush()
        process.wait()
    assert ended.returncode == 2
    assert ended.stderr
    assert ended.stderr.read().startswith(f"transduce: {tmp_path / 'begun'} ends before line 2")
    assert unread.returncode == 141
    assert unread.stderr
    assert unread.stderr.read() == ""
    unread.stdout = None


@pytest.mark.parametrize(
    "name", ["film.srt", "program.po", "memory.tmx", "report.docx", "page.html", "packed.xliff.gz"]
)
def test_documents_are_refused_where_text_is_asked_for(
    transduce: Command, tiny_run: Path, tmp_path: Path, name: str
) -> None:
    document = tmp_path / name
    document.write_bytes(b"PK\x03\x04\xff")
    for arguments in (
        ("translate", tiny_run, document, "--format", "lines"),
        ("evaluate", document, "--reference", document),
        ("score", tiny_run, "--source", document, "--target", __file__),
    ):
        status, output, errors = transduce(*arguments)
        assert (status, output) == (2, "")
        assert f"{name}: " in errors
        assert "cannot be translated" in errors or "is not supported; convert it to plain text" in errors
        assert errors.count("\n") == 1
