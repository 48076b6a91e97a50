"""A stage goes on with files that came from the same, and refuses those of others; one process works at a time."""

import json
from pathlib import Path
from typing import Any

import pytest

from transduce.base.errors import CheckpointError, DataError, InputError
from transduce.base.files import locked
from transduce.base.stages import RECORD, Stage, alone_in, has_files

SETTINGS = {"job": "count", "search": {"size": 2}, "steps": (3, 5)}
INPUTS = [("a.txt", "1f"), ("b.txt", "2e")]


def finished(folder: Path, **changes: Any) -> Stage:
    stage = Stage(folder / "out", **{"settings": SETTINGS, "inputs": INPUTS, **changes})
    with alone_in(stage.folder), stage.begun() as is_begun:
        assert not is_begun
        (stage.folder / "1").write_text("")
    return stage


def test_a_stage_is_begun_once_a_file_is_there(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), alone_in(tmp_path / "out"), Stage(tmp_path / "out", SETTINGS).begun():
        raise KeyboardInterrupt
    assert not Stage(tmp_path / "out", {}).is_begun()  # nothing is finished: it may begin otherwise
    with finished(tmp_path).begun() as is_begun:
        assert is_begun


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"settings": SETTINGS | {"search": {"size": 7}}},
            "out was begun with other search; use the same to go on, or",
        ),
        ({"settings": SETTINGS | {"tag": ""}}, "other tag"),
        ({"inputs": INPUTS[:1]}, "out was begun with other texts; name the same to go on, or choose another folder"),
        (
            {"inputs": [INPUTS[0], ("b.txt", "2f")], "advice": "start anew"},
            "b.txt: the contents have changed.*start an",
        ),
    ],
)
def test_files_that_came_from_others_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    finished(tmp_path)
    with pytest.raises(InputError, match=words):
        Stage(tmp_path / "out", **{"settings": SETTINGS, "inputs": INPUTS, **changes}).is_begun()


def test_files_of_no_stage_and_a_damaged_record_are_refused(tmp_path: Path) -> None:
    stage = finished(tmp_path)
    (stage.folder / RECORD).write_text("[")
    with pytest.raises(CheckpointError, match=r"damaged .*choose another folder"):
        stage.is_begun()
    (stage.folder / RECORD).unlink()
    with pytest.raises(InputError, match="out holds other files"):
        stage.is_begun()


def test_a_stage_of_an_earlier_version_goes_on(tmp_path: Path) -> None:
    stage = finished(tmp_path)
    (stage.folder / RECORD).write_text(json.dumps({"texts": INPUTS, "others": SETTINGS}))
    assert stage.is_begun()


def test_a_mistake_before_any_file_leaves_no_folder_and_a_later_one_leaves_the_files(tmp_path: Path) -> None:
    stage = Stage(tmp_path / "new" / "out", SETTINGS)
    with pytest.raises(DataError), alone_in(stage.folder), stage.begun():
        (stage.folder / ".work").mkdir()
        raise DataError("a mistake")
    assert not (tmp_path / "new").exists()
    with pytest.raises(DataError), alone_in(tmp_path / "new"), Stage(tmp_path / "new" / "first", SETTINGS).begun():
        raise DataError("a mistake")
    assert not (tmp_path / "new").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".own").write_text("")
    with pytest.raises(DataError), alone_in(tmp_path / "out"), Stage(tmp_path / "out", SETTINGS).begun():
        raise DataError("a mistake")
    assert (tmp_path / "out" / ".own").exists() and not (tmp_path / "out" / RECORD).exists()
    with pytest.raises(DataError), finished(tmp_path).begun():
        raise DataError("a mistake")
    assert has_files(tmp_path / "out")


def test_one_process_works_in_a_folder(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(InputError, match="another process is working in"), alone_in(tmp_path):
        pass
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file exists; remove it or choose"), alone_in(tmp_path / "file"):
        pass
