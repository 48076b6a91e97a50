"""Shards are cleaned and tokenized as if they were one file, whatever runs the tasks, and go on where they stopped."""

import gzip
import hashlib
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.apps.cluster import command_tasks, jobs, shard_tasks
from transduce.apps.cluster.command_tasks import Command, run_commands
from transduce.apps.cluster.jobs import clean_shards, mark_firsts, tokenize_shards
from transduce.apps.cluster.workers import LocalWorkers, TaskEndedError
from transduce.base.errors import DataError, InputError
from transduce.corpora.cleaning import Duplicates, Length, Ratio, read_steps
from transduce.corpora.shards import open_corpus

HERE = LocalWorkers(1)
STEPS = [Length(min_words=2), Duplicates(of="pair"), Ratio(most=3), Duplicates(of="target")]


def write_shards(folder: Path, count: int = 4, pairs: int = 50) -> list[Path]:
    folder.mkdir()
    files = [folder / f"part-{number}.tsv.gz" for number in range(count)]
    for number, file in enumerate(files):
        keys = (
            (i + number * pairs // 2) % (3 * pairs) for i in range(pairs)
        )  # half of the next shard's are this one's
        lines = (f"s {key}{' x' * (key % 9)}\tt {key % (2 * pairs)}\n" for key in keys)
        file.write_bytes(gzip.compress("".join([*lines, "one\tword\n"]).encode(), mtime=0))
    return files


def checksums(folder: Path) -> dict[str, str]:
    """The visible files of a folder."""
    files = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_shards_are_cleaned_as_one_file_would_be(tmp_path):
    files = write_shards(tmp_path / "in")
    whole = open_corpus(files).filtered(STEPS)
    dropped: list[str] = []
    wanted = list(whole.sift(lambda reason, pair: dropped.append(reason)))
    report = clean_shards([tmp_path / "in" / "part-*.tsv.gz"], tmp_path / "out", STEPS, HERE)
    assert wanted == list(open_corpus([tmp_path / "out" / "part-*.tsv.gz"]))
    assert report.counts.kept == len(wanted)
    assert report.counts.dropped == {reason: dropped.count(reason) for reason in dropped}
    assert len(report.counts.dropped) == len(STEPS)
    assert (report.shards, report.finished_before) == (4, 0)
    assert not (tmp_path / "out" / ".work").exists()


@given(st.lists(st.lists(st.integers(1, 9), max_size=8), min_size=1, max_size=4), st.integers(1, 20))
def test_the_first_of_each_fingerprint_is_marked_in_any_number_of_buckets(tmp_path_factory, values, at_once):
    folder = tmp_path_factory.mktemp("marks")
    files = [folder / str(number) for number in range(len(values))]
    for file, of_file in zip(files, values, strict=True):
        np.array(of_file, np.uint64).tofile(file)
    marks = [folder / f"{file.name}.marks" for file in files]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(jobs, "FINGERPRINTS_AT_ONCE", at_once)
        mark_firsts(files, marks)
    seen: set[int] = set()
    for of_file, file in zip(values, marks, strict=True):
        bits = np.unpackbits(np.fromfile(file, np.uint8))[: len(of_file)].tolist()
        assert bits == [value not in seen and not seen.add(value) for value in of_file]


def test_an_interrupted_job_makes_only_the_shards_that_are_not_there(tmp_path, monkeypatch):
    files = write_shards(tmp_path / "in")
    clean_shards(files, tmp_path / "whole", STEPS, HERE)
    made: list[str] = []
    write = shard_tasks.write_pairs

    def stopping(outputs, pairs):
        if len(made) == 2:
            next(iter(pairs))
            raise KeyboardInterrupt
        made.append(outputs[0].name)
        return write(outputs, pairs)

    with monkeypatch.context() as patch:
        patch.setattr(shard_tasks, "write_pairs", stopping)
        with pytest.raises(KeyboardInterrupt):
            clean_shards(files, tmp_path / "out", STEPS, HERE)
    assert list(checksums(tmp_path / "out")) == [file.name for file in files[:2]]
    monkeypatch.setattr(shard_tasks, "scope_fingerprint", None)  # fingerprints are there already
    report = clean_shards(files, tmp_path / "out", STEPS, HERE)
    assert (report.shards, report.finished_before) == (2, 2)
    assert checksums(tmp_path / "out") == checksums(tmp_path / "whole")


def test_new_shards_are_added_and_another_job_is_refused(tmp_path):
    files = write_shards(tmp_path / "in")
    steps = [Length(min_words=2)]
    clean_shards(files[:3], tmp_path / "out", steps, HERE)
    assert clean_shards(files, tmp_path / "out", steps, HERE).shards == 1
    with pytest.raises(InputError, match="out was begun with other steps; use the same to go on, or choose another"):
        clean_shards(files, tmp_path / "out", STEPS, HERE)
    clean_shards(files[:3], tmp_path / "unique", STEPS, HERE)
    with pytest.raises(InputError, match="unique was begun with other inputs"):  # there may be duplicates of them
        clean_shards(files, tmp_path / "unique", STEPS, HERE)


def test_lines_of_two_files_are_cleaned_side_by_side_and_written_in_another_format(tmp_path):
    for name, lines in {"a.de": "x y\nx\n", "b.de": "u v\n", "a.en": "1 2\n1 2\n", "b.en": "3 4\n"}.items():
        (tmp_path / name).write_text(lines)
    inputs = [tmp_path / "?.de", tmp_path / "?.en"]
    clean_shards(inputs, tmp_path / "out", [Length(min_words=2)], HERE)
    assert (tmp_path / "out" / "a.de").read_text() == "x y\n"
    assert (tmp_path / "out" / "a.en").read_text() == "1 2\n"
    files = write_shards(tmp_path / "in", 2)
    clean_shards(files, tmp_path / "json", STEPS, HERE, ending=".jsonl.zst")
    assert list(checksums(tmp_path / "json")) == ["part-0.jsonl.zst", "part-1.jsonl.zst"]
    assert list(open_corpus([tmp_path / "json" / "*.zst"])) == list(open_corpus(files).filtered(STEPS))


def test_tokens_are_those_of_the_model(tmp_path, tiny_run):
    from transduce import load

    (tmp_path / "a.tsv").write_text("The dog sleeps.\tDer Hund schläft.\n")
    tokenizers = load(tiny_run).bundle.tokenizers
    ids = [tokenizers.source.encode("The dog sleeps."), tokenizers.target.encode("Der Hund schläft.")]
    for as_ids in (False, True):
        out = tmp_path / f"out-{as_ids}"
        report = tokenize_shards([tmp_path / "a.tsv"], out, tiny_run, HERE, ids=as_ids)
        assert report.counts.kept == 1
        sides = (out / "a.tsv").read_text(encoding="utf-8").strip("\n").split("\t")
        if as_ids:
            assert [[int(token) for token in side.split()] for side in sides] == ids
        else:
            assert sides[0].split() == tokenizers.source.pieces(ids[0])


def test_steps_are_written_as_kinds_and_settings():
    assert read_steps(["length min_words=2 max_words = 9", 'script side=source scripts=["Latin", "Han"]', "ratio"]) == [
        Length(min_words=2, max_words=9),
        *read_steps(['script  scripts=["Latin","Han"]  side=source']),
        Ratio(),
    ]


def test_a_process_that_cleans_imports_no_pytorch():
    """It would take each of them longer than many shards."""
    code = "import sys, transduce.apps.cluster.shard_tasks; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_worker_of_a_pool_runs_the_tasks_itself():
    with multiprocessing.get_context("fork").Pool(1) as pool:
        (processes,) = pool.map(_run_in_worker, [LocalWorkers(2)])
    assert len(set(processes)) == 1


def _run_in_worker(workers):
    return [os.getpid(), *workers.map(_process, range(2))]


def _process(_):
    return os.getpid()


@pytest.mark.slow
def test_processes_write_the_same_bytes(tmp_path):
    files = write_shards(tmp_path / "in")
    for name, count in (("one", 1), ("two", 2)):
        clean_shards(files, tmp_path / name, STEPS, LocalWorkers(count))
    assert checksums(tmp_path / "one") == checksums(tmp_path / "two")
    (tmp_path / "in" / "part-3.tsv.gz").write_bytes(b"no gzip")
    with pytest.raises(DataError, match=r"part-3\.tsv\.gz: damaged"):
        clean_shards(files, tmp_path / "damaged", [Length()], LocalWorkers(2))
    assert list(checksums(tmp_path / "damaged")) == [file.name for file in files[:3]]


@pytest.mark.slow
def test_a_cluster_of_ray_writes_the_same_bytes_though_a_worker_is_killed(tmp_path):
    ray = pytest.importorskip("ray", reason="Ray is not installed (transduce[ray])")
    from transduce.apps.cluster.workers import RayWorkers

    files = write_shards(tmp_path / "in", 4, 20_000)
    clean_shards(files, tmp_path / "here", STEPS, HERE)
    killed: list[int] = []

    def kill() -> None:
        """Kills a worker of this cluster that has begun to write; its title is that of its task."""
        while not killed:
            if list((tmp_path / "ray").glob(".*.part-*")):
                for process in Path("/proc").glob("[0-9]*"):
                    with suppress(OSError):
                        if not killed and (process / "cmdline").read_bytes().startswith(b"ray::clean"):
                            os.kill(int(process.name), signal.SIGKILL)
                            killed.append(int(process.name))
            time.sleep(0.01)

    with RayWorkers("local") as workers:
        thread = threading.Thread(target=kill, daemon=True)
        thread.start()
        report = clean_shards(files, tmp_path / "ray", STEPS, workers)
    assert killed
    assert report.shards == 4
    assert checksums(tmp_path / "ray") == checksums(tmp_path / "here")
    assert not ray.is_initialized()


def test_a_command_whose_process_is_killed_is_told_apart_from_one_that_fails(tmp_path, monkeypatch):
    def command(code):
        monkeypatch.setattr(command_tasks, "PROGRAM", ("-c", code))
        return list(run_commands([Command((), tmp_path / "a", tmp_path)], HERE))

    with pytest.raises(TaskEndedError, match="a: its process was ended by signal 9; what is finished stays"):
        command("import os; os.kill(os.getpid(), 9)")
    with pytest.raises(InputError, match="a: no such model"):
        command("import sys; sys.exit('transduce: no such model')")
    assert command("import sys; print('3 lines', file=sys.stderr)") == ["3 lines\n"]
    (tmp_path / "a").write_text("")
    assert command("1 / 0") == []
