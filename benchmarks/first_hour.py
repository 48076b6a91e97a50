"""What two files become by one command and no setting, beside a recipe tuned by hand that computes for as long.

    python benchmarks/first_hour.py --out runs/bench/first-hour

Three sets: 3,000 captions English to French among a fifth more lines of dirt, all captions German to English, and
sentences of Tatoeba English to German. BLEU is on test_2016_flickr, or on the part of Tatoeba drawn to test on.
About half an hour for each of the six trainings on two cores. What is finished is not done again. How many updates of
the tuned recipe take as long is measured in turns with those of the other, so a busy machine does not favour either.
"""

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import msgspec
import torch

import transduce
from dirt import with_dirt, write_pairs
from transduce.base.config import convert, read_toml
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split, open_splits
from transduce.evaluation.evaluate import evaluate
from transduce.experiment import Files, Recipe, TranslationConfig, load_recipe
from transduce.training.observers import Lines, Observer

TUNED: dict[str, list[str]] = {  # what differs from the recipe multi30k
    "captions-3000": [
        "tokenizer.size=2000",
        "model.encoder_layers=3",
        "model.decoder_layers=3",
        "model.dim=128",
        "model.heads=4",
        "model.feed_forward_dim=512",
        "model.dropout=0.3",
        "batching.target_tokens=2048",
        "training.accumulate=2",
        "optimizer.learning_rate=4e-3",
    ],
    "captions": [],
    "tatoeba": ["model.dropout=0.1", "model.attention_dropout=0.0", "model.activation_dropout=0.0"],
}
WARMUP = 0.3  # of the updates, as in the recipe
TIMED = 12  # updates of a turn, to learn how many take as long
TURNS = 3


@dataclass(frozen=True)
class Trained:
    """A finished training and how good it is."""

    minutes: float
    updates: int
    bleu: float
    interval: tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/first-hour"))
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    print("| set | two files: BLEU, minutes, updates | tuned: BLEU, minutes, updates | difference |")
    print("| --- | --- | --- | --- |", flush=True)
    for name in options.sets:
        chosen, tuned = measure(name, options.out)
        print(f"| {name} | {describe(chosen)} | {describe(tuned)} | {chosen.bleu - tuned.bleu:+.1f} |", flush=True)


def measure(name: str, out: Path) -> tuple[Trained, Trained]:
    """Both trainings of a set."""
    files = SETS[name](out / "data" / name)
    source, target = (file.suffix[1:] for file in files)
    test = None if name == "tatoeba" else list(open_split("multi30k", "test_2016_flickr", source, target))
    run = out / f"{name}-chosen"
    chosen = train(Files(tuple(map(str, files))), run, test)
    recipe = tuned_recipe(name, run)
    tuned = out / f"{name}-tuned"
    if tuned.exists():
        recipe = load_recipe(str(tuned / "experiment.toml"))
    else:
        ratio = times_as_long(load_recipe(str(run / "experiment.toml")), recipe, out / f"{name}-timed")
        recipe = of_length(recipe, max(round(chosen.updates / ratio), 1))
    return chosen, train(recipe, tuned, test)


def train(recipe: Recipe[Any] | Files, run: Path, test: list[SentencePair] | None) -> Trained:
    """A training, made once, and its score on a test set, or on that which was drawn from the files."""
    kept = run / "first-hour.json"
    if kept.exists():
        return msgspec.json.decode(kept.read_bytes(), type=Trained)
    began = time.monotonic()
    result = transduce.train(recipe, run, resume=run.exists(), observers=[Lines(sys.stderr)], tell=tell)
    print(f"{run}: {(time.monotonic() - began) / 60:.1f} minutes with all that is before and after", file=sys.stderr)
    if test is None:
        drawn = open_splits(convert(read_toml(run / "experiment.toml"), TranslationConfig, str(run)).data, run).test
        assert drawn is not None
        test = list(drawn)
    scores = evaluate(transduce.Translator.load(run), [pair.source for pair in test], [pair.target for pair in test])
    trained = Trained(result.seconds / 60, result.updates, scores.bleu.score, scores.bleu.interval)
    kept.write_bytes(msgspec.json.encode(trained))
    return trained


