"""Several files that a pattern names are translated and scored one by one, with the same options, into a folder."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from transduce.apps.cluster import command_tasks
from transduce.apps.cluster.command_tasks import Command
from transduce.apps.cluster.workers import LocalWorkers

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[Command]:
    """The commands that are run, of which none does anything."""
    seen: list[Command] = []

    def record(each: Sequence[Command], workers: object) -> list[str]:
        assert isinstance(workers, LocalWorkers)
        seen.extend(each)
        return []

    monkeypatch.setattr(command_tasks, "run_commands", record)
    return seen


def test_each_file_has_a_command_with_all_options(
    transduce: Run, begun: list[Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b.de.gz", "a.de.gz"):
        Path(name).write_bytes(b"")
    options = ("--beam-size", 3, "--with", "x", "--with", "y", "--json")
    assert transduce("translate", "model", "*.de.gz", *options, "-o", "out") == (0, "", "")
    assert [command.output.name for command in begun] == ["a.de.gz", "b.de.gz"]
    for command, name in zip(begun, ("a.de.gz", "b.de.gz"), strict=True):
        assert command.arguments[0] == "translate"
        assert command.arguments[-1] == name
        assert set(map(str, options)) <= set(command.arguments)
        assert command.arguments.count("--with") == 2
        assert command.resumes
        assert command.folder == tmp_path


def test_sources_and_targets_are_scored_together(
    transduce: Run, begun: list[Command], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.de", "b.de", "a.en", "b.en"):
        Path(name).write_bytes(b"")
    assert transduce("score", "model", "--source", "*.de", "--target", "*.en", "-o", "out")[0] == 0
    assert [command.arguments for command in begun] == [
        ("score", "model", "--source", f"{name}.de", "--target", f"{name}.en") for name in "ab"
    ]
    assert not begun[0].resumes


@pytest.mark.slow
def test_files_are_translated_as_each_would_be_and_those_that_are_there_stay(
    transduce: Run, tiny_run: Path, corpus: Path, tmp_path: Path
) -> None:
    lines = (corpus / "test.en").read_text(encoding="utf-8").splitlines(keepends=True)
    for name, part in (("a", lines[:5]), ("b", lines[5:9])):
        (tmp_path / f"{name}.en").write_text("".join(part), encoding="utf-8")
        assert transduce("translate", tiny_run, tmp_path / f"{name}.en", "-o", tmp_path / name, "--quiet")[0] == 0
    command = ("translate", tiny_run, tmp_path / "?.en", "--quiet", "-o", tmp_path / "out")
    assert transduce(*command) == (0, "", "")
    for name in "ab":
        assert (tmp_path / "out" / f"{name}.en").read_bytes() == (tmp_path / name).read_bytes()
    (tmp_path / "out" / "a.en").write_text("kept")
    (tmp_path / "out" / "b.en").unlink()
    assert transduce(*command)[0] == 0
    assert (tmp_path / "out" / "a.en").read_text() == "kept"
    assert (tmp_path / "out" / "b.en").read_bytes() == (tmp_path / "b").read_bytes()
