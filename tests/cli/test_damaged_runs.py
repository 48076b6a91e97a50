"""A damaged run does not keep `transduce runs` from listing the others."""

import shutil
from collections.abc import Callable
from pathlib import Path

Command = Callable[..., tuple[int, str, str]]


def test_what_is_damaged_is_said_below_the_list(transduce: Command, tiny_run: Path, tmp_path: Path) -> None:
    for name in ("sound", "damaged"):
        shutil.copytree(tiny_run, tmp_path / name)
    (tmp_path / "damaged" / "checkpoints" / "000030" / "progress.json").write_text("{")
    status, output, _ = transduce("runs", tmp_path)
    assert status == 0
    assert "finished" in output
    assert output.splitlines()[-1].startswith(f"{tmp_path / 'damaged'}: ")
    assert "000030/progress.json is damaged" in output.splitlines()[-1]
