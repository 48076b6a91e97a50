"""Measures a doctor of pairs on natural noise: Finnish and Sámi, aligned by machine, beside OpusFilter.

    TRANSDUCE_DATA=data python benchmarks/natural_noise.py --sets smn --opusfilter FOLDER

First, how many of those left out are faulty, by a rule that has no part in the doctor. Then whole files are held out,
with test pairs that the doctor and OpusFilter (FOLDER: its environment) both find sound and no side of which is left;
the other files teach phrases with the usual weights, so that no tuning draws lots: as `train --no-doctor` cleans them,
after a doctor, and after the default filters of `opusfilter-autogen`. `--neural 700` trains a Transformer of so many
updates each in place of phrases: 15 minutes of a core. One thread.
"""

import argparse
import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import tomli_w

import transduce
from doctor_gain import TESTED, write
from judged_by_rule import Row, tell_precision
from peers.corpora import Pairs, read_lines
from peers.report import describe_machine, table
from transduce.base.config import convert
from transduce.corpora.cleaning import selecting_filters
from transduce.corpora.corpus import ParallelCorpus
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.doctor.doctored import DOUBTFUL
from transduce.corpora.doctor.examination import Sides, examine
from transduce.corpora.facts import describe_pairs, sample_pairs
from transduce.evaluation.translations import score_chrf
from transduce.experiment.automatic_cleaning import choose_cleaning
from transduce.phrases.phrase_model import PhraseModel

FILTERS = [
    {"LengthFilter": {"min_length": 1, "max_length": 100, "unit": "word"}},
    *({"LengthRatioFilter": {"threshold": 3, "unit": unit, "name": unit}} for unit in ("char", "word")),
    *({"LongWordFilter": {"threshold": 40}}, {"HtmlTagFilter": {}}, {"TerminalPunctuationFilter": {"threshold": -2}}),
    *({"AverageWordLengthFilter": {"min_length": 2, "max_length": 20}}, {"AlphabetRatioFilter": {"threshold": 0.75}}),
    *({f"{kind}Filter": {"threshold": 0.9}} for kind in ("LongestCommonSubstring", "Similarity")),
    {"NonZeroNumeralsFilter": {"threshold": 0.5}},
    {"RepetitionFilter": {"threshold": 2, "min_length": 3, "max_length": 100}},
    {"CharacterScoreFilter": {"scripts": ["Latin", "Latin"], "thresholds": [1, 1]}},
]

TRAINING = {"label_smoothing": 0.1}
TRANSFORMER: dict[str, Any] = {
    "tokenizer": {"kind": "bpe", "size": 4000},
    "batching": {"target_tokens": 2048, "groups": 4},
    "model": {
        **{"kind": "transformer", "encoder_layers": 3, "decoder_layers": 1, "dim": 192, "heads": 4, "norm": "pre"},
        **{"feed_forward_dim": 512, "positions": "rotary", "dropout": 0.1},
    },
    "optimizer": {"learning_rate": 3e-3, "schedule": {"kind": "linear", "warmup": 150}},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/natural-noise"))
    parser.add_argument("--sets", nargs="+", default=["smn", "sme"], help="Sámi languages")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2], help="of what is held out")
    parser.add_argument("--neural", type=int, help="updates of a Transformer, in place of phrases")
    parser.add_argument("--opusfilter", type=Path, required=True, help="an environment with OpusFilter")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    results = [["set", "seed", "way", "pairs learned from", "chrF"]]
    for name in options.sets:
        lines = read_lines(Path(os.environ["TRANSDUCE_DATA"]) / "sami" / f"fin-{name}.tsv.gz")
        rows: list[Row] = [(file, source, target) for file, source, target in (line.split("\t") for line in lines)]
        found = examined(rows)
        tell_precision(rows, found)
        filtered = kept_by_opusfilter(rows, options.opusfilter, options.out / name)
        doctor = [row for fault, row in found if fault is None or fault in DOUBTFUL]
        sound = sorted({row for fault, row in found if fault is None} & set(filtered) & set(rows))
        for seed in options.seeds:
            held, test = held_out(rows, sound, seed)
            for way, chosen in (("no doctor", rows), ("doctor", doctor), ("OpusFilter", filtered)):
                train = cleaned([row[1:] for row in chosen if row[0] not in held])
                run = options.out.resolve() / f"{name}-{seed}-{way.replace(' ', '-')}"
                score = measure(train, test) if options.neural is None else trained(train, test, run, options.neural)
                results.append([name, f"{seed}", way, f"{len(train):,}", score])
                print(results[-1], flush=True)
    print(describe_machine(1), table(results), sep="\n\n")


