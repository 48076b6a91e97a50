"""Measures each step from files of sentence pairs to the first batch, at several sizes; draws a line to 100 million.

    python benchmarks/corpora_scale.py --pairs 100000 1000000 --out runs/bench/corpora

Each step runs in a process of its own: CPU seconds, seconds, the peak of a process's memory above what imports take
(mapped pages count), and the bytes that it read, as passes over the text. Text is made up, with the frequencies and
lengths of words that texts have, in files of `--shard` pairs. Exponents and lines are through the two largest sizes; a
vocabulary is learned from no more than `tokenizer.sample` pairs, which is where its line ends.
"""

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from made_up_pairs import write_text_like_pairs

if TYPE_CHECKING:
    from transduce.corpora.splits import Splits
    from transduce.data.batch import Batch
    from transduce.data.planned import PlannedData
    from transduce.data.store import TokenStore
    from transduce.tasks.translation.translation_settings import TranslationConfig
    from transduce.text.tokenizer import Tokenizers

AIM = 100_000_000
SAMPLE = 2_000_000
"""The default of tokenizer.sample."""
LEARN = "2 learn"


def main() -> None:
    """Measure all sizes, or one step of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument("--shard", type=int, default=100_000, help="pairs of a file")
    parser.add_argument("--processes", type=int, default=1, help="processes that clean")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/corpora"))
    parser.add_argument("--step", choices=STEPS, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.step is not None:
        _measure(STEPS[arguments.step], arguments.out, arguments.processes)
        return
    measured: dict[int, dict[str, dict[str, float]]] = {}
    for pairs in sorted(arguments.pairs):
        folder = arguments.out / str(pairs)
        half = folder / "half"  # where files that were stopped stay
        half.mkdir(parents=True, exist_ok=True)
        for number in range(math.ceil(pairs / arguments.shard)):
            name = f"part-{number:04}"
            if not (folder / f"{name}.trg").exists():
                write_text_like_pairs(half, name, min(arguments.shard, pairs - number * arguments.shard), number)
                for side in ("src", "trg"):
                    (half / f"{name}.{side}").replace(folder / f"{name}.{side}")
        for made in ("clean", "cache"):
            shutil.rmtree(folder / made, ignore_errors=True)
        measured[pairs] = {}
        for step in STEPS:
            command = [sys.executable, __file__, "--step", step, "--out", str(folder)]
            environment = os.environ | {"TRANSDUCE_CACHE": str(folder / "cache")}
            result = subprocess.run(
                [*command, "--processes", str(arguments.processes)], env=environment, stdout=subprocess.PIPE, check=True
            )
            measured[pairs][step] = json.loads(result.stdout)
            print(f"{pairs:,} {step}: {measured[pairs][step]}", file=sys.stderr, flush=True)
    print(_table(measured))


def _measure(step: Callable[[Path, int], None], folder: Path, processes: int) -> None:
    """Run a step in this process, and print its figures as JSON."""
    import transduce.tasks.translation.preparation  # noqa: F401 - imports are no part of a step

    text = sum(file.stat().st_size for file in folder.glob("part-*"))
    imports = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    before, began, cpu = _bytes_read(), time.perf_counter(), time.process_time()
    step(folder, processes)
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = resource.getrusage(resource.RUSAGE_SELF)
    figures = {
        "CPU s": time.process_time() - cpu + children.ru_utime + children.ru_stime,
        "s": time.perf_counter() - began,
        "MB": (max(own.ru_maxrss, children.ru_maxrss) - imports) / 1024,
        "passes": (_bytes_read() - before) / text,
    }
    print(json.dumps({name: round(value, 2) for name, value in figures.items()}))


def _bytes_read() -> int:
    counts = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counts["rchar"])


def _config(folder: Path) -> "TranslationConfig":
    from transduce.base.config import convert
    from transduce.tasks.translation.translation_settings import TranslationConfig

    steps = [{"kind": "length", "max_words": 120}, {"kind": "ratio", "most": 3.0}]
    return convert(
        {
            "data": {"train": ["part-*.src", "part-*.trg"], "cleaning": steps},
            "model": {"kind": "transformer"},
            "tokenizer": {"size": 32000},
            "batching": {"target_tokens": 25000},
            "training": {"updates": 1},
        },
        TranslationConfig,
        "benchmark",
    )


def _splits(folder: Path) -> "Splits":
    from transduce.corpora.splits import open_splits

    return open_splits(_config(folder).data, folder)


def _tokenizers(folder: Path) -> "Tokenizers":
    from transduce.text.tokenizer import Tokenizer, Tokenizers

    both = Tokenizer.load(folder / "tokenizer.json")
    return Tokenizers(both, both)


def _stores(folder: Path, searches: bool) -> "list[TokenStore]":
    from transduce.corpora.catalogue.dataset_files import cache_folder
    from transduce.corpora.overlap import OverlapSearch
    from transduce.data.store import open_stores

    splits, tokenizers, cache = _splits(folder), _tokenizers(folder), cache_folder()
    search = OverlapSearch(splits.held_out, cache)
    parts = splits.train[0].corpus.parts
    stores = open_stores(parts, tokenizers, None, cache, search.watched)
    if searches:
        search.find(parts)
    return stores


def clean(folder: Path, processes: int) -> None:
    """`transduce data clean`, with a search for duplicates in all files."""
    from transduce.apps.cluster.jobs import clean_shards
    from transduce.apps.cluster.workers import LocalWorkers
    from transduce.corpora.cleaning import read_steps

    steps = read_steps(["length max_words=120", "ratio most=3", "duplicates"])
    clean_shards([folder / "part-*.src", folder / "part-*.trg"], folder / "clean", steps, LocalWorkers(processes))


def checksums(folder: Path, _: int) -> None:
    """The hashes by which a run knows its data again."""
    from transduce.corpora.shards import open_corpus

    open_corpus([folder / "part-*.src", folder / "part-*.trg"]).content()


def draw(folder: Path, _: int) -> None:
    """First pass: clean, count, and draw the held-out pairs."""
    for corpus in _splits(folder).held_out:
        next(iter(corpus))


def learn(folder: Path, _: int) -> None:
    """Second pass: the vocabulary of a sample."""
    from transduce.tasks.translation.preparation import sample_of
    from transduce.text.tokenizer_training import train_tokenizers

    config = _config(folder).tokenizer
    source, target = sample_of(_splits(folder), config, lambda line: None)
    train_tokenizers(config, source, target).source.save(folder / "tokenizer.json")


def store(folder: Path, _: int) -> None:
    """Third pass: clean, encode and store, and find overlap."""
    _stores(folder, searches=True)


def reopen(folder: Path, _: int) -> None:
    """Opening the stores, as each further process and each later run does."""
    _stores(folder, searches=False)


def plan(folder: Path, _: int) -> None:
    """The plan of an epoch, once for all processes of a machine."""
    _pairs(folder).epoch(0)


def largest(folder: Path, _: int) -> None:
    """The parts that need most memory, which each process looks for."""
    _pairs(folder).largest(1)


def _pairs(folder: Path) -> "PlannedData[Batch]":
    from transduce.corpora.catalogue.dataset_files import cache_folder
    from transduce.data.batch import SpecialIds
    from transduce.data.sentence_pairs import SentencePairs

    stores, tokenizer = _stores(folder, searches=False), _tokenizers(folder).source
    special = SpecialIds(tokenizer.pad, tokenizer.eos, tokenizer.pad, tokenizer.bos, tokenizer.eos)
    pairs = SentencePairs(stores, [1.0] * len(stores), special, _config(folder).batching, 1)
    return pairs.sharing(cache_folder()).planned()


STEPS = {
    "data clean": clean,
    "checksums": checksums,
    "1 draw": draw,
    LEARN: learn,
    "3 store": store,
    "reopen": reopen,
    "plan": plan,
    "largest": largest,
}


def _table(measured: dict[int, dict[str, dict[str, float]]]) -> str:
    """Return a Markdown table: CPU seconds and memory at each size, the exponent of the time, and a line to the aim."""
    sizes = list(measured)
    head = [f"{size:,}" for size in sizes]
    rows = [["step", "passes", *head, "exponent", f"{AIM:,}"], ["---"] + ["---:"] * (len(sizes) + 3)]
    for step in STEPS:
        of_size = [measured[size][step] for size in sizes]
        cells = [f"{each['CPU s']:,.1f} s, {each['MB']:,.0f} MB" for each in of_size]
        exponent, at_aim = "", ""
        if len(sizes) > 1:
            aim = SAMPLE if step == LEARN else AIM
            (small, large), (before, after) = sizes[-2:], of_size[-2:]
            power = math.log(max(after["CPU s"], 0.01) / max(before["CPU s"], 0.01)) / math.log(large / small)
            line = {
                name: after[name] + (after[name] - before[name]) * (aim - large) / (large - small) for name in after
            }
            exponent, at_aim = f"{power:.2f}", f"{line['CPU s'] / 60:,.0f} min, {line['MB'] / 1024:.1f} GB"
        rows.append([step, f"{of_size[-1]['passes']:.1f}", *cells, exponent, at_aim])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


if __name__ == "__main__":
    main()
