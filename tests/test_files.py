"""Files and folders appear whole or not at all."""

import errno
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from safetensors import SafetensorError

from transduce.base.errors import DataError, InputError
from transduce.base.files import ABANDONED, check_absent, found_or_made, locked, made_parents, new_folder, write_text
from transduce.base.tensor_files import save_tensors


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_folder_appears_whole_when_its_block_ends(tmp_path):
    place = tmp_path / "a" / "made"
    with new_folder(place) as new:
        (new / "within").mkdir()
        (new / "within" / "file").write_text("x")
        assert not place.exists()
    assert (place / "within" / "file").read_text() == "x"
    assert names(place.parent) == ["made"]


def test_a_folder_replaces_the_older_one(tmp_path):
    for name in ("one", "two"):
        with new_folder(tmp_path / "made") as new:
            (new / name).write_text(name)
    assert names(tmp_path) == ["made"]
    assert names(tmp_path / "made") == ["two"]


def test_a_folder_replaces_a_file_of_its_name(tmp_path):
    (tmp_path / "made").write_text("a file")
    with new_folder(tmp_path / "made") as new:
        (new / "one").write_text("one")
    assert names(tmp_path) == ["made"]
    assert names(tmp_path / "made") == ["one"]


def test_a_failure_leaves_the_older_folder_as_it_was(tmp_path):
    with new_folder(tmp_path / "made") as new:
        (new / "one").write_text("one")
    with pytest.raises(KeyboardInterrupt), new_folder(tmp_path / "made") as new:
        (new / "two").write_text("tw")
        raise KeyboardInterrupt
    assert names(tmp_path) == ["made"]
    assert names(tmp_path / "made") == ["one"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, InputError])
def test_a_failure_leaves_no_parent_folder_that_was_made_for_it(tmp_path, failure):
    (tmp_path / "kept").mkdir()
    with pytest.raises(failure), new_folder(tmp_path / "kept" / "a" / "b" / "made") as new:
        (new / "one").write_text("one")
        raise failure
    assert names(tmp_path / "kept") == []
    with pytest.raises(failure), made_parents(tmp_path / "c" / "file"):
        raise failure
    assert names(tmp_path) == ["kept"]


def test_a_failure_leaves_parent_folders_that_others_use(tmp_path):
    with pytest.raises(OSError), new_folder(tmp_path / "a" / "b" / "made"):
        (tmp_path / "a" / "other").write_text("of another process")
        raise OSError
    assert names(tmp_path / "a") == ["other"]


def whole_text(folder):
    """Reads a file in a folder that ends in a full stop."""
    try:
        text = (folder / "text").read_text()
    except OSError:
        return None
    return text if text.endswith(".") else None


@pytest.mark.parametrize("before", [None, "cut", "whole."])
def test_what_many_want_at_once_is_made_by_one(tmp_path, before):
    place, made = tmp_path / "cache" / "made", []
    if before is not None:
        place.mkdir(parents=True)
        (place / "text").write_text(before)

    def make(new):
        made.append(new)
        time.sleep(0.1)
        (new / "text").write_text("by one.")

    with ThreadPoolExecutor(8) as pool:  # each opens the lock for itself, as a process does
        found = list(pool.map(lambda _: found_or_made(place, whole_text, make), range(8)))
    assert found == [before if before == "whole." else "by one."] * 8
    assert len(made) == (before != "whole.")


def make_text(new):
    (new / "text").write_text("made.")


def test_what_killed_processes_left_is_removed_by_who_makes_the_same_or_when_it_is_old(tmp_path):
    for name, age in ((".made-12345678", 0), (".old-12345678", 2 * ABANDONED), (".now-12345678", ABANDONED / 2)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "text").write_text("whole.")
        for path in (tmp_path / name / "text", tmp_path / name):
            os.utime(path, (time.time() - age, time.time() - age))
    assert found_or_made(tmp_path / "made", whole_text, make_text) == "made."
    assert names(tmp_path) == [".made.lock", ".now-12345678", "made"]


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOTSUP])
def test_a_file_system_without_locks_keeps_what_is_made(tmp_path, monkeypatch, number):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    (tmp_path / ".made-12345678").mkdir()  # perhaps of another process, which is not known here
    monkeypatch.setattr("transduce.base.files.lock", refuse)
    assert found_or_made(tmp_path / "made", whole_text, make_text) == "made."
    assert names(tmp_path) == [".made-12345678", ".made.lock", "made"]
    number = errno.EIO
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        found_or_made(tmp_path / "other", whole_text, make_text)


