"""Runs rows: a process that has imported everything forks for each, several at a time.

`python -m bad_inputs.harness FOLDER NUMBER ...` leaves FOLDER/outcomes/NUMBER.json for each row.
"""

import contextlib
import gc
import importlib
import os
import pkgutil
import re
import resource
import shutil
import signal
import stat
import struct
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bad_inputs.outcome import Outcome
from bad_inputs.row import Row, Stream
from bad_inputs.tables import ROWS
from bad_inputs.working_folder import WorkingFolder, states

NUMBER = struct.Struct("I")
MAX_TEXT = 20_000  # characters that are kept of what a command says
MAX_MEMORY = 6 * 2**30
GRACE = 0.01  # seconds between looks at a running command
AGAIN = 5.0  # seconds until a signal is repeated, as users do: one just before a call that waits is seen after it
MODULES = "modules"
MEMORY = Path("/dev/shm")
ROOM = 2**30  # bytes that rows may need there
CHEAP_FORKS = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
"""Memory in large pages, of which a fork copies a fifth of the tables in a fifth of the time."""
UNTIDY = re.compile(r"\.(new|part|partial|old)$|^\..*-[0-9a-f]{8}$")  # what may not stay in the cache


def outcomes_of(rows: Sequence[int], folder: Path) -> dict[int, Outcome]:
    """Runs some of ROWS, by their numbers, and leaves in the folder what all begin with, `world`."""
    tests, source = Path(__file__).parents[1], Path(importlib.import_module("transduce").__file__ or "").parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "bad_inputs.harness", str(folder), *map(str, rows)],
        env=clean_environment(os.environ) | CHEAP_FORKS | {"PYTHONPATH": os.pathsep.join(map(str, (tests, source)))},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return {number: Outcome.load(outcome_path(folder, number)) for number in rows}


class BecomeCommand(BaseException):
    """Raised in a new process, which is to run a row."""

    def __init__(self, row: Row, place: Path) -> None:
        self.row = row
        self.place = place


