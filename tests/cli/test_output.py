"""Text that goes out: whole or not there, one line a line, one process a file, compressed where the name says so."""

import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from transduce.apps.cli.output import open_partial, text_output
from transduce.base.errors import InputError
from transduce.corpora.lines import open_bytes

Command = Callable[..., tuple[int, str, str]]
SHORT = ("--max-ratio", 0, "--max-extra", 3)


@pytest.mark.parametrize("ending", ["", ".gz", ".xz", ".zst"])
def test_a_file_is_packed_as_its_name_says_and_is_alone_in_its_folder(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out{ending}"
    with text_output(str(path)) as stream:
        stream.write("größer\n" * 5)
        assert not path.exists()
    with open_bytes(path) as packed:
        assert packed.read() == "größer\n".encode() * 5
    assert path.read_bytes().startswith({"": b"gr", ".gz": b"\x1f\x8b", ".xz": b"\xfd7z", ".zst": b"\x28\xb5"}[ending])
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), text_output(str(tmp_path / "out")) as stream:
        stream.write("begun")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_two_processes_never_share_a_file(transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path) -> None:
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de")
    pairs = ("--source", corpus / "test.en", "--target", corpus / "test.de")
    with open_partial(tmp_path / "out") as file:  # locks are of open files, so that this stands for another process
        file.write(b"begun\n")
        for command in (("translate", tiny_run, corpus / "test.en"), ("score", tiny_run, *pairs)):
            status, _, errors = transduce(*command, "-o", tmp_path / "out")
            assert (status, errors.count("\n")) == (2, 1)
            assert "out: another process is writing it; wait for that one or choose another name" in errors
        assert transduce("evaluate", tiny_run, *files, "-o", tmp_path / "out")[0] == 2
    assert (tmp_path / "out.partial").read_text() == "begun\n"
    assert not (tmp_path / "out").exists()


def test_what_is_left_of_a_killed_command_is_not_written_over(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    (tmp_path / "out.partial").write_text("mine\n")
    for options in ((), ("--resume",)):
        status, _, errors = transduce("translate", tiny_run, corpus / "test.en", "-o", tmp_path / "out", *options)
        assert status == 2
        assert "out.partial is left from an earlier command; remove it or choose another name" in errors
    assert (tmp_path / "out.partial").read_text() == "mine\n"


def test_a_file_that_appears_meanwhile_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="out exists"), text_output(str(tmp_path / "out")) as stream:
        stream.write("ours\n")
        (tmp_path / "out").write_text("another's\n")
    assert (tmp_path / "out").read_text() == "another's\n"


def test_devices_and_pipes_are_written_to_as_they_are(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    files = ("--source", corpus / "test.en", "--reference", corpus / "test.de")
    for command in (("translate", tiny_run, corpus / "test.en", *SHORT), ("evaluate", tiny_run, *files)):
        status, _, errors = transduce(*command, "-o", os.devnull)
        assert status == 0, errors
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    assert transduce("translate", tiny_run, corpus / "test.en", "-o", tmp_path / "pipe", *SHORT)[0] == 0
    assert os.read(reading, 2**16).count(b"\n") == 17
    os.close(reading)


def test_an_unknown_word_that_is_allowed_is_seen(transduce: Command, tiny_run: Path, corpus: Path) -> None:
    lengths = ("--max-ratio", 0, "--max-extra", 20)
    sampled = ("translate", tiny_run, corpus / "train.en", "--sample", "--temperature", 99, *lengths)
    assert "<unk>" in transduce(*sampled, "--allow-unknown")[1]
    assert "<unk>" not in transduce(*sampled)[1]


def test_help_shows_how_an_unknown_word_reads(transduce: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "<unk>" in transduce("translate", "--help")[1]
