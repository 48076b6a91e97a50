"""An interrupted translation: what is done is kept, told of, and gone on with to the same bytes."""

import copy
import gzip
import hashlib
import itertools
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from transduce.apps.cli import input, progress, resuming
from transduce.apps.cli.stopping import Terminated
from transduce.inference.request import Request
from transduce.inference.translator import Translator

Command = Callable[..., tuple[int, str, str]]
SHORT = ("--max-ratio", 0, "--max-extra", 3, "--quiet")
AT_ONCE = 5


@pytest.fixture(autouse=True)
def _small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(input, "LINES_AT_ONCE", AT_ONCE)


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Make a translation stop in its chunk of this number, counted from 0."""
    translate_chunk = Translator.translate_chunk

    def after(chunks: int, error: BaseException | None = None) -> None:
        left = chunks

        def stopping(self: Translator, texts: Sequence[str | Request], *rest: Any) -> Any:
            nonlocal left
            if left == 0:
                monkeypatch.setattr(Translator, "translate_chunk", translate_chunk)
                raise error or KeyboardInterrupt
            left -= 1
            return translate_chunk(self, texts, *rest)

        monkeypatch.setattr(Translator, "translate_chunk", stopping)

    yield after


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "name"),
    [((), "out"), ((), "out.gz"), (("--n-best", 3), "out"), (("--json", "--sample", "--seed", 4), "out")],
)
def test_an_interrupted_translation_goes_on_to_the_same_bytes(
    transduce: Command,
    tiny_run: Path,
    corpus: Path,
    tmp_path: Path,
    interrupt: Callable[..., None],
    options: tuple[object, ...],
    name: str,
) -> None:
    (tmp_path / "terms").write_text("dog\tFrau\tban\n")
    command = ("translate", tiny_run, corpus / "test.en", *options, *SHORT, "--glossary", tmp_path / "terms")
    whole, parts = tmp_path / f"whole-{name}", tmp_path / name
    assert transduce(*command, "-o", whole)[0] == 0
    partial = tmp_path / f"{name}.partial"
    for chunks, lines in ((2, 10), (1, 15)):
        interrupt(chunks)
        status, output, errors = transduce(*command, "-o", parts, "--resume")
        assert (status, output) == (130, "")
        assert errors == f"transduce: interrupted; {lines} lines are done, in {partial}; add --resume to go on\n"
        expected = (gzip.decompress(whole.read_bytes()) if name == "out.gz" else whole.read_bytes()).decode()
        assert expected.startswith(partial.read_text(encoding="utf-8"))
        assert not parts.exists()
    assert transduce(*command, "-o", parts, "--resume") == (0, "", "")
    assert parts.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["terms", name, whole.name])


def test_prefixes_and_the_report_go_on_too(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    (tmp_path / "begun").write_text("".join(f"{word}\n" for word in ["Der", "", "Die Frau"] * 5 + ["Die", "Wer"]))
    command = ("translate", tiny_run, corpus / "test.en", "--prefix-file", tmp_path / "begun", *SHORT[:4])
    status, _, whole = transduce(*command, "-o", tmp_path / "whole")
    assert status == 0, whole
    assert " translations were truncated at the maximum length, on line" in whole
    interrupt(1)
    assert transduce(*command, "-o", tmp_path / "out")[0] == 130
    assert transduce(*command, "-o", tmp_path / "out", "--resume") == (0, "", whole)
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


def test_what_is_interrupted_is_not_lost_by_beginning_anew(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    command = ("translate", tiny_run, corpus / "test.en", *SHORT, "-o", tmp_path / "out")
    interrupt(1, Terminated())
    assert transduce(*command)[0] == 143
    kept = (tmp_path / "out.partial").read_bytes()
    status, _, errors = transduce(*command)
    assert (status, errors.count("\n")) == (2, 1)
    assert "out.partial holds 5 finished lines; add --resume to continue, or remove it to start again" in errors
    assert (tmp_path / "out.partial").read_bytes() == kept
    (tmp_path / "out.partial").unlink()
    assert transduce(*command) == (0, "", "")
    assert not (tmp_path / "out.partial.json").exists()


def test_a_second_model_that_was_trained_again_is_another_task(tiny_run: Path, corpus: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_run / "model", tmp_path / "second")
    options = dict.fromkeys([*resuming.FILES, "with_", "shortlist"])
    options |= {"input": str(corpus / "test.en"), "model": str(tiny_run), "then": str(tmp_path / "second")}
    before = resuming.task_of(options)
    assert before is not None and resuming.task_of(options) == before
    with (tmp_path / "second" / "probe.json").open("a") as description:
        description.write("\n")
    assert resuming.task_of(options) != before


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        (("--prefix", "Der"), "started with a different --prefix (None)"),
        (("--glossary", "terms"), "started with a different --glossary"),
        (("--with", "RUN"), "started with a different --with"),
        (("--n-best", 2), "started with a different --n-best (1)"),
        ((), "started with a different version of Transduce, 0.0.1"),
    ],
)
def test_only_the_same_command_of_the_same_version_goes_on(
    transduce: Command,
    tiny_run: Path,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interrupt: Callable[..., None],
    changed: tuple[object, ...],
    told: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("terms").write_text("dog\tFrau\tban\n")
    partial, journal = Path("out.partial"), Path("out.partial.json")
    command = ("translate", tiny_run, corpus / "test.en", *SHORT, "-o", "out")
    interrupt(2)
    transduce(*command)
    if not changed:
        journal.write_text(re.sub('"version":"[^"]*"', '"version":"0.0.1"', journal.read_text()))
    before = partial.read_bytes()
    status, output, errors = transduce(*command, *(tiny_run if word == "RUN" else word for word in changed), "--resume")
    assert (status, output, errors.count("\n")) == (2, "", 1)
    assert told in errors
    assert partial.read_bytes() == before


def test_of_the_finished_output_only_the_last_chunk_is_read(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    command = ("translate", tiny_run, corpus / "test.en", *SHORT, "-o", tmp_path / "out")
    interrupt(2)
    transduce(*command)
    partial = tmp_path / "out.partial"
    lines = partial.read_bytes().splitlines(keepends=True)
    lines[0] = b"#" * (len(lines[0]) - 1) + b"\n"  # in the first of two chunks
    partial.write_bytes(b"".join(lines))
    assert transduce(*command, "--resume")[0] == 0
    assert (tmp_path / "out").read_bytes().startswith(b"".join(lines))


def test_a_journal_of_an_earlier_version_is_of_the_whole_output(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    command = ("translate", tiny_run, corpus / "test.en", *SHORT)
    assert transduce(*command, "-o", tmp_path / "whole")[0] == 0
    interrupt(2)
    transduce(*command, "-o", tmp_path / "out")
    partial, journal = tmp_path / "out.partial", tmp_path / "out.partial.json"
    done = json.loads(journal.read_text())
    assert done.pop("last") < done["bytes"]
    journal.write_text(json.dumps(done | {"sha256": hashlib.sha256(partial.read_bytes()).hexdigest()}))
    assert transduce(*command, "-o", tmp_path / "out", "--resume")[0] == 0
    assert (tmp_path / "out").read_bytes() == (tmp_path / "whole").read_bytes()


CHUNKS = ["first\n", "", "second and longer\n" * 500, "third\n"]
SYSTEM_CALLS = ["write", "flush", "fsync", "open", "replace", "rename", "unlink", "truncate", "ftruncate"]


def add_chunks(path: Path, kill_before: int | None = None) -> None:
    """Adds all chunks to an output that is begun or gone on with; a process is killed before a call of the system."""
    calls = 0

    def count(frame: FrameType, event: str, called: Any) -> None:
        nonlocal calls
        if event == "c_call" and called.__name__ in SYSTEM_CALLS:
            calls += 1
            if calls == kill_before:
                os._exit(9)

    if kill_before is not None:
        sys.setprofile(count)
    with resuming.growing_output(str(path), {}, resume=True) as out:
        report = copy.deepcopy(out.report)
        for chunk in CHUNKS[report.lines :]:
            report.lines += 1
            out.add(chunk, report)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["out", "out.gz"])
def test_an_output_is_gone_on_with_to_the_same_bytes_from_a_kill_before_any_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(resuming, "task_of", lambda parameters: {"model": "this"})
    for number in itertools.count(1):
        folder = tmp_path / str(number)
        folder.mkdir()
        child = os.fork()
        if not child:
            add_chunks(folder / name, kill_before=number)
            os._exit(0)
        was_killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        if not (folder / name).exists():  # the last calls only tidy up
            add_chunks(folder / name)
        written = (folder / name).read_bytes()
        assert (gzip.decompress(written) if name == "out.gz" else written).decode() == "".join(CHUNKS)
        if not was_killed:
            break
    assert number > 3 * len(CHUNKS)


def test_resume_begins_where_nothing_was_done_and_needs_files(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    command = ("translate", tiny_run, corpus / "test.en", *SHORT, "--resume")
    interrupt(0)
    status, _, errors = transduce(*command, "-o", tmp_path / "out")
    assert (status, errors) == (130, "transduce: interrupted\n")
    assert list(tmp_path.iterdir()) == []
    assert transduce(*command, "-o", tmp_path / "out")[0] == 0
    for options in ((), ("-o", "/dev/null")):
        status, _, errors = transduce(*command, *options)
        assert (status, errors.count("\n")) == (2, 1)
        assert "--resume needs an input file and an output file (-o)" in errors


def test_a_failure_reports_what_is_done_as_well(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    interrupt(3, MemoryError())
    status, _, errors = transduce("translate", tiny_run, corpus / "test.en", *SHORT, "-o", tmp_path / "out")
    assert (status, errors.count("\n")) == (1, 1)
    assert "out of memory" in errors
    assert f"; 15 lines are done, in {tmp_path / 'out.partial'}; add --resume to go on" in errors


def test_input_is_checked_before_the_first_line_is_translated(
    transduce: Command, tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Translator, "translate_chunk", None)
    (tmp_path / "in").write_bytes(b"The dog sleeps.\n" * 17 + b"f\xfcr\n")
    status, _, errors = transduce("translate", tiny_run, tmp_path / "in", "-o", tmp_path / "out")
    assert status == 2
    assert "line 18 is not UTF-8" in errors


def test_progress_is_shown_now_and_then_unless_it_is_quiet(
    transduce: Command, tiny_run: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY", -1)
    _, _, errors = transduce("translate", tiny_run, corpus / "test.en", *SHORT[:4], "-o", tmp_path / "out")
    assert "transduce: 5 of 17 lines, " in errors
    assert " a second, 0:00:" in errors
    assert "transduce: 17 of 17 lines, " in errors
    assert transduce("translate", tiny_run, corpus / "test.en", *SHORT, "-o", tmp_path / "quiet")[2] == ""


def test_a_terminal_has_a_bar_that_counts_what_was_done_before(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with progress.show_progress(40_000, 10_000) as tell:
        tell(20_000)
    shown = capsys.readouterr().err
    assert "10,000 of 40,000 lines" in shown
    assert "20,000 of 40,000 lines, " in shown
    assert re.search(r" a second, 0:00:\d\d left", shown)