def clean_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """What commands see of the world: no data, no GPU, no network, one thread."""
    kept = {name: environment[name] for name in ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH") if name in environment}
    nowhere = "http://127.0.0.1:9"
    proxies = {"http_proxy": nowhere, "https_proxy": nowhere, "no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    return kept | proxies | {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", "TOKENIZERS_PARALLELISM": "false"}


def fastest_place() -> Path | None:
    """Where rows copy the folder that they begin with five times as fast as on a disk; None where there is none."""
    is_there = MEMORY.is_dir() and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM
    return MEMORY if is_there else None


def outcome_path(folder: Path, number: int) -> Path:
    """Where the outcome of a row will be."""
    return folder / "outcomes" / f"{number}.json"


def main(folder: Path, numbers: Sequence[int]) -> None:
    """Prepare the folder that rows begin with, and run rows, as many at a time as there are processors."""
    (folder / "outcomes").mkdir()
    _import_all()
    _prepare(folder / "world")
    _import_again(folder / "world" / MODULES)
    _warm_up(folder / "world")
    taken, given = os.pipe()
    os.write(given, b"".join(map(NUMBER.pack, numbers)))
    os.close(given)
    gc.freeze()  # so that no collection writes to the memory that processes share
    for worker in [_fork_worker(folder, taken) for _ in range(os.cpu_count() or 1)]:
        os.waitpid(worker, 0)


def _import_all() -> None:
    import torch

    import docsegments
    import transduce
    from transduce.analysis.training_log import read_curves

    for package in (transduce, docsegments):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    for name in ("rich.progress", "rich.table", "torch.utils.tensorboard", "sacrebleu", "numpy.random"):
        importlib.import_module(name)
    with contextlib.suppress(ImportError):
        importlib.import_module("ctranslate2")
    torch.set_num_threads(1)
    sys.modules["transduce.corpora.catalogue.download"].PAUSE = 0  # type: ignore[attr-defined]
    machine: Any = sys.modules["transduce.experiment.machine"]
    machine.BOUTS, machine.ENOUGH = 1, 0.02  # as conftest.py has them, and so the next two
    phrases, tuning = (sys.modules[f"transduce.phrases.{name}"] for name in ("phrase_model", "tuning"))
    phrases.FOLDS, tuning.ROUNDS, tuning.STARTS, tuning.STEPS = 1, 2, 2, 20  # type: ignore[attr-defined]
    sys.modules["transduce.training.estimate"].MAX_PARTS = 2  # type: ignore[attr-defined]
    os.fsync = lambda descriptor: None  # nobody pulls the plug
    running = sys.modules["transduce.experiment.run"]
    running.plot_training_curves = lambda log, picture: (read_curves(log), picture.touch())  # type: ignore[attr-defined]


def _import_again(names: Path) -> None:
    """What a training imports on its way, so that those of the rows need not."""
    for name in names.read_text().split():
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    names.unlink()


def _warm_up(world: Path) -> None:
    """What is made when it is first needed, such as the converters of settings, is made once for all rows."""
    from transduce.apps.cli.main import app, run

    assert all(app.all_commands().values()), "verbs are made here, once for all rows"
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        for words in (["recipes"], ["data", "list"], ["train", str(world / "tiny.toml"), "training.updates=many"]):
            sys.argv = ["transduce", *words]
            run(app)


def _prepare(world: Path) -> None:
    """In a process of its own: one that has trained must not fork."""
    world.mkdir()
    process = os.fork()
    if process == 0:
        from bad_inputs.world import prepare

        sys.modules["transduce.training.memory_check"].MemoryCheck.run = lambda *_, **__: None  # type: ignore[attr-defined]
        os.chdir(world)
        os.environ["TRANSDUCE_CACHE"] = str(world / "cache")
        before = set(sys.modules)
        try:
            prepare(world)
            (world / MODULES).write_text("\n".join(name for name in sys.modules if name not in before))
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
            os._exit(1)
        os._exit(0)
    if os.waitpid(process, 0)[1]:
        raise SystemExit("the folder that rows begin with cannot be prepared")


def _fork_worker(folder: Path, taken: int) -> int:
    parent = os.getpid()
    if process := os.fork():
        return process
    place = folder / f"worker-{os.getpid()}"
    place.mkdir()
    work = WorkingFolder(folder / "world", place / "work")
    while os.getppid() == parent and (packed := os.read(taken, NUMBER.size)):
        (number,) = NUMBER.unpack(packed)
        try:
            outcome = _run(ROWS[number], place)
        except Exception:
            outcome = Outcome(None, "", traceback.format_exc(), 0.0)
        outcome.save(outcome_path(folder, number))
        work.restore()
    os._exit(0)


def _run(row: Row, place: Path) -> Outcome:
    """Fork a process for a row, and see to it that it ends."""
    for name in ("broken", "before", "stdin", "stdout", "stderr"):
        (place / name).unlink(missing_ok=True)
    began = time.monotonic()
    if not (process := os.fork()):
        raise BecomeCommand(row, place)
    status, timed_out, interrupted_at = None, False, -float("inf")
    while status is None:
        time.sleep(GRACE)
        ended, code = os.waitpid(process, os.WNOHANG)
        if ended:
            status = os.waitstatus_to_exitcode(code)
        elif time.monotonic() - began > row.seconds:
            timed_out = True
            os.kill(process, signal.SIGKILL)
        elif row.interrupt and time.monotonic() - interrupted_at > AGAIN and _is_there(row.interrupt.when, place):
            interrupted_at = time.monotonic()
            os.kill(process, row.interrupt.signal)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process, signal.SIGKILL)
        time.sleep(GRACE)  # there were others of its group, which may be writing yet
    seconds = time.monotonic() - began
    if (place / "broken").exists():
        return Outcome(None, "", (place / "broken").read_text(), seconds)
    before, after = _read_listing(place / "before"), _list(place / "work")
    return Outcome(
        status,
        _read(place / "stdout"),
        _read(place / "stderr"),
        round(seconds, 2),
        timed_out,
        sorted(after.keys() - before.keys()),
        sorted(name for name, state in before.items() if after.get(name) != state),
    )


def _is_there(pattern: str, place: Path) -> bool:
    if pattern == "stdout":
        return (place / "stdout").exists() and (place / "stdout").stat().st_size > 0
    return any((place / "work").glob(pattern))


def _read(path: Path) -> str:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as stream:
        return stream.read(4 * MAX_TEXT).decode(errors="replace")[:MAX_TEXT]
    return ""


