"""How fast a model translates: `python benchmarks/decoding_speed.py MODEL`, or where its time goes, with --profile.

Each precision and beam translates Multi30k's test_2016_flickr as a file, and the first sentences of it one at a time.
Repeats are interleaved; medians are printed, of wall-clock seconds and of processor seconds. Where other programs run,
go by the second. With --shortlist, each does so once more with what `transduce shortlist MODEL` has learned.
"""

import argparse
import resource
import time
from collections.abc import Callable
from functools import partial
from statistics import median
from typing import TypeVar, get_args

import torch
from torch.profiler import ProfilerActivity, profile

import transduce
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.translations import score_bleu
from transduce.inference.engines.precision import InferencePrecision
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

Result = TypeVar("Result")
PROFILED = 100  # sentences


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a model's or a run's folder")
    parser.add_argument("--precisions", nargs="+", choices=get_args(InferencePrecision), default=["float32"])
    parser.add_argument("--shortlist", action="store_true", help="also with the model's shortlist")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--sentences", type=int, default=1000, help="of the file")
    parser.add_argument("--alone", type=int, default=50, help="sentences translated one at a time")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--profile", action="store_true", help="operators by their own time, instead of speeds")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    translators = {
        precision + (" with shortlist" if shortlist else ""): transduce.Translator.load(
            options.model, device="cpu", precision=precision, shortlist=shortlist
        )
        for precision in options.precisions
        for shortlist in ((False, True) if options.shortlist else (False,))
    }
    config = next(iter(translators.values())).bundle.config
    pairs = list(open_split("multi30k", "test_2016_flickr", config.source, config.target))[: options.sentences]
    systems = {(name, size): translators[name] for size in options.beam_sizes for name in translators}
    if options.profile:
        for (name, size), translator in systems.items():
            print(f"{name}, beam {size}\n{operators(translator, size, pairs[:PROFILED])}")
        return
    measured: dict[tuple[str, int], list[list[float]]] = {system: [] for system in systems}
    bleu = {}
    for _ in range(options.repeats):
        for (name, size), translator in systems.items():
            figures, bleu[name, size] = measure(translator, size, pairs, options.alone)
            measured[name, size].append(figures)
    print("| precision | beam | sentences/s | CPU s | BLEU | one sentence, ms | its CPU ms |")
    print("|---|---|---|---|---|---|---|")
    for (name, size), repeats in measured.items():
        wall, cpu, wall_alone, cpu_alone = (median(column) for column in zip(*repeats, strict=True))
        print(
            f"| {name} | {size} | {len(pairs) / wall:.1f} | {cpu:.2f} | {bleu[name, size]:.2f} "
            f"| {1000 * wall_alone:.1f} | {1000 * cpu_alone:.1f} |"
        )


def measure(translator: Translator, size: int, pairs: list[SentencePair], alone: int) -> tuple[list[float], float]:
    """Wall-clock and processor seconds of the file, the same of one sentence alone (medians), and the file's BLEU."""
    texts = [pair.source for pair in pairs]
    translator.translate(texts[:2], Beam(size=size))  # what is made at first use is not measured
    translations, *file = timed(lambda: translator.translate(texts, Beam(size=size)))
    singles = [timed(partial(translator.translate, [text], Beam(size=size))) for text in texts[:alone]]
    bleu = score_bleu([translation.text for translation in translations], [pair.target for pair in pairs]).score
    return [*file, median(wall for _, wall, _ in singles), median(cpu for _, _, cpu in singles)], bleu


def timed(work: Callable[[], Result]) -> tuple[Result, float, float]:
    """What it gives, and its wall-clock and processor seconds."""
    wall, cpu = time.perf_counter(), processor_seconds()
    result = work()
    return result, time.perf_counter() - wall, processor_seconds() - cpu


def processor_seconds() -> float:
    """Of this process and those that it started and that have ended."""
    workers = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + workers.ru_utime + workers.ru_stime


def operators(translator: Translator, size: int, pairs: list[SentencePair]) -> str:
    """A table of the operators that take the most time of themselves."""
    texts = [pair.source for pair in pairs]
    translator.translate(texts, Beam(size=size))
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        translator.translate(texts, Beam(size=size))
    return profiled.key_averages().table(sort_by="self_cpu_time_total", row_limit=25, max_name_column_width=40)


if __name__ == "__main__":
    main()