def examined(rows: list[Row]) -> list[tuple[str | None, Row]]:
    """Returns what a doctor finds: a fault or None; the file of a pair, its source and its target, repaired."""
    found: list[tuple[str | None, Row]] = []
    sides = Sides(*(lambda side=side: (row[side] for row in rows) for side in (1, 2, 0)))
    examine([("", sides)], lambda f: found.append((f.fault, (f.pair.document, f.pair.source, f.pair.target))))
    return found


def kept_by_opusfilter(rows: list[Row], environment: Path, stem: Path) -> list[Row]:
    """Returns the rows that OpusFilter leaves."""
    inputs = [str(Path(file).resolve()) for file in write([row[1:] for row in rows], stem)]
    outputs = [f"{file}.left" for file in inputs]
    step = {"type": "filter", "parameters": {"inputs": inputs, "outputs": outputs, "filters": FILTERS}}
    stem.write_text(json.dumps({"common": {"output_directory": "."}, "steps": [step]}), encoding="utf-8")
    subprocess.run([environment / "bin/opusfilter", "--overwrite", stem], check=True, stderr=subprocess.PIPE)
    left = set(zip(*(Path(file).read_text(encoding="utf-8").splitlines() for file in outputs), strict=True))
    return [row for row in rows if row[1:] in left]


def held_out(rows: list[Row], sound: list[Row], seed: int) -> tuple[set[str], Pairs]:
    """Returns files that are held out, and test pairs of theirs, no side of which is in the other files."""
    files = sorted({file for file, *_ in rows})
    random.Random(seed).shuffle(files)
    for count in range(len(files) // 20, len(files), len(files) // 50):
        held = set(files[:count])
        seen = {text for file, *texts in rows if file not in held for text in texts}
        test = list(dict.fromkeys(row[1:] for row in sound if row[0] in held and seen.isdisjoint(row[1:])))
        if len(test) >= TESTED:
            return held, random.Random(seed).sample(test, TESTED)
    raise SystemExit(f"fewer than {TESTED:,} sound pairs can be held out")


def cleaned(pairs: Pairs) -> Pairs:
    """Returns pairs as `train` cleans them by itself."""
    corpus = ParallelCorpus.of_pairs("pairs", pairs)
    count, sample = sample_pairs(corpus)
    steps = choose_cleaning(sample, describe_pairs(sample, count)).tables["data"]
    left = corpus.filtered(selecting_filters(convert({"train": "", **steps}, DataConfig, "data").cleaning))
    return [(pair.source, pair.target) for pair in left]


def measure(train: Pairs, test: Pairs) -> str:
    """Returns the chrF of phrases learned from the training pairs, with a small stack: decoding takes longest."""
    model = PhraseModel.learn(train, tuned_until=0.0)
    outputs = [model.translate(source, stack=8)[0].text for source, _ in test]
    return f"{score_chrf(outputs, [target for _, target in test]).score:.1f}"


def trained(train: Pairs, test: Pairs, run: Path, updates: int) -> str:
    """Returns the chrF of a small Transformer that learned from the training pairs."""
    data = {
        "train": write(train, run.with_suffix(".train")),
        "validation": write(test, run.with_suffix(".test")),
        "max_tokens": 100,
    }
    recipe = run.with_suffix(".toml")
    settings = {"data": {**data, "source": "fi", "target": "se"}, "training": {"updates": updates, **TRAINING}}
    recipe.write_text(tomli_w.dumps(settings | TRANSFORMER), encoding="utf-8")
    model = transduce.train(transduce.load_recipe(recipe), run, overwrite=True).model
    outputs = transduce.Translator.load(model).translate([source for source, _ in test])
    return f"{score_chrf([each.text for each in outputs], [target for _, target in test]).score:.1f}"


if __name__ == "__main__":
    main()
