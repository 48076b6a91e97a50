"""The job that examines the pairs of shards, by what a doctor learns from all of them."""

import pickle
import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import numpy as np

from transduce.apps.cluster.jobs import ADVICE, mark_firsts, shards_for, working
from transduce.apps.cluster.shard_tasks import Marked, Shard
from transduce.apps.cluster.workers import Workers
from transduce.base.files import new_file, sha256
from transduce.base.stages import Stage
from transduce.corpora.corpus import Keeps, SentencePair
from transduce.corpora.doctor.doctor import Doctor, Finding
from transduce.corpora.doctor.examination import Examination, Sides, Tally, repeat_key, spread
from transduce.corpora.doctor.likeness import Likeness
from transduce.corpora.doctor.shifts import Shifts
from transduce.corpora.doctor.signs import masked
from transduce.corpora.formats import Columns, parallel_files
from transduce.corpora.lines import read_lines
from transduce.corpora.overlap import OverlapFilter
from transduce.corpora.pair_files import ONE_CELL, write_pairs
from transduce.corpora.shards import shards_of

LEFT_OUT, SCORES = "left-out", "scores"
"""Folders of the tables of what is left out of each shard, and of the scores of all its pairs."""


@dataclass(frozen=True)
class Treatment:
    """A user's wishes for the files that an examination of pairs writes."""

    repair_only: bool = False
    """Write faulty pairs too."""
    mask: bool = False
    """Write what they are in place of personal data."""
    test: tuple[str, ...] = ()
    """Files of pairs of a test: pairs with a side of theirs are faulty."""
    like: str | None = None
    """A file of text in the language of a side, to say how much each pair is like it."""
    best: int | None = None
    """About how many pairs are left, those most like that text."""
    scores: bool = False
    """Write a table of all pairs with their scores, too."""