def test_the_lock_of_another_user_is_waited_for(tmp_path, monkeypatch):
    (tmp_path / ".made.lock").touch()
    opened = Path.open

    def refuse_to_write(path, mode="r", *others, **named):
        if path.name == ".made.lock" and "w" in mode:  # whoever runs the tests may be root, who may write everywhere
            raise PermissionError
        return opened(path, mode, *others, **named)

    monkeypatch.setattr(Path, "open", refuse_to_write)
    assert found_or_made(tmp_path / "made", whole_text, make_text) == "made."


def test_a_disk_that_does_not_keep_what_is_made_is_told(tmp_path):
    with pytest.raises(DataError, match="made: reading back what was just written failed; check the disk"):
        found_or_made(tmp_path / "made", lambda _: None, lambda _: None)
    with pytest.raises(ZeroDivisionError):
        found_or_made(tmp_path / "never", whole_text, lambda _: 1 / 0)
    assert names(tmp_path) == [".made.lock", ".never.lock", "made"]


def test_what_is_in_the_way_of_an_output_is_known_before_work_begins(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "good").symlink_to("folder")
    ways = {
        "link": "is a link to nowhere, which does not exist; remove it or choose another",
        "link/out": "link is a link to nowhere",
        "file": "file exists",
        "file/out": "file is not a folder",
        "good": "good exists",
    }
    for name, line in ways.items():
        with pytest.raises(InputError, match=line):
            check_absent(tmp_path / name)
    for name in ("new", "folder/new", "good/new", "new/er"):
        check_absent(tmp_path / name)


def test_at_no_moment_is_a_part_of_a_folder_in_its_place(tmp_path, monkeypatch):
    place = tmp_path / "made"
    for version in ("one", "two"):
        seen = []

        def watch(remove, seen=seen):
            def watched(path, *args, **keywords):
                seen.append(path != place)
                return remove(path, *args, **keywords)

            return watched

        with monkeypatch.context() as patch:
            patch.setattr("transduce.base.files.shutil.rmtree", watch(__import__("shutil").rmtree))
            with new_folder(place) as new:
                (new / version).write_text(version)
        assert seen and all(seen)  # what is removed is never what stands in the place


def test_text_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    write_text(path, "älter")
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud800")  # a lone surrogate cannot be written
    assert path.read_text(encoding="utf-8") == "älter"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize(("umask", "folders", "files"), [(0o027, 0o750, 0o640), (0o002, 0o775, 0o664)])
def test_the_umask_decides_who_may_read_files_and_folders(tmp_path, umask, folders, files):
    before = os.umask(umask)
    try:
        with new_folder(tmp_path / "made") as new:
            save_tensors({"a": torch.zeros(2)}, new / "weights.safetensors")
            write_text(new / "text", "x")
    finally:
        os.umask(before)
    assert (tmp_path / "made").stat().st_mode & 0o777 == folders
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "made").iterdir()} == {files}


def test_a_full_disk_is_an_error_of_the_system_for_tensors_too(tmp_path, monkeypatch):
    def refuse(*_):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr("transduce.base.tensor_files.save_file", refuse)
    with pytest.raises(OSError, match="No space left") as caught:
        save_tensors({}, tmp_path / "weights.safetensors")
    assert caught.value.errno == errno.ENOSPC


def test_a_lock_ends_with_its_block(tmp_path):
    with locked(tmp_path), pytest.raises(BlockingIOError), locked(tmp_path, wait=False):
        pass
    with locked(tmp_path, wait=False):
        pass
