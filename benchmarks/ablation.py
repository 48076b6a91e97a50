"""What label smoothing and averaged checkpoints are worth on Multi30k: each trained over several seeds, and compared.

    python benchmarks/ablation.py --out runs/bench/ablation

A cell is one training of about ten minutes on two cores. What is finished is not done again, what was stopped goes on.
"""

import argparse
import statistics
import sys
from pathlib import Path

import msgspec
import torch

import transduce
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.compare import compare
from transduce.experiment import average, load_recipe
from transduce.search.beam import Beam
from transduce.training.observers import Lines

AVERAGED = 5
SYSTEMS = ("recipe", "recipe, last checkpoints averaged", "no label smoothing", "no label smoothing, averaged")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/ablation"))
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--updates", type=int, default=640)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    pairs = list(open_split("multi30k", "test_2016_flickr", "de", "en"))
    outputs: dict[str, list[str]] = {name: [] for name in SYSTEMS}
    scores: dict[str, list[float]] = {name: [] for name in SYSTEMS}
    for seed in options.seeds:
        of_seed = {}
        for smoothing, names in ((0.1, SYSTEMS[:2]), (0.0, SYSTEMS[2:])):
            run = train(options.out, seed, smoothing, options.updates)
            for name, model in zip(names, (run / "model", run / "average"), strict=True):
                of_seed[name] = translate(model, run / f"{model.name}.txt", pairs)
        for system in compare(of_seed, *sides(pairs), lowercase=True).systems:
            scores[system.name].append(system.bleu.score)
            outputs[system.name] += of_seed[system.name]
    pooled = compare(outputs, *sides(pairs * len(options.seeds)), lowercase=True)
    (options.out / "comparison.json").write_bytes(msgspec.json.encode(pooled.to_dict()))
    print(f"{'':36}" + "".join(f"seed {seed:<5}" for seed in options.seeds) + "mean    against the recipe")
    for system in pooled.systems:
        each = scores[system.name]
        line = f"{system.name:36}" + "".join(f"{score:<10.1f}" for score in each) + f"{statistics.mean(each):<8.1f}"
        if (difference := system.against_baseline) is not None:
            line += f"{difference['bleu'].difference:+.2f}  p {difference['bleu'].bootstrap_p:.3f} (bootstrap), "
            line += f"{difference['bleu'].randomization_p:.3f} (randomisation), {len(outputs[system.name]):,} sentences"
        print(line)


def train(out: Path, seed: int, smoothing: float, updates: int) -> Path:
    """The run of a cell, finished, with an average of its last checkpoints."""
    run = out / f"smoothing-{smoothing}-seed-{seed}"
    changes = [f"seed={seed}", f"training.label_smoothing={smoothing}", f"training.updates={updates}"]
    every = max(updates // 20, 1)
    changes += [f"optimizer.schedule.warmup={updates // 4}"]  # the recipe's is meant for trainings thrice as long
    changes += [f"checkpoint={{every_updates={every}, keep_last={AVERAGED}}}", f"validation.every_updates={4 * every}"]
    transduce.train(load_recipe("multi30k", changes), run, resume=True, observers=[Lines(sys.stderr)])
    if not (run / "average").exists():
        average(run, last=AVERAGED)
    return run


def translate(model: Path, file: Path, pairs: list[SentencePair]) -> list[str]:
    """Translations of the test set, kept in a file."""
    if not file.exists():
        translations = transduce.Translator.load(model).translate([pair.source for pair in pairs], Beam(size=4))
        file.write_bytes(msgspec.json.encode([translation.text for translation in translations]))
    return msgspec.json.decode(file.read_bytes(), type=list[str])


def sides(pairs: list[SentencePair]) -> tuple[list[str], list[str]]:
    """Sources and references."""
    return [pair.source for pair in pairs], [pair.target for pair in pairs]


if __name__ == "__main__":
    main()
