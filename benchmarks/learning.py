"""Replays a person's work: a project learns from 1,000 confirmed segments, one after another.

    python benchmarks/learning.py MODEL --general multi30k --domain tatoeba-eng-deu --out runs/bench/learning
    python benchmarks/learning.py MODEL --general multi30k --files a.po b.po --out runs/bench/learning

Each segment of the domain is translated before it is confirmed, by the model alone (static), by the memory of the
segments before it (exact matches, and similar ones above 0.7; else the static translation), with the adapter that
learned the segments before it, and by both. BLEU and chrF are of all segments, each with a paired bootstrap against
static. The segments are those of a data set, drawn at random, or the final units of PO, XLIFF or TMX files in their
order (`--files`). `--general` names the data set that the model knows: its validation pairs are replayed and checked,
its test pairs show what was lost. `--wrong 10` gives every tenth segment the target of another, `--kills K` kills the
learner so often (SIGKILL) and compares its adapter with the unbroken one, `--take-back N` takes back N segments and
compares with a learner that never had them. A replay that was stopped goes on where it was.
"""

import argparse
import json
import multiprocessing
import random
import resource
import shutil
import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from docsegments.document import Languages
from docsegments.memory import Memory
from docsegments.text.placeholders import plain_segment
from peers.report import describe_machine, table
from transduce.apps.projects.general import General
from transduce.apps.projects.learner import Learner
from transduce.apps.projects.lessons import Learned
from transduce.apps.projects.project_files import final_units
from transduce.apps.projects.project_settings import LearningSettings
from transduce.apps.projects.snapshots import with_adapter
from transduce.base.files import write_text
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.compare import Comparison, compare
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

SHORTEST = 4
"""Words of the shortest sentence of the domain."""
CHECKED = 5
"""Segments that are learned at a time when the learner is killed."""


@dataclass(frozen=True)
class Bench:
    """The replay's parts."""

    options: argparse.Namespace
    segments: list[SentencePair]
    """Segments as they are confirmed; some wrong."""
    references: list[str]
    general: General

    def learner(self, folder: Path | None) -> Learner:
        """Returns a learner that keeps snapshots in a folder."""
        settings = LearningSettings(**json.loads(self.options.settings))
        return Learner(ModelBundle.load(self.options.model), settings, self.general, folder)

    def learn(self, folder: Path | None, segments: Sequence[SentencePair], shown: str = "") -> Learned:
        """Learns segments, a few at a time."""
        learner = self.learner(folder)
        while True:
            learned = learner.learn(segments, CHECKED)
            if shown and learned.checks and learned.position % 20 == 0:
                check = learned.checks[-1]
                seconds = sum(lesson.seconds for lesson in learned.lessons[-20:]) / 20
                print(
                    f"{time.strftime('%H:%M:%S')} {shown}: {learned.position} segments, {seconds:.2f} s each, "
                    f"held out {check.held_out:.3f} (static {check.static:.3f}), general {check.general:+.3f}, "
                    f"undone {sum(lesson.is_undone for lesson in learned.lessons)}",
                    flush=True,
                )
            if learned.position == len(segments):
                return learned


