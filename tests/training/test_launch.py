"""The processes of a run on one machine end together, whatever each is busy with."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from transduce.base.files import locked
from transduce.training import launch

pytestmark = pytest.mark.slow

BUSY = """
import os, sys, time
from pathlib import Path
from transduce.base.files import locked
from transduce.training import launch
launch.GRACE = 0.5
def give_up(line):
    print(line, file=sys.stderr, flush=True)
    os._exit(1)
with launch.beside([sys.executable, *{others}], 2, give_up):
    folder = Path({folder!r}) / os.environ["RANK"]
    folder.mkdir()
    with locked(folder):
        (folder / "works").touch()
        time.sleep(300)
"""


def test_a_process_that_is_busy_ends_too_when_another_has_ended(tmp_path: Path) -> None:
    script = BUSY.format(others=["-c", "import sys; sys.exit('out of luck')"], folder=str(tmp_path))
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "another process of this run has ended" in done.stderr and "it said: out of luck" in done.stderr


def test_those_that_a_process_has_started_end_when_it_is_killed(tmp_path: Path) -> None:
    script = tmp_path / "busy.py"
    script.write_text(BUSY.format(others=[str(script)], folder=str(tmp_path)))
    first = subprocess.Popen([sys.executable, script])
    while not (tmp_path / "1" / "works").exists():
        assert first.poll() is None
        time.sleep(0.05)
    first.kill()
    first.wait(120)
    assert can_lock(tmp_path / "1")


def can_lock(folder: Path) -> bool:
    """Whether the process that has a folder locked as long as it lives ends within a minute."""
    for _ in range(600):
        try:
            with locked(folder, wait=False):
                return True
        except BlockingIOError:
            time.sleep(0.1)
    return False


def test_one_that_was_asked_to_stop_is_waited_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Saving a checkpoint may take the first process longer than the others, which have nothing to save."""
    monkeypatch.setattr(launch, "INTERVAL", 0.05)
    monkeypatch.setattr(launch, "GRACE", 0.05)
    stopping, lines = tmp_path / "stopping", list[str]()
    script = f"open({str(stopping)!r}, 'w'); raise SystemExit(130)"
    with launch.beside([sys.executable, "-c", script], 2, lines.append):
        while not stopping.exists():
            time.sleep(0.05)
        time.sleep(1)
    assert lines == [] and "RANK" not in os.environ