def examine_shards(
    inputs: Sequence[str | Path],
    out: Path | None,
    workers: Workers,
    treatment: Treatment = Treatment(),
    *,
    columns: Columns | None = None,
    languages: tuple[str, str] = ("", ""),
    ending: str | None = None,
) -> Examination:
    """Examines the shards of a corpus as one, and writes what is left of them into a folder.

    Args:
        inputs: as for `clean_shards`.
        out: the folder, of files with the same names, and beside each a file of what was left out, with the reasons
            (default: nothing is written). Shards that it has already are not made again, and not reported.
        workers: what runs the tasks.
        treatment: what is done.
        columns: the sides' columns in files of pairs whose first line does not name them.
        languages: source and target, by which columns may be called.
        ending: the ending of the files that are written (default: those of the inputs).

    Raises DataError for invalid input, InputError for a folder with the output of another job.
    """
    with ExitStack() as stack:
        folder = out or Path(stack.enter_context(TemporaryDirectory()))
        if out is None:
            shards = [Shard(tuple(map(Path, files)), (), columns, languages) for files in shards_of(inputs)]
        else:
            tables = [out / LEFT_OUT, out / SCORES][: 1 + treatment.scores]
            shards = []
            for shard in shards_for(inputs, out, columns, languages, ending):
                name = f"{shard.outputs[0].name.removesuffix('.tsv')}.tsv"
                shards.append(replace(shard, outputs=(*shard.outputs, *(table / name for table in tables))))
        is_untested = OverlapFilter("either", [parallel_files(treatment.test)]).start() if treatment.test else None
        like = None if treatment.like is None else list(read_lines(treatment.like))
        described = {"job": "doctor", **msgspec.to_builtins(treatment), "columns": columns}
        described["inputs"] = [str(path) for shard in shards for path in shard.inputs]
        described["languages"] = languages
        texts = [*treatment.test, *([] if treatment.like is None else [treatment.like])]
        described["texts"] = [sha256(Path(file)) for file in texts]
        work = stack.enter_context(working(Stage(folder, described, advice=ADVICE)))
        missing = [number for number, shard in enumerate(shards) if out is None or not shard.is_finished]
        if not missing:
            return Examination(0, 0, {}, {})
        keys = [work / f"{number}.keys" for number in range(len(shards))]
        shifts = list(workers.map(_look, shards, keys))
        marks = [file.with_suffix(".marks") for file in keys]
        mark_firsts(keys, marks)
        total = sum(file.stat().st_size // 8 for file in keys)
        sample = spread(chain.from_iterable(map(_pairs, shards, shifts)), total)
        likeness = None
        if like is not None:
            likeness = Likeness(like, sample, min((treatment.best or total) / max(total, 1), 1.0))
        learned = work / f"doctor-{uuid.uuid4().hex}"  # of this process, which others only read
        learned.write_bytes(pickle.dumps((Doctor(sample), likeness, is_untested)))
        of_missing = [[each[number] for number in missing] for each in (shards, shifts, marks)]
        same = [[each] * len(missing) for each in (learned, treatment, out is None)]
        return Examination.joined(list(workers.map(_examine, *of_missing, *same)))


def _sides(shard: Shard) -> Sides:
    return Sides.of_files(shard.inputs, shard.columns, shard.languages)


def _pairs(shard: Shard, shifts: Shifts) -> Iterator[SentencePair]:
    return _sides(shard).pairs(shifts)


def _look(shard: Shard, keys: Path) -> Shifts:
    """Finds what was shifted, and writes into a file a number for each pair by which repeated ones are found."""
    shifts = _sides(shard).shifts()
    with new_file(keys) as new, new.open("wb") as stream:
        np.fromiter(map(repeat_key, _pairs(shard, shifts)), np.uint64).tofile(stream)
    return shifts


def _examine(
    shard: Shard, shifts: Shifts, marks: Path, learned: Path, treatment: Treatment, to_report: bool
) -> Examination:
    doctor, likeness, is_untested = _learned(learned)
    further: dict[str, Keeps] = {"repeated": Marked(marks, "").start()}
    if is_untested is not None:
        further["in the test data"] = is_untested
    tally = Tally()
    found = doctor.judge(_pairs(shard, shifts))
    if likeness is not None:
        found = likeness.judge(found, treatment.best is not None)
    findings = tally.counted(found, further)
    if to_report:
        deque(findings, maxlen=0)
    else:
        _write(shard.outputs, findings, treatment)
    return tally.examination(doctor, [(shard.inputs[0].name, shifts)], _sides(shard).lines(shifts))


def _write(outputs: Sequence[Path], findings: Iterator[Finding], treatment: Treatment) -> None:
    """Writes the pairs of a shard that are kept; beside them what was left out, and the scores of all pairs."""
    count = len(outputs) - 1 - treatment.scores
    outputs, tables = outputs[:count], outputs[count:]
    for table in tables:
        table.parent.mkdir(exist_ok=True)
    with ExitStack() as stack:
        new_files = [stack.enter_context(new_file(path)) for path in tables]
        left_out, *scored = [stack.enter_context(path.open("w", encoding="utf-8")) for path in new_files]

        def kept() -> Iterator[SentencePair]:
            left_out.write("reason\tsource\ttarget\n")
            for number, finding in enumerate(findings):
                pair = masked(finding.pair)[0] if treatment.mask else finding.pair
                sides = [pair.source.translate(ONE_CELL), pair.target.translate(ONE_CELL)]
                for file in scored:
                    if number == 0:
                        file.write("\t".join(["source", "target", "fault", "repairs", *finding.scores]) + "\n")
                    values = [f"{score:.3f}" for score in finding.scores.values()]
                    file.write("\t".join([*sides, finding.fault or "", ", ".join(finding.repairs), *values]) + "\n")
                if finding.fault is None or treatment.repair_only:
                    yield pair
                else:
                    left_out.write("\t".join([finding.reason, *sides]) + "\n")

        write_pairs(outputs, kept())


@lru_cache(1)
def _learned(file: Path) -> tuple[Doctor, Likeness | None, Keeps | None]:
    """Reads what the job's first process has learned, once in each process."""
    return pickle.loads(file.read_bytes())