def main() -> None:
    """Print the tables and write them as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--general", default="multi30k")
    parser.add_argument("--general-check", default="val", metavar="SPLIT")
    parser.add_argument("--general-test", default="test_2016_flickr", metavar="SPLIT")
    parser.add_argument("--domain", default="tatoeba-eng-deu")
    parser.add_argument("--domain-split", default="test")
    parser.add_argument("--files", type=Path, nargs="+", default=[])
    parser.add_argument("--segments", type=int, default=1000)
    parser.add_argument("--first", type=int, help="learn only the first N of these segments")
    parser.add_argument("--wrong", type=int, default=0, metavar="EVERY")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--take-back", type=int, default=0)
    parser.add_argument("--general-tested", type=int, default=1000)
    parser.add_argument("--settings", default="{}", help="settings of [learning], as JSON")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/learning"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.out.mkdir(parents=True, exist_ok=True)
    bench = prepare(options)
    facts: dict[str, Any] = {"options": {name: str(value) for name, value in vars(options).items()}}
    began, before = time.monotonic(), _cpu()
    learned = bench.learn(options.out / "adapters", bench.segments, "replay")
    facts["cpu_seconds"], facts["seconds"] = _cpu() - before, time.monotonic() - began
    facts |= replayed(bench, learned)
    if options.take_back:
        facts["take_back"] = taken_back(bench, learned)
    if options.kills:
        facts["kills"] = killed(bench, learned)
    facts["machine"] = describe_machine(1)
    write_text(options.out / "facts.json", json.dumps(facts, indent=1))
    show(facts)


def prepare(options: argparse.Namespace) -> Bench:
    """Chooses the segments, the same ones each time, and reads general pairs."""
    config = ModelBundle.load(options.model).config
    assert config.source is not None and config.target is not None
    if options.files:
        wanted = Languages(config.source, config.target)
        units = [unit for path in options.files for unit in final_units(path, wanted)[0]]
        chosen = [SentencePair(unit.source, unit.target) for unit in units]
    else:
        corpus = open_split(options.domain, options.domain_split, config.source, config.target)
        pairs = {pair.source: pair for pair in corpus if len(pair.source.split()) >= SHORTEST}
        chosen = random.Random(1).sample(list(pairs.values()), options.segments)
    chosen = chosen[: options.segments]
    wrong = list(chosen)
    if options.wrong:
        places = range(options.wrong // 2, len(chosen), options.wrong)
        for place, other in zip(places, [*places[1:], *places[:1]], strict=True):
            wrong[place] = SentencePair(chosen[place].source, chosen[other].target)
    wrong, chosen = wrong[: options.first], chosen[: options.first]
    general = General(list(open_split(options.general, options.general_check, config.source, config.target)))
    return Bench(options, wrong, [pair.target for pair in chosen], general)


def replayed(bench: Bench, learned: Learned) -> dict[str, Any]:
    """Scores the systems on the segments, and the model on general text before and after."""
    options, lessons = bench.options, learned.lessons
    base = ModelBundle.load(options.model)
    sources = [segment.source for segment in bench.segments]
    static = Translator(base).translate(sources, Beam(size=1))
    systems: dict[str, list[str]] = {"static": [], "memory": [], "adapter": [], "memory and adapter": []}
    pairs: dict[str, Any] = {}
    exact = similar = 0
    for segment, by_static, lesson in zip(bench.segments, static, lessons, strict=True):
        match = Memory(pairs).find(plain_segment(segment.source))
        is_exact = match is not None and match.similarity == 1
        exact, similar = exact + is_exact, similar + (match is not None and not is_exact)
        systems["static"].append(by_static.text)
        systems["memory"].append(by_static.text if match is None else match.target.text)
        systems["adapter"].append(lesson.adapted)
        systems["memory and adapter"].append(lesson.adapted if match is None else match.target.text)
        source = plain_segment(segment.source)
        pairs[source.one_line] = source, plain_segment(segment.target)
    half = len(sources) // 2
    facts: dict[str, Any] = {
        "matches": {"exact": exact, "similar": similar},
        "segments": _scores(compare(systems, sources, bench.references)),
        "second half": _scores(
            compare({name: texts[half:] for name, texts in systems.items()}, sources[half:], bench.references[half:])
        ),
    }
    split = open_split(options.general, options.general_test, base.config.source, base.config.target)
    test = list(split)[: options.general_tested]
    sources, references = [pair.source for pair in test], [pair.target for pair in test]
    adapted = Translator(with_adapter(base, learned.adapter, bench.learner(None).adapters.scale))
    outputs = {
        "static": [each.text for each in Translator(base).translate(sources)],
        "adapter": [each.text for each in adapted.translate(sources)],
    }
    facts["general"] = _scores(compare(outputs, sources, references))
    seconds = sorted(lesson.seconds for lesson in lessons if lesson.kind == "learned")
    facts["seconds an update"] = {"median": seconds[len(seconds) // 2], "most": seconds[-1]}
    facts["undone"] = [number for number, lesson in enumerate(lessons) if lesson.is_undone]
    facts["checks"] = [
        {"position": check.position, "held_out": check.held_out, "static": check.static, "general": check.general}
        for check in learned.checks
    ]
    return facts


def taken_back(bench: Bench, learned: Learned) -> dict[str, Any]:
    """Takes segments back, and compares with a learner that never had them."""
    chosen = set(random.Random(2).sample(range(learned.position), bench.options.take_back))
    rest = [segment for number, segment in enumerate(bench.segments) if number not in chosen]
    again, never = bench.learn(bench.options.out / "adapters", rest, "taken back"), bench.learn(None, rest, "never had")
    return {"segments": len(chosen), "equal": _equal(again, never)}


def killed(bench: Bench, learned: Learned) -> dict[str, Any]:
    """Kills the learner while it learns, again and again, and compares its adapter with the unbroken one; a learner
    that has ended before enough kills begins anew."""
    folder, chances, kills, is_equal = bench.options.out / "killed", random.Random(3), 0, True
    began = time.monotonic()
    bench.learner(None)
    start = time.monotonic() - began
    typical = statistics.median(lesson.seconds for lesson in learned.lessons) * len(learned.lessons)
    context = multiprocessing.get_context("fork")
    while kills < bench.options.kills:
        process = context.Process(target=bench.learn, args=(folder, bench.segments))
        process.start()
        process.join(start + chances.uniform(0, 2 * typical / bench.options.kills))
        if process.is_alive():
            process.kill()
            process.join()
            kills += 1
        else:
            is_equal = is_equal and _equal(bench.learn(folder, bench.segments), learned)
            shutil.rmtree(folder)
    return {"kills": kills, "equal": is_equal and _equal(bench.learn(folder, bench.segments), learned)}


def show(facts: Mapping[str, Any]) -> None:
    """Print the tables."""
    for part in ("segments", "second half", "general"):
        rows = [[part, "BLEU", "chrF", "chrF against static"]]
        for name, of in facts[part].items():
            difference = of["difference"]
            shown = "" if difference is None else f"{difference['difference']:+.1f} (p {difference['p']:.3f})"
            rows.append([name, f"{of['bleu']:.1f}", f"{of['chrf']:.1f}", shown])
        print(table(rows))
    for name in ("matches", "seconds an update", "take_back", "kills", "machine"):
        if name in facts:
            print(f"{name}: {facts[name]}")
    print(f"undone: {len(facts['undone'])} segments")


def _scores(comparison: Comparison[Any]) -> dict[str, Any]:
    return {
        system.name: {
            "bleu": system.scores["bleu"].score,
            "chrf": system.scores["chrf"].score,
            "signature": system.scores["bleu"].signature,
            "difference": None
            if system.against_baseline is None
            else {
                "difference": system.against_baseline["chrf"].difference,
                "p": system.against_baseline["chrf"].bootstrap_p,
                "bleu": system.against_baseline["bleu"].difference,
                "bleu_p": system.against_baseline["bleu"].bootstrap_p,
            },
        }
        for system in comparison.systems
    }


def _equal(one: Learned, other: Learned) -> bool:
    return all(torch.equal(tensor, other.adapter[name]) for name, tensor in one.adapter.items())


def _cpu() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime


if __name__ == "__main__":
    main()
