"""How fast a model translates: `python benchmarks/decoding_speed.py MODEL`, or where its time goes, with --profile.

Each precision and beam translates Multi30k's test_2016_flickr as a file, and the first sentences of it one at a time.
Repeats are interleaved; medians are printed, of wall-clock seconds and of processor seconds. Where other programs run,
go by the second. With --shortlist, each does so once more with what `transduce shortlist MODEL` has learned. With
--engines, float32 is run by each of them; `own` is CTranslate2 called directly, with tokens that were made before.
The last columns compare outputs, and the log-probabilities of equal ones, with those of the first row of the same beam.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import TypeVar, get_args

import ctranslate2
import torch
from torch.profiler import ProfilerActivity, profile

import transduce
from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.translations import score_bleu
from transduce.inference.engines.choice import EngineName
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.inference.translator import Translator
from transduce.search.beam import Beam
from transduce.text.tokenizer import Tokenizers

Result = TypeVar("Result")
PROFILED = 100  # sentences
BATCH = 64
"""Sentences that CTranslate2, called directly, searches at a time: as fast as any other number here."""


@dataclass(frozen=True)
class Output:
    """A translation, and its log-probability in nats; not known of CTranslate2 called directly."""

    text: str
    log_probability: float | None


System = Callable[[Sequence[str], int], list[Output]]
"""Translates texts by a beam of a size."""


@dataclass
class Measured:
    """The measurements of a system with one beam."""

    figures: list[list[float]] = field(default_factory=list)
    """Seconds of each repeat: by the wall clock and of the processor, for the file, then for one sentence alone."""
    outputs: list[Output] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", help="a model's or a run's folder")
    parser.add_argument("--precisions", nargs="+", choices=get_args(InferencePrecision), default=["float32"])
    parser.add_argument("--engines", nargs="+", choices=["auto", "pytorch", "own"], default=["auto"])
    parser.add_argument("--shortlist", action="store_true", help="also with the model's shortlist")
    parser.add_argument("--beam-sizes", type=int, nargs="+", default=[4, 1])
    parser.add_argument("--sentences", type=int, default=1000, help="of the file")
    parser.add_argument("--alone", type=int, default=50, help="sentences translated one at a time")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--profile", action="store_true", help="operators by their own time, instead of speeds")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    translators: dict[str, Translator] = {}
    for precision in options.precisions:
        for shortlist in (False, True) if options.shortlist else (False,):
            for engine in engines_of(options.engines, precision):
                name = (
                    precision + ("" if engine == "auto" else f" by {engine}") + (" with shortlist" if shortlist else "")
                )
                translators[name] = transduce.Translator.load(
                    options.model, device="cpu", precision=precision, shortlist=shortlist, engine=engine
                )
    first = next(iter(translators.values()))
    config = first.bundle.config
    pairs = list(open_split("multi30k", "test_2016_flickr", config.source, config.target))[: options.sentences]
    if options.profile:
        for name, translator in translators.items():
            for size in options.beam_sizes:
                print(f"{name}, beam {size}\n{operators(translator, size, pairs[:PROFILED])}")
        return
    systems: dict[str, System] = {name: partial(translate, translator) for name, translator in translators.items()}
    if "own" in options.engines:
        with tempfile.TemporaryDirectory() as folder:
            export_ctranslate2(Path(options.model), Path(folder) / "exported")
            own = ctranslate2.Translator(str(Path(folder) / "exported"), intra_threads=options.threads)
        systems["CTranslate2 by itself"] = OwnCTranslate2(own, first.bundle.tokenizers, pairs)
    measured = {(name, size): Measured() for size in options.beam_sizes for name in systems}
    for _ in range(options.repeats):
        for (name, size), of_system in measured.items():
            measure(systems[name], size, [pair.source for pair in pairs], options.alone, of_system)
    print("| | beam | sentences/s | CPU s | BLEU | one sentence, ms | its CPU ms | outputs as | nats apart |")
    print("|---|---|---|---|---|---|---|---|---|")
    for (name, size), of_system in measured.items():
        wall, cpu, wall_alone, cpu_alone = (median(column) for column in zip(*of_system.figures, strict=True))
        bleu = score_bleu([output.text for output in of_system.outputs], [pair.target for pair in pairs]).score
        same, apart = compare(of_system.outputs, measured[next(iter(systems)), size].outputs)
        print(
            f"| {name} | {size} | {len(pairs) / wall:.1f} | {cpu:.2f} | {bleu:.2f} "
            f"| {1000 * wall_alone:.1f} | {1000 * cpu_alone:.1f} | {same} | {apart:.1g} |"
        )


def engines_of(chosen: Sequence[str], precision: InferencePrecision) -> list[EngineName]:
    """The engines that are measured at a precision: several in float32 alone."""
    return [name for name in get_args(EngineName) if name in chosen] if precision == "float32" else ["auto"]


def measure(system: System, size: int, texts: list[str], alone: int, measured: Measured) -> None:
    """Adds the seconds of a repeat, medians of those of one sentence alone, and the outputs of the file."""
    system(texts[:2], size)  # what is made at first use is not measured
    measured.outputs, *file = timed(lambda: system(texts, size))
    singles = [timed(partial(system, [text], size)) for text in texts[:alone]]
    measured.figures.append([*file, median(wall for _, wall, _ in singles), median(cpu for _, _, cpu in singles)])


def translate(translator: Translator, texts: Sequence[str], size: int) -> list[Output]:
    """A translator as a system."""
    return [
        Output(translation.text, translation.n_best[0].log_probability)
        for translation in translator.translate(texts, Beam(size=size))
    ]


class OwnCTranslate2:
    """CTranslate2 called directly, with tokens made before; that texts are made of its tokens is a small part of it."""

    def __init__(self, engine: "ctranslate2.Translator", tokenizers: Tokenizers, pairs: list[SentencePair]) -> None:
        self.engine = engine
        self.target = tokenizers.target
        self.ids = {piece: token for token, piece in enumerate(self.target.pieces(range(len(self.target))))}
        sources = [pair.source for pair in pairs]
        encoded = tokenizers.source.encode_batch(sources)
        self.pieces = {text: tokenizers.source.pieces(ids) for text, ids in zip(sources, encoded, strict=True)}

    def __call__(self, texts: Sequence[str], size: int) -> list[Output]:
        results = self.engine.translate_batch(
            [self.pieces[text] for text in texts], max_batch_size=BATCH, beam_size=size, length_penalty=0.6
        )
        tokens = [[self.ids[piece] for piece in result.hypotheses[0]] for result in results]
        return [Output(self.target.decode(ids), None) for ids in tokens]


def compare(outputs: Sequence[Output], others: Sequence[Output]) -> tuple[int, float]:
    """The number of equal texts, and the largest difference of their log-probabilities."""
    same = [(a, b) for a, b in zip(outputs, others, strict=True) if a.text == b.text]
    known = [
        abs(a.log_probability - b.log_probability)
        for a, b in same
        if a.log_probability is not None and b.log_probability is not None
    ]
    return len(same), max(known, default=float("nan"))


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
