"""Commands that are printed to be copied work in the shell that they are printed in."""

import sys
from pathlib import Path

import pytest

from transduce.apps.cli.printing import as_typed


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program in a folder of the working folder, which the shell does not search."""
    path = tmp_path / "work" / ".venv" / "bin" / "transduce"
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr(sys, "argv", [".venv/bin/transduce", "quickstart"])
    monkeypatch.setenv("PATH", str(tmp_path))
    return path


def test_a_program_that_the_shell_does_not_find_is_named_by_its_path(script: Path, tmp_path: Path) -> None:
    assert as_typed("transduce info runs/transduce x") == ".venv/bin/transduce info runs/transduce x"


def test_one_that_it_finds_is_named_as_ever(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(script.parent))
    assert as_typed("echo a | transduce translate m") == "echo a | transduce translate m"


def test_another_program_of_the_name_is_not_this_one(script: Path, tmp_path: Path) -> None:
    other = tmp_path / "transduce"
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    assert as_typed("transduce info m") == ".venv/bin/transduce info m"


def test_a_module_is_run_as_one(script: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/transduce/__main__.py", "quickstart"])
    assert as_typed("transduce info m") == f"{sys.executable} -m transduce info m"
