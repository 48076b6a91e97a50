"""Systems that lack a part of POSIX, as Windows does, are simulated: what is missing is taken away."""

import ast
import errno
import importlib
import os
import select
import signal
import socket
import stat
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from transduce.apps.cli import failures, input, output, stopping
from transduce.apps.projects.project import Projects, UnknownProjectError, check_name
from transduce.base import files
from transduce.base.environment import prepare_environment
from transduce.base.errors import InputError
from transduce.base.files import lock, locked, new_folder, sync, write_text

SOURCE = Path(__file__).parent.parent / "src"
POSIX_ONLY = {"fcntl", "grp", "pwd", "resource", "termios", "tty"}


def trees() -> Iterator[tuple[Path, ast.Module]]:
    for path in sorted(SOURCE.rglob("*.py")):
        yield path, ast.parse(path.read_text(encoding="utf-8"))


def test_no_file_needs_a_module_of_posix_to_be_imported() -> None:
    for path, tree in trees():
        for node in tree.body:  # not within a function, a try or an if
            names = [name.name for name in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not POSIX_ONLY & set(names), path


@pytest.mark.slow
def test_text_files_have_an_encoding_that_is_not_the_systems() -> None:
    for path, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                if ast.unparse(node.func.value) == "formatter":  # of click
                    continue
                least = {"read_text": 1, "write_text": 2}.get(node.func.attr)
                has_encoding = any(keyword.arg == "encoding" for keyword in node.keywords)
                assert least is None or has_encoding or len(node.args) >= least, f"{path}:{node.lineno}"


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """Files as on Windows: folders cannot be opened, only what is open for writing is synced, and locks are msvcrt's;
    the value is the files that are locked, by their inodes."""
    held: set[int] = set()

    def open_(path: os.PathLike[str], flags: int, mode: int = 0o777, *, dir_fd: int | None = -1) -> int:
        if dir_fd != -1:  # shutil's, which removes folders in another way there
            return real_open(path, flags, mode, dir_fd=dir_fd)
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real_open(path, flags, mode)

    def fsync(descriptor: int) -> None:
        import fcntl

        if not fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_RDWR:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def locking(descriptor: int, mode: int, count: int) -> None:
        assert (mode, count, os.lseek(descriptor, 0, os.SEEK_CUR)) == (2, 1, files.FAR)
        inode = os.fstat(descriptor).st_ino
        if inode in held:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        held.add(inode)

    real_open = os.open
    for module in (files, output, input):
        monkeypatch.setattr(module, "WINDOWS", True)
    monkeypatch.setattr(files, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking), raising=False)
    monkeypatch.delattr(files, "fcntl")
    monkeypatch.setattr(os, "open", open_)
    monkeypatch.setattr(os, "fsync", fsync)
    return held


def test_folders_appear_whole_where_folders_cannot_be_synced(windows: set[int], tmp_path: Path) -> None:
    for text in ("one", "two"):
        with new_folder(tmp_path / "made") as new:
            (new / "within").mkdir()
            write_text(new / "within" / "file", f"{text}\n")
    assert (tmp_path / "made/within/file").read_bytes() == b"two\n"
    assert [path.name for path in tmp_path.iterdir()] == ["made"]


def test_a_lock_of_windows_is_one_too(windows: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with locked(tmp_path), pytest.raises(BlockingIOError), locked(tmp_path, wait=False):
        pass
    waits: list[float] = []
    monkeypatch.setattr(time, "sleep", lambda seconds: waits.append(seconds) or (len(waits) == 3 and windows.clear()))
    with locked(tmp_path):
        assert len(waits) == 3
    windows.clear()
    with (tmp_path / "data").open("w+b") as file:
        file.write(b"begun")
        lock(file)
        assert file.tell() == 5


def test_folders_are_not_synced_by_some_network_file_systems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> Callable[[int], None]:
        def fsync(descriptor: int) -> None:
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, os.strerror(number))

        return fsync

    monkeypatch.setattr(os, "fsync", refuse(errno.EINVAL))
    sync(tmp_path)
    monkeypatch.setattr(os, "fsync", refuse(errno.EIO))
    with pytest.raises(OSError, match=os.strerror(errno.EIO)):
        sync(tmp_path)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="open files are seen in /proc alone")
