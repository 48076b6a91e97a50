"""Jobs on the shards of a corpus: one task for each shard without an output."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from transduce.bundle import find_bundle
from transduce.bundle_config import read_config
from transduce.cluster.shard_tasks import (
    Cleaning,
    Counts,
    Fingerprinting,
    Marked,
    Shard,
    Tokenizing,
    clean,
    take_fingerprints,
    tokenize,
)
from transduce.cluster.workers import Workers
from transduce.corpora.cleaning import Duplicates, Overlap, Step
from transduce.corpora.corpus import Filter
from transduce.corpora.formats import Columns
from transduce.corpora.shards import shards_of
from transduce.corpora.writing import check_written, is_written
from transduce.errors import ConfigError, DataError, InputError, TransduceError
from transduce.files import locked, made_parents, remove, write_text
from transduce.verification import read_json

JOB = ".transduce.json"
"""The file in an output folder that says what its shards were made by."""
FINGERPRINTS_AT_ONCE = 2**24


@dataclass
class JobReport:
    """The outcome of a job."""

    shards: int = 0
    """The number of shards that were written."""
    finished_before: int = 0
    """The number of shards that were there already."""
    counts: Counts = field(default_factory=Counts)
    """Pairs of the shards that were written, kept and left out."""


def clean_shards(
    inputs: Sequence[str | Path],
    out: Path,
    steps: Sequence[Step],
    workers: Workers,
    *,
    columns: Columns | None = None,
    languages: tuple[str, str] = ("", ""),
    ending: str | None = None,
) -> JobReport:
    """Cleans the shards of a corpus, as if they were one file, into a folder of files with the same names.

    Args:
        inputs: files of pairs, or line-aligned ones: all sources, then all targets; patterns name several.
        out: the folder; shards that it has already are not made again.
        steps: those of `data.cleaning`, without overlap. Duplicates are found in all shards.
        workers: what runs the tasks.
        columns: the sides' columns in files of pairs whose first line does not name them.
        languages: source and target, by which columns may be called.
        ending: the ending of the files that are written, such as .parquet, which takes two aligned files together
            (default: those of the inputs).

    Raises ConfigError or DataError for invalid input, InputError for a folder with the output of another job.
    """
    if not steps or any(isinstance(step, Overlap) for step in steps):
        raise ConfigError("cleaning: expected steps of data.cleaning, and not overlap: it needs held-out data")
    remembers = any(step.remembers for step in steps if not isinstance(step, Overlap))
    shards = _shards(inputs, out, columns, languages, ending)
    described = {"steps": msgspec.to_builtins(list(steps)), "columns": columns, "languages": languages}
    if remembers:  # the output of a shard depends on those before
        described["inputs"] = [str(path) for shard in shards for path in shard.inputs]
    with _job(out, {"job": "clean", **described}) as work:
        return _finish(shards, lambda todo: _clean(shards, todo, steps, work, workers))


def tokenize_shards(
    inputs: Sequence[str | Path],
    out: Path,
    model: Path,
    workers: Workers,
    *,
    ids: bool = False,
    columns: Columns | None = None,
    languages: tuple[str, str] = ("", ""),
    ending: str | None = None,
) -> JobReport:
    """Writes the texts of shards as a model's tokens, with a space between two, or as their numbers; see
    `clean_shards`."""
    read_config(find_bundle(model))
    shards = _shards(inputs, out, columns, languages, ending)
    described = {"model": str(model), "ids": ids, "columns": columns, "languages": languages}
    with _job(out, {"job": "tokenize", **described}):
        return _finish(
            shards, lambda todo: workers.map(tokenize, [Tokenizing(shard, model.absolute(), ids) for shard in todo])
        )


def _finish(shards: Sequence[Shard], run: Callable[[Sequence[Shard]], Iterable[Counts]]) -> JobReport:
    todo = [shard for shard in shards if not shard.is_finished]
    report = JobReport(len(todo), len(shards) - len(todo))
    for counts in run(todo) if todo else ():
        report.counts.add(counts)
    return report


def _clean(
    shards: Sequence[Shard], todo: Sequence[Shard], steps: Sequence[Step], work: Path, workers: Workers
) -> Iterator[Counts]:
    """Looks for duplicates in all shards, a pass for each such step, then cleans those that are to be made."""
    filters: list[list[Filter]] = [[] for _ in shards]
    for number, step in enumerate(steps):
        assert not isinstance(step, Overlap)
        if not isinstance(step, Duplicates):
            for of_shard in filters:
                of_shard.append(step)
            continue
        files = [work / f"{number}-{shard.outputs[0].name}" for shard in shards]
        tasks = [
            Fingerprinting(shard, tuple(of_shard), step.of, file)
            for shard, of_shard, file in zip(shards, filters, files, strict=True)
        ]
        list(workers.map(take_fingerprints, tasks))
        marks = [file.with_name(f"{file.name}.marks") for file in files]
        mark_firsts(files, marks)
        for of_shard, file in zip(filters, marks, strict=True):
            of_shard.append(Marked(file, step.reason))
    filters_of = dict(zip(shards, filters, strict=True))
    yield from workers.map(clean, [Cleaning(shard, tuple(filters_of[shard])) for shard in todo])


def mark_firsts(files: Sequence[Path], marks: Sequence[Path]) -> None:
    """Writes a bit for each fingerprint of the files: 1 if it has not come before, in this file or an earlier one.

    Memory is a byte for each, and what sorting a part of them needs.
    """
    sizes = [file.stat().st_size // 8 for file in files]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    is_first = np.zeros(starts[-1], bool)
    buckets = max(math.ceil(len(is_first) / FINGERPRINTS_AT_ONCE), 1)
    for bucket in range(buckets):
        values, places = [], []
        for file, start in zip(files, starts, strict=False):
            of_file: NDArray[np.uint64] = np.fromfile(file, np.uint64)
            chosen = np.flatnonzero(of_file % np.uint64(buckets) == bucket)
            values.append(of_file[chosen])
            places.append(start + chosen)
        _, first = np.unique(np.concatenate(values), return_index=True)  # the first of equal ones
        is_first[np.concatenate(places)[first]] = True
    for file, start, size in zip(marks, starts, sizes, strict=False):
        np.packbits(is_first[start : start + size]).tofile(file)


def _shards(
    inputs: Sequence[str | Path],
    out: Path,
    columns: Columns | None,
    languages: tuple[str, str],
    ending: str | None,
) -> list[Shard]:
    shards = []
    for files in shards_of(inputs):
        together = files[:1] if ending is not None and is_written(ending) else files
        outputs = tuple(out / _named(file, ending) for file in together)
        if len(outputs) == 1:
            check_written(outputs[0])
        inputs_of = tuple(file.absolute() for file in files)
        shards.append(Shard(inputs_of, outputs, None if columns is None else tuple(columns), languages))
    names = [path.name for shard in shards for path in shard.outputs]
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise DataError(f"two of the files would be written to {out / repeated}; rename one, or choose another ending")
    return shards


def _named(file: Path, ending: str | None) -> str:
    if ending is None:
        return file.name
    suffixes = len(file.suffixes[-2:]) if file.suffix in (".gz", ".xz", ".zst") else 1
    stem = file.name
    for _ in range(min(suffixes, len(file.suffixes))):
        stem = Path(stem).stem
    return stem + ending


@contextmanager
def _job(out: Path, described: Mapping[str, Any]) -> Iterator[Path]:
    """Opens the folder of a job, for one process at a time, and one in it for intermediate files, which go at the
    end."""
    plain: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(described))
    _check_job(out, plain)
    with made_parents(out):
        out.mkdir(exist_ok=True)
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(out, wait=False))
        except BlockingIOError:
            raise InputError(f"another process is writing to {out}; wait for it, or choose another folder") from None
        work = out / ".work"
        if not _check_job(out, plain):
            remove(work)
            write_text(out / JOB, msgspec.json.encode(plain).decode())
        work.mkdir(exist_ok=True)
        try:
            yield work.absolute()
        except TransduceError:
            if all(path.name.startswith(".") for path in out.iterdir()):  # a mistake, before anything was finished
                remove(out)
            raise
        remove(work)


def _check_job(out: Path, described: Mapping[str, Any]) -> bool:
    """Returns True if a folder has output of this job; raises InputError for that of another, or other files."""
    if out.exists() and not out.is_dir():
        raise InputError(f"{out} is a file; expected a folder for the shards")
    if not out.exists() or all(path.name.startswith(".") for path in out.iterdir()):  # nothing was finished
        return False
    if not (out / JOB).exists():
        raise InputError(f"{out} holds other files; choose another folder")
    before = read_json(out / JOB, dict[str, Any], "choose another folder")
    if changed := [name for name in described if before.get(name) != described[name]]:
        raise InputError(f"{out} was made with other {changed[0]}; use the same to go on, or choose another folder")
    return True
