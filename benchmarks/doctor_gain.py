"""Compares phrase-based models of the same pairs: cleaned without a doctor, by one, and by OpusFilter.

    TRANSDUCE_DATA=data python benchmarks/doctor_gain.py --sets inari-sami captions captions+noise --opusfilter FOLDER

Files of a set, or of one with 3 % of the pairs faulty in each of seventeen ways (+noise); all ways choose the other
settings by the first one's file. Scores are those of test pairs, which nothing cleans. `--opusfilter` names an
environment with OpusFilter, whose filters by length, ratio, long words, terminal punctuation and numerals run with
their defaults. What is finished is not done again. One thread.
"""

import argparse
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import torch

import transduce
from doctor import SHARE, glosser
from peers.corpora import SETS, read_lines
from peers.report import describe_machine, table
from planted import KINDS, Pair, Planter, plant
from transduce.evaluation.translations import score_bleu, score_chrf

OPUSFILTER = [
    "LengthFilter",
    "LengthRatioFilter",
    "LongWordFilter",
    "TerminalPunctuationFilter",
    "NonZeroNumeralsFilter",
]
TESTED = 1_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/doctor-gain"))
    parser.add_argument("--sets", nargs="+", default=["inari-sami", "captions", "captions+noise"])
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--opusfilter", type=Path, help="an environment with OpusFilter")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(1)
    rows = [["set", "way", "pairs learned from", "chrF", "BLEU"]]
    for name in options.sets:
        pairs, good, test = made(name, options.pairs)
        ways = {"no doctor": pairs, "doctor": pairs}
        if options.opusfilter is not None:
            ways["OpusFilter"] = filtered(pairs, options.opusfilter, options.out)
        if len(good) < len(pairs):
            ways["all noise gone"] = good
        for way, chosen in ways.items():
            rows.append([name, way, *measure(name, way, chosen, test, options.out)])
            print(rows[-1], flush=True)
    print(describe_machine(1), table(rows), sep="\n\n")


def made(name: str, count: int) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """Returns the pairs of a set, the good ones among them, and test pairs."""
    data = Path(os.environ["TRANSDUCE_DATA"])
    corpus = SETS[name.partition("+")[0]](data)
    pairs = list(dict.fromkeys(corpus.train))
    random.Random(1).shuffle(pairs)
    pairs, others = pairs[:count], pairs[count:][:10_000]
    if not name.endswith("+noise"):
        return pairs, pairs, corpus.test[:TESTED]
    foreign = read_lines(data / "multi30k" / "train.fr.gz")
    planter = Planter(pairs, foreign, glosser(others or pairs[:3_000]), random.Random(2))
    dirty, kinds = plant(planter, dict.fromkeys(KINDS, SHARE), shifted=True)
    return dirty, [pair for pair, kind in zip(dirty, kinds, strict=True) if not kind], corpus.test[:TESTED]


def measure(name: str, way: str, pairs: list[Pair], test: list[Pair], out: Path) -> list[str]:
    """Trains a model; returns what stands in its row."""
    result = out / f"{name} {way}.json"
    if not result.exists():
        files = write(pairs, out / f"{name} {way}")
        asked: dict[str, Any] = {"model.kind": "phrases", "data.test_share": 0.0}
        told: list[str] = []
        run = transduce.train(
            files,
            out / f"runs/{name} {way}",
            overwrite=True,
            overrides=asked if way == "doctor" else {**asked, "data.doctor": 0},
            tell=told.append,
        )
        outputs = transduce.Translator.load(run.model).translate([source for source, _ in test])
        texts, references = [each.text for each in outputs], [target for _, target in test]
        scores = [score(texts, references).score for score in (score_chrf, score_bleu)]
        learned = next(line for line in told if line.startswith("training data")).split(":")[1].split(" from")[0]
        result.write_text(json.dumps({"learned": learned, "scores": scores, "told": told}), encoding="utf-8")
    found = json.loads(result.read_text(encoding="utf-8"))
    return [found["learned"].strip(), *(f"{score:.1f}" for score in found["scores"])]


def write(pairs: list[Pair], stem: Path) -> list[str]:
    """Writes two aligned files."""
    files = [f"{stem}.{side}" for side in ("source", "target")]
    for side, file in enumerate(files):
        Path(file).write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
    return files


def filtered(pairs: list[Pair], environment: Path, out: Path) -> list[Pair]:
    """Returns what OpusFilter's filters leave, with their defaults."""
    inputs = write(pairs, out / "opusfilter-in")
    outputs = [str(out / f"opusfilter-out.{side}") for side in ("source", "target")]
    step = {"inputs": [Path(file).name for file in inputs], "outputs": [Path(file).name for file in outputs]}
    steps = [{"type": "filter", "parameters": {**step, "filters": [{name: {}} for name in OPUSFILTER]}}]
    config = out / "opusfilter.yaml"
    config.write_text(json.dumps({"common": {"output_directory": str(out)}, "steps": steps}), encoding="utf-8")
    subprocess.run([environment / "bin/opusfilter", "--overwrite", config], check=True)
    sides = (Path(file).read_text(encoding="utf-8").splitlines() for file in outputs)
    return list(zip(*sides, strict=True))


if __name__ == "__main__":
    main()
