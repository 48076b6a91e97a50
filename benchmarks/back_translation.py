"""Measures the gain by text of one language beside a third of Multi30k's pairs, in both directions.

    python benchmarks/back_translation.py --out runs/bench/back-translation

Of Multi30k's 29,000 training pairs the first 10,000 are known, and of the others the English side alone. A model of
each direction learns from the pairs. From German to English the text is on the target side: the model of the other
direction translates it back (`transduce backtranslate`), by a beam, with a tag and without, and by sampling. From
English to German it is on the source side: the model translates it forward, and another learns from that (`transduce
distill`). All are the recipe multi30k with the same number of updates, by default 800: under 40 minutes of one core
each, six trainings in all. BLEU is on the test set of 2016, with paired tests against the model of the pairs alone.
What is finished is not done again, what was stopped goes on.

To try it on a small model: `--updates 150 --pairs 500 --text 60 --tested 20 model.dim=32 model.heads=4
model.feed_forward_dim=64 model.encoder_layers=1 model.decoder_layers=1 batching.target_tokens=512 training.accumulate=1
tokenizer.size=800 validation.every_updates=75 checkpoint.every_updates=75`.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import transduce
from peers.report import describe_machine
from transduce.base.config import read_changes
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split
from transduce.evaluation.compare import compare
from transduce.evaluation.comparison_tables import comparison_tables
from transduce.experiment import Selection

RECIPE = "multi30k"
PARTS = {"train": "train", "validation": "val", "test": "test_2016_flickr"}
WAYS: dict[str, dict[str, Any]] = {
    "translated back, beam": {},
    "translated back, beam, no tag": {"tag": ""},
    "translated back, sampled": {"search": transduce.Sampling(), "selection": Selection(drop_worst=0.0)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("runs/bench/back-translation"))
    parser.add_argument("--updates", type=int, default=800)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--text", type=int, help="lines of text at most, for a try")
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS), help="of translating back")
    parser.add_argument("--tested", type=int, help="sentences of validation and test data at most, for a try")
    parser.add_argument("settings", nargs="*", metavar="KEY=VALUE", help="settings of the recipe to change")
    options = parser.parse_args()
    out: Path = options.out
    out.mkdir(parents=True, exist_ok=True)
    test = write_data(out, options.pairs, options.text, options.tested)
    updates = {"training.updates": options.updates, "optimizer.schedule.warmup": max(round(0.3 * options.updates), 1)}
    updates |= read_changes(options.settings)
    runs = {direction: train_on_pairs(out, direction, updates) for direction in ("de-en", "en-de")}
    to_english = {"the pairs alone": runs["de-en"]}
    for name in options.ways:
        folder = out / name.replace(", ", "-").replace(" ", "-")
        common: dict[str, Any] = {"recipe": runs["de-en"], "overrides": updates, "tell": tell(name)}
        transduce.backtranslate(runs["en-de"], [out / "more.en"], folder, **common | WAYS[name])
        to_english[name] = folder / "run"
    folder = out / "translated-forward"
    transduce.distill(
        runs["en-de"],
        [runs["en-de"], out / "more.en"],
        folder,
        recipe=runs["en-de"],
        overrides=updates,
        pairs_weight=1.0,
        tell=tell("translated forward"),
    )
    to_german = {"the pairs alone": runs["en-de"], "translated forward": folder / "run"}
    print(describe_machine(torch.get_num_threads()))
    for direction, systems in (("de-en", to_english), ("en-de", to_german)):
        pairs = test if direction == "de-en" else [SentencePair(pair.target, pair.source) for pair in test]
        print(f"\n{direction}, {options.pairs:,} pairs, {options.updates:,} updates\n")
        print(comparison_tables(compared(systems, pairs), "markdown"))


def write_data(out: Path, count: int, lines: int | None, tested: int | None) -> list[SentencePair]:
    """Writes the pairs, held-out data and text as files; returns the test pairs, German first."""
    for name, split in PARTS.items():
        pairs = list(open_split("multi30k", split, "de", "en"))
        if name == "train":
            write(out / "more.en", [pair.target for pair in pairs[count:]][:lines])
        pairs = pairs[: count if name == "train" else tested]
        write(out / f"{name}.de", [pair.source for pair in pairs])
        write(out / f"{name}.en", [pair.target for pair in pairs])
    return pairs


def write(path: Path, lines: Sequence[str]) -> None:
    """Writes lines."""
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def train_on_pairs(out: Path, direction: str, updates: dict[str, Any]) -> Path:
    """Trains the recipe on the pairs alone; returns the run."""
    source, target = direction.split("-")
    data: dict[str, Any] = {
        f"data.{name}": [str((out / f"{name}.{language}").absolute()) for language in (source, target)]
        for name in PARTS
    }
    data |= {"data.dataset": None, "data.source": source, "data.target": target}
    run = out / direction
    transduce.train(RECIPE, run, resume=True, overrides=data | updates, tell=tell(f"{direction}, the pairs alone"))
    return run


def compared(systems: dict[str, Path], pairs: Sequence[SentencePair]) -> Any:
    """Compares the systems' translations of the test pairs."""
    sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
    outputs = {
        name: [translation.text for translation in transduce.Translator.load(run).translate(sources)]
        for name, run in systems.items()
    }
    return compare(outputs, sources, references)


def tell(name: str) -> Callable[[str], None]:
    """Returns a function that prints a line about a system."""
    return lambda line: print(f"{name}: {line}", flush=True)


if __name__ == "__main__":
    main()