@pytest.mark.parametrize("ending", ["", ".gz"])
def test_no_open_file_is_renamed_or_removed(
    windows: set[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    def check(path: Path) -> None:
        opened = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        assert path not in opened

    rename, unlink = Path.rename, Path.unlink
    monkeypatch.setattr(Path, "rename", lambda path, other: (check(path), rename(path, other))[1])
    monkeypatch.setattr(Path, "unlink", lambda path, missing_ok=False: (check(path), unlink(path, missing_ok))[1])
    with output.text_output(str(tmp_path / f"out{ending}")) as stream:
        stream.write("größer\n")
    windows.clear()
    with pytest.raises(KeyboardInterrupt), output.text_output(str(tmp_path / "other")) as stream:
        raise KeyboardInterrupt
    assert [path.name for path in tmp_path.iterdir()] == [f"out{ending}"]


def test_lines_arrive_where_only_sockets_can_be_waited_for(windows: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "select")
    reading, writing = os.pipe()
    os.write(writing, b"".join(b"line %d\n" % number for number in range(5)))
    os.close(writing)
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading, encoding="utf-8"))
    assert [line for group in input.lines_of("-") for line in group] == [f"line {number}" for number in range(5)]


def test_a_reader_that_has_gone_is_noticed_without_poll(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(select, "poll", raising=False)
    reading, writing = os.pipe()
    os.close(reading)
    stream: IO[str] = os.fdopen(writing, "w", encoding="utf-8")
    stream.write("unread")
    assert failures._is_unread(stream)  # type: ignore[arg-type]
    stream.close()  # without an error: what was to be read is discarded
    monkeypatch.setitem(sys.modules, "fcntl", None)
    assert not failures.is_closed(1)


def test_ctrl_c_lets_an_import_finish_without_alarms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slow_import.py").write_text(
        "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(0.2)\nfinished = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "slow_import", raising=False)
    monkeypatch.delattr(signal, "setitimer", raising=False)
    with pytest.raises(KeyboardInterrupt), stopping.stoppable():
        importlib.import_module("slow_import")
        for _ in range(100):
            time.sleep(0.05)
    assert sys.modules["slow_import"].finished


def test_a_server_needs_no_signal_to_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    from transduce.apps.serving.listening import listening_socket
    from transduce.apps.serving.running import _Uvicorn, most_connections

    monkeypatch.delattr(signal, "SIGHUP")
    ended: list[int] = []
    server = SimpleNamespace(_end=lambda number, frame: ended.append(number))
    with _Uvicorn.capture_signals(server):  # type: ignore[arg-type]
        signal.raise_signal(signal.SIGTERM)
    assert ended == [signal.SIGTERM]
    monkeypatch.setitem(sys.modules, "resource", None)
    assert most_connections(77) == 77
    monkeypatch.delattr(os, "O_CLOEXEC")
    monkeypatch.setattr(socket, "SO_EXCLUSIVEADDRUSE", socket.SO_REUSEADDR, raising=False)
    listening_socket("127.0.0.1", 0).close()


def test_documents_are_read_by_spawned_processes_where_there_is_no_fork_server(monkeypatch: pytest.MonkeyPatch) -> None:
    import multiprocessing

    from transduce.apps.serving.documents import process, worker

    monkeypatch.setattr(multiprocessing, "get_all_start_methods", lambda: ["spawn"])
    assert process._context().get_start_method() == "spawn"
    monkeypatch.setattr(worker, "HAS_LIMITS", False)
    monkeypatch.delattr(worker, "resource")
    worker._limit("RLIMIT_DATA", 0)
    worker._limit_time(worker.ProcessLimits(memory=1, processor_seconds=1))


@pytest.mark.parametrize("name", ["NUL", "con", "aux.de", "Com1", "lpt9.x.y", "name."])
def test_projects_have_names_that_folders_can_have_everywhere(name: str) -> None:
    with pytest.raises(InputError, match="Windows"):
        check_name(name)
    check_name("console")


def test_a_project_is_found_by_its_own_capitals_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Acme").mkdir()
    projects = Projects(tmp_path)
    try:
        monkeypatch.setattr(Path, "is_file", lambda path: path.parent.name.lower() == "acme")  # as on macOS
        with pytest.raises(UnknownProjectError):
            projects.find("acme")
    finally:
        projects.close()


def test_processes_of_a_training_meet_without_libuv_on_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("USE_LIBUV", raising=False)
    monkeypatch.setattr(sys, "platform", "win32")
    prepare_environment()
    assert os.environ.pop("USE_LIBUV") == "0"