def tuned_recipe(name: str, chosen: Path) -> Recipe[Any]:
    """The recipe multi30k with what is tuned for a set, on the data of the run beside it, split and cleaned alike."""
    config = load_recipe("multi30k", TUNED[name]).config
    data = convert(read_toml(chosen / "experiment.toml"), TranslationConfig, str(chosen)).data
    return Recipe(name, msgspec.structs.replace(config, data=data), chosen)


def of_length(recipe: Recipe[Any], updates: int) -> Recipe[Any]:
    """The recipe with a schedule of so many updates."""
    changed: dict[str, Any] = {
        "training": msgspec.structs.replace(recipe.config.training, updates=updates),
        "validation": msgspec.structs.replace(recipe.config.validation, every_updates=max(updates // 6, 1)),
        "checkpoint": msgspec.structs.replace(recipe.config.checkpoint, every_updates=max(updates // 6, 1)),
    }
    schedule = msgspec.structs.replace(recipe.config.optimizer.schedule, warmup=max(round(WARMUP * updates), 1))
    changed["optimizer"] = msgspec.structs.replace(recipe.config.optimizer, schedule=schedule)
    return Recipe(recipe.name, msgspec.structs.replace(recipe.config, **changed), recipe.folder)


def times_as_long(chosen: Recipe[Any], tuned: Recipe[Any], out: Path) -> float:
    """An update of the tuned recipe, as a multiple of one of the chosen: the median of turns."""
    ratios = []
    for turn in range(TURNS):
        first, second = (seconds_per_update(recipe, out / f"{turn}-{recipe.name}") for recipe in (chosen, tuned))
        ratios.append(second / first)
    return median(ratios)


def seconds_per_update(recipe: Recipe[Any], run: Path) -> float:
    """Measured on the first updates of a run that is made for it, all but the very first."""
    speeds: list[float] = []

    class Speed(Observer):
        def report(self, report: Any) -> None:
            speeds.append(report.seconds_per_update)

    short = of_length(recipe, TIMED)
    search = msgspec.structs.replace(short.config.search, size=1, max_ratio=0.0, max_extra=1)
    training = msgspec.structs.replace(short.config.training, report_every=TIMED // 2)
    config = msgspec.structs.replace(short.config, search=search, training=training)
    transduce.train(Recipe(short.name, config, short.folder), run, observers=[Speed()], overwrite=run.exists())
    return speeds[-1]


def tell(line: str) -> None:
    print(line, file=sys.stderr)


def describe(trained: Trained) -> str:
    low, high = trained.interval
    return f"{trained.bleu:.1f} [{low:.1f}, {high:.1f}], {trained.minutes:.1f}, {trained.updates:,}"


def dirty_captions(folder: Path) -> tuple[Path, Path]:
    clean = list(open_split("multi30k", "train", "en", "fr"))[:3000]
    return written(with_dirt(clean), folder / "dirty.en", folder / "dirty.fr")


def captions(folder: Path) -> tuple[Path, Path]:
    return written(list(open_split("multi30k", "train", "de", "en")), folder / "captions.de", folder / "captions.en")


def tatoeba(folder: Path) -> tuple[Path, Path]:
    parts = [open_split("tatoeba-eng-deu", part, "en", "de") for part in ("train", "validation", "test")]
    return written([pair for part in parts for pair in part], folder / "tatoeba.en", folder / "tatoeba.de")


def written(pairs: list[SentencePair], source: Path, target: Path) -> tuple[Path, Path]:
    write_pairs(pairs, source, target)
    return source, target


SETS: dict[str, Callable[[Path], tuple[Path, Path]]] = {
    "captions-3000": dirty_captions,
    "captions": captions,
    "tatoeba": tatoeba,
}

if __name__ == "__main__":
    main()
