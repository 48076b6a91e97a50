"""Jobs on the shards of a corpus: one task for each, and the shards whose output is there are left as they are."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from transduce.apps.cluster.shard_tasks import Marked, Shard, ShardCounts, clean, take_fingerprints, tokenize
from transduce.apps.cluster.workers import Workers
from transduce.base.errors import ConfigError, DataError
from transduce.base.files import remove
from transduce.base.stages import Stage, alone_in
from transduce.bundle.bundle_config import read_config
from transduce.bundle.model_bundle import find_bundle
from transduce.corpora.cleaning import Duplicates, Overlap, Step
from transduce.corpora.compression import PACKERS
from transduce.corpora.corpus import Filter
from transduce.corpora.formats import Columns
from transduce.corpora.pair_files import check_written, is_written
from transduce.corpora.shards import shards_of

FINGERPRINTS_AT_ONCE = 2**24
ADVICE = "choose another folder"


@dataclass
class JobReport:
    """The outcome of a job."""

    shards: int = 0
    """The number of shards that were written."""
    finished_before: int = 0
    """The number of shards that were there already."""
    counts: ShardCounts = field(default_factory=ShardCounts)
    """The pairs of the shards that were written."""


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
    if not steps:
        raise ConfigError("cleaning: no steps are given; `transduce data doctor` finds what is faulty without any")
    if any(isinstance(step, Overlap) for step in steps):
        raise ConfigError("cleaning: overlap needs held-out data; choose other steps of data.cleaning")
    remembers = any(step.remembers for step in steps if not isinstance(step, Overlap))
    shards = shards_for(inputs, out, columns, languages, ending)
    described = {"steps": msgspec.to_builtins(list(steps)), "columns": columns, "languages": languages}
    if remembers:  # the output of a shard depends on those before
        described["inputs"] = [str(path) for shard in shards for path in shard.inputs]
    with working(Stage(out, {"job": "clean", **described}, advice=ADVICE)) as work:
        missing = [shard for shard in shards if not shard.is_finished]
        return _report(shards, missing, _clean(shards, missing, steps, work, workers) if missing else ())


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
    shards = shards_for(inputs, out, columns, languages, ending)
    described = {"model": str(model), "ids": ids, "columns": columns, "languages": languages}
    with working(Stage(out, {"job": "tokenize", **described}, advice=ADVICE)):
        missing = [shard for shard in shards if not shard.is_finished]
        counts = workers.map(tokenize, missing, [model.absolute()] * len(missing), [ids] * len(missing))
        return _report(shards, missing, counts)


def _report(shards: Sequence[Shard], missing: Sequence[Shard], counts: Iterable[ShardCounts]) -> JobReport:
    report = JobReport(len(missing), len(shards) - len(missing))
    for of_shard in counts:
        report.counts.add(of_shard)
    return report


def _clean(
    shards: Sequence[Shard], missing: Sequence[Shard], steps: Sequence[Step], work: Path, workers: Workers
) -> Iterator[ShardCounts]:
    """Looks for duplicates in all shards, a pass for each such step, then cleans the missing ones."""
    filters: list[tuple[Filter, ...]] = [() for _ in shards]
    for number, step in enumerate(steps):
        assert not isinstance(step, Overlap)
        if isinstance(step, Duplicates):
            files = [work / f"{number}-{shard.outputs[0].name}" for shard in shards]
            list(workers.map(take_fingerprints, shards, filters, [step.of] * len(shards), files))
            marks = [file.with_name(f"{file.name}.marks") for file in files]
            mark_firsts(files, marks)
            further: list[Filter] = [Marked(file, step.reason) for file in marks]
        else:
            further = [step] * len(shards)
        filters = [(*of_shard, each) for of_shard, each in zip(filters, further, strict=True)]
    filters_of = dict(zip(shards, filters, strict=True))
    return workers.map(clean, missing, [filters_of[shard] for shard in missing])


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


def shards_for(
    inputs: Sequence[str | Path],
    out: Path,
    columns: Columns | None,
    languages: tuple[str, str],
    ending: str | None,
) -> list[Shard]:
    """Returns the shards of a corpus with the files that a job writes; see `clean_shards`."""
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
    return (Path(file.stem).stem if file.suffix in PACKERS else file.stem) + ending


@contextmanager
def working(stage: Stage) -> Iterator[Path]:
    """Opens the folder of a job, for one process at a time, and one in it for intermediate files, which is removed when
    the job is done."""
    stage.is_begun()  # or an error, before a lock is put beside files of another stage
    with alone_in(stage.folder, stage.advice), stage.begun() as is_begun:
        work = stage.folder / ".work"
        if not is_begun:
            remove(work)
        work.mkdir(exist_ok=True)
        yield work.absolute()
        remove(work)