def _list(work: Path) -> dict[str, str]:
    """The state of all that is in a folder; in the cache only of what should not be there."""
    found = {}
    for name, facts in states(work):
        base = name.rpartition(os.sep)[2]
        if name.startswith(f"cache{os.sep}") and not UNTIDY.search(base):
            continue
        is_plain = not base.endswith(".lock") and not stat.S_ISDIR(facts.st_mode)
        found[name] = f"{facts.st_size} {facts.st_mtime_ns} {facts.st_ino}" if is_plain else "there"
    return found


def _write_listing(path: Path, listing: Mapping[str, str]) -> None:
    text = "\0".join(f"{name}\0{state}" for name, state in listing.items())
    path.write_bytes(text.encode(errors="surrogateescape"))


def _read_listing(path: Path) -> dict[str, str]:
    cells = path.read_bytes().decode(errors="surrogateescape").split("\0")
    return dict(zip(cells[::2], cells[1::2], strict=False))


def become(row: Row, place: Path) -> None:
    """Damage this process's own copy of the folder, then be `transduce`."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        os.chdir(place / "work")
        usual = {"TRANSDUCE_CACHE": str(place / "work" / "cache"), "TRANSDUCE_ENGINE": "pytorch"}
        for name, value in (usual | dict(row.environment)).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        for damage in row.damages:
            damage.do()
        _write_listing(place / "before", _list(place / "work"))
        _connect(row, place)
        for kind, most in (
            (resource.RLIMIT_FSIZE, int(row.megabytes * 2**20)),
            (resource.RLIMIT_DATA, MAX_MEMORY),
            (resource.RLIMIT_CORE, 0),
        ):
            resource.setrlimit(kind, (most, resource.RLIM_INFINITY))
    except BaseException:
        (place / "broken").write_text(traceback.format_exc())
        os._exit(1)
    sys.argv = ["transduce", *row.command]
    sys.modules["__main__"].__package__ = ""  # else usage errors name this module
    from transduce.apps.cli.main import main as transduce

    needs_end = row.stdin is Stream.OPEN or row.stderr or row.interrupt
    if needs_end:
        transduce()
        return
    try:
        transduce()
        status = 0
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        traceback.print_exc()
        status = 1
    try:
        sys.stdout.flush()
    except (OSError, ValueError) as error:  # as Python does where it ends, which takes a second
        print(f"Exception ignored: {error}", file=sys.stderr)
        status = 120
    sys.stderr.flush()
    os._exit(status)


def _connect(row: Row, place: Path) -> None:
    """The standard streams as the row says, the Python objects of them as they are at its start."""
    if isinstance(row.stdin, bytes):
        (place / "stdin").write_bytes(row.stdin)
        _put(os.open(place / "stdin", os.O_RDONLY), 0)
    elif row.stdin is Stream.OPEN:
        read, write = os.pipe()
        os.write(write, b"The dog sleeps.\n")
        _put(read, 0)
        os.set_inheritable(write, False)
    for number, stream, name in ((1, row.stdout, "stdout"), (2, row.stderr, "stderr")):
        if stream is Stream.FULL:
            _put(os.open("/dev/full", os.O_WRONLY), number)
        elif stream is Stream.GONE:
            read, write = os.pipe()
            os.close(read)
            _put(write, number)
        elif stream is None:
            _put(os.open(place / name, os.O_WRONLY | os.O_CREAT), number)
    streams: list[object] = []
    for number, stream, mode in ((0, row.stdin, "r"), (1, row.stdout, "w"), (2, row.stderr, "w")):
        if stream is Stream.CLOSED:
            os.close(number)
            streams.append(None)
        else:
            errors = "backslashreplace" if number == 2 else "strict"
            streams.append(open(number, mode, encoding=row.encoding, errors=errors, closefd=False))  # noqa: SIM115
    sys.stdin, sys.stdout, sys.stderr = streams  # type: ignore[assignment]
    sys.__stdin__, sys.__stdout__, sys.__stderr__ = streams  # type: ignore[misc,assignment]


def _put(descriptor: int, number: int) -> None:
    os.dup2(descriptor, number)
    os.close(descriptor)


if __name__ == "__main__":
    # Imported under its name, so that there is one class of each name.
    from bad_inputs import harness

    try:
        harness.main(Path(sys.argv[1]), [int(number) for number in sys.argv[2:]])
    except harness.BecomeCommand as command:
        told = command
    else:
        sys.exit()
    harness.become(told.row, told.place)
