"""Peak memory where there is much text: `python benchmarks/memory.py [MODEL]`.

Two million made-up pairs are prepared and trained on for ten updates, and the peak of each step is told; with a model,
a long file is translated too.
"""

import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import tomli_w

import transduce
from made_up_pairs import write_text_like_pairs
from peaks import peak_of, watch
from transduce.corpora.generated.grammar import derive_pairs
from transduce.experiment import load_recipe
from transduce.tasks.translation import preparation
from transduce.tasks.translation.translation_task import TranslationExperiment
from transduce.training.trainer import Trainer

PAIRS, HELD_OUT = 2_000_000, 2_000
UPDATES = 10


def main() -> None:
    match sys.argv[1:]:
        case ["--train", recipe, run]:
            train_step_by_step(recipe, Path(run))
        case [] | [_] as models:
            with tempfile.TemporaryDirectory() as folder:
                prepare_and_train(Path(folder))
                if models:
                    translate_long_files(models[0], Path(folder))
        case _:
            raise SystemExit(__doc__)


def prepare_and_train(folder: Path) -> None:
    """In a process of its own, which tells each step's peak and minutes."""
    for name, pairs, seed in (("train", PAIRS, 1), ("dev", HELD_OUT, 2)):
        write_text_like_pairs(folder, name, pairs, seed)
    settings = {
        "data": {"train": ["train.src", "train.trg"], "validation": ["dev.src", "dev.trg"], "max_tokens": 200},
        "tokenizer": {"kind": "bpe", "size": 32_000, "shared": True},
        "model": {"kind": "transformer", "encoder_layers": 3, "decoder_layers": 3, "dim": 256, "feed_forward_dim": 512},
        "training": {"updates": UPDATES},
        "search": {"size": 1},
    }
    recipe = folder / "recipe.toml"
    recipe.write_text(tomli_w.dumps(settings), encoding="utf-8")
    print(f"{PAIRS:,} pairs, {UPDATES} updates:", flush=True)
    command = [sys.executable, __file__, "--train", str(recipe), str(folder / "run")]
    subprocess.run(command, check=True, env={**os.environ, "TRANSDUCE_CACHE": str(folder / "cache")})


def train_step_by_step(recipe: str, run: Path) -> None:
    def tell(step: str, peak: float, seconds: float) -> None:
        print(f"  {step}: peak {peak:,.0f} MiB, {seconds / 60:.1f} minutes", flush=True)

    steps = [
        (preparation, "train_tokenizers", "training the tokenizer"),
        (preparation, "open_store", "a token store"),
        (preparation, "_tell_overlaps", "search for overlaps"),
        (TranslationExperiment, "prepare", "the rest of the preparation, an epoch's plan among it"),
        (Trainer, "_check_memory", "trying the memory"),
        (Trainer, "_train", "updates and a validation"),
    ]
    for place, name, step in steps:
        watch(place, name, partial(tell, step))
    transduce.train(load_recipe(recipe), run)


def translate_long_files(model: str, folder: Path) -> None:
    sentences = [pair.source for pair in derive_pairs(1000, seed=5)]
    for lines in (1_000, 100_000):
        path = folder / f"{lines}.txt"
        path.write_text("".join(f"{sentences[i % 1000]}\n" for i in range(lines)), encoding="utf-8")
        command = [
            sys.executable,
            "-m",
            "transduce",
            "translate",
            model,
            str(path),
            "--beam-size",
            "1",
            "--device",
            "cpu",
        ]
        print(f"translating {lines:,} lines: peak {peak_of([*command, '-o', f'{path}.out']):,.0f} MiB")


if __name__ == "__main__":
    main()
