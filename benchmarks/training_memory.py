"""Peak memory of training with 32,000 words a side: `python benchmarks/training_memory.py`.

First ours beside the plain form: the sizes of the recipe `multi30k-words`, batches of 4,096 target tokens; the plain
form is the same model in float32 with PyTorch's cross-entropy over the logits of the whole batch.

Then what is tried before the first update beside what a whole epoch, its checkpoint and its validation reach, for
pairs of several lengths. And whether a run with a little less memory (RLIMIT_DATA) ends before its first update with
one line, and goes through with the setting that the line names.
"""

import json
import random
import re
import resource
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w
import torch
from torch import Tensor, nn
from torch.nn import functional

import transduce
from made_up_pairs import write_pairs
from peaks import peak_of, status, watch
from transduce.data.batch import Batch
from transduce.experiment import load_recipe
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Loss
from transduce.training.precision import choose_precision
from transduce.training.trainer import Trainer
from updates import Updates, random_batch

VOCABULARY = 32_000
SENTENCES, LENGTH = 256, 15  # 4,096 tokens with the end of each sentence
UPDATES = 3
FORMS = ("plain", "ours")
PAIRS, VALIDATION_PAIRS = 2_200, 400  # enough for all words to come up in training
BELOW = 0.95  # of what is needed: the limit
FEW = "training.updates=3"  # of a run with the remedy, which then validates and ends

Lengths = list[tuple[int, int]]


@dataclass(frozen=True)
class Case:
    """Pairs, settings, and the setting that helps where memory is a little short."""

    lengths: Lengths
    remedy: str
    settings: tuple[str, ...] = ()


def usual(pairs: int = PAIRS) -> Lengths:
    """Of 8 to 24 words a side."""
    choice = random.Random(1)
    return [(choice.randint(8, 24), choice.randint(8, 24)) for _ in range(pairs)]


def with_long_sources() -> Lengths:
    """1.5 % of the sources are twenty times as long."""
    choice = random.Random(2)
    return [(source * (20 if choice.random() < 0.015 else 1), target) for source, target in usual()]


def cases() -> dict[str, Case]:
    """By name."""
    alike = [(15, 15)] * PAIRS
    return {
        "8 to 24 words, validated by BLEU too": Case(
            usual(), "training.accumulate=8", ('validation.metrics=["bleu"]',)
        ),
        "15 words, accumulate = 8": Case(alike, "training.accumulate=16", ("training.accumulate=8",)),
        "1.5 % of sources twenty times as long": Case(with_long_sources(), "training.accumulate=8"),
        "the same in four groups, accumulate = 4": Case(
            with_long_sources(), "training.accumulate=8", ("batching.groups=4", "training.accumulate=4")
        ),
        "one pair of 1,500 words": Case([*usual(), (1500, 1500)], "data.max_tokens=1000"),
    }


def main() -> None:
    match sys.argv[1:]:
        case ["--form", form]:
            make_updates(form)
        case ["--run", *arguments]:
            run_and_watch(*arguments)
        case names:
            if not names:
                compare_forms()
            for name, case in cases().items():
                if not names or name in names:
                    tell(name, case)


def compare_forms() -> None:
    peaks = {form: peak_of([sys.executable, __file__, "--form", form]) for form in FORMS}
    for form, mebibytes in peaks.items():
        print(f"{form}: peak {mebibytes:,.0f} MiB")
    print(f"ours is {peaks['ours'] / peaks['plain']:.2f} of the plain form", flush=True)


def tell(name: str, case: Case) -> None:
    """Three runs: as it is, with a little too little memory, and then with the remedy."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        recipe = write_recipe(folder, case)
        watched = subprocess.run(
            [sys.executable, __file__, "--run", recipe, folder / "run", *case.settings],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = json.loads(watched.stdout.splitlines()[-1])
        ratio = found["reached"] / found["tried"]
        print(f"{name}: tried {found['tried']:,.0f} MiB, reached {found['reached']:,.0f} MiB ({ratio:.2f})")
        limit = BELOW * found["data"]
        status, line, updates = run_limited(limit, recipe, folder / "limited", *case.settings)
        print(f"  with {limit:,.0f} of {found['data']:,.0f} MiB: {updates} updates, exit {status}: {line}")
        named = re.search(r"training\.accumulate=\d+", line)
        remedy = named[0] if named else case.remedy
        status, line, updates = run_limited(limit, recipe, folder / "remedied", *case.settings, remedy, FEW)
        print(f"  and with {remedy}: {updates} updates, exit {status}{line and ': '}{line}", flush=True)


def write_recipe(folder: Path, case: Case) -> Path:
    """A recipe that trains on the case's pairs for an epoch and validates at its end."""
    write_pairs(folder, "train", case.lengths, 1)
    write_pairs(folder, "dev", usual(VALIDATION_PAIRS), 2)
    settings = {
        "data": {"train": ["train.src", "train.trg"], "validation": ["dev.src", "dev.trg"]},
        "tokenizer": {"kind": "words", "shared": False, "min_frequency": 1},
        "batching": {"target_tokens": 4096},
        "model": {
            **{"kind": "transformer", "encoder_layers": 3, "decoder_layers": 3, "dim": 256, "heads": 8},
            **{"feed_forward_dim": 512, "dropout": 0.1},
        },
        "training": {"epochs": 1, "report_every": 1},
        "checkpoint": {"every_updates": 1000},
        "validation": {"every_epochs": 1},
        "search": {"size": 1},
    }
    path = folder / "recipe.toml"
    path.write_text(tomli_w.dumps(settings), encoding="utf-8")
    return path


def run_limited(mebibytes: float, recipe: Path, run: Path, *changes: str) -> tuple[int, str, int]:
    """The exit status, the last line where it is not 0, and the updates made of a run that may have so much memory."""
    limit = int(mebibytes * 2**20)
    done = subprocess.run(
        [sys.executable, "-m", "transduce", "train", str(recipe), "--quiet", "--out", str(run), *changes],
        capture_output=True,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
    )
    log = run / "log.jsonl"
    updates = sum('"update"' in line and '"loss"' in line for line in log.open()) if log.exists() else 0
    return done.returncode, done.stderr.strip().splitlines()[-1] if done.returncode else "", updates


def run_and_watch(recipe: str, run: str, *changes: str) -> None:
    """Train, and print peaks in MiB as JSON: resident memory of what is tried before the first update and of all that
    comes after, and what is counted as data (which RLIMIT_DATA bounds) of the first."""
    found: dict[str, float] = {}
    check_memory = Trainer._check_memory

    def with_data(trainer: Trainer) -> None:
        with highest_data() as data:
            check_memory(trainer)
        found["data"] = data[0]

    Trainer._check_memory = with_data  # type: ignore[method-assign, assignment]
    watch(Trainer, "_check_memory", lambda peak, _: found.update(tried=peak))
    watch(Trainer, "_train", lambda peak, _: found.update(reached=peak))
    transduce.train(load_recipe(recipe, list(changes)), Path(run))
    print(json.dumps(found))


@contextmanager
def highest_data() -> Iterator[list[float]]:
    """The most data of this process that is seen while the block runs, by looking every two milliseconds."""
    most, done = [0.0], threading.Event()

    def look() -> None:
        while not done.wait(0.002):
            most[0] = max(most[0], status("VmData"))

    thread = threading.Thread(target=look)
    thread.start()
    yield most
    done.set()
    thread.join()


def make_updates(form: str) -> None:
    """Make a few updates on random tokens."""
    config, cpu = load_recipe("multi30k-words").config, torch.device("cpu")
    if form == "plain":
        updates = Updates(config, VOCABULARY, plain_loss, torch.float32, cpu)
    else:
        updates = Updates(config, VOCABULARY, NextToken(0.1), choose_precision("auto", cpu), cpu)
    for seed in range(UPDATES):
        updates.make(random_batch(seed, VOCABULARY, SENTENCES, LENGTH))


def plain_loss(model: nn.Module, batch: Batch, carried: dict[str, Tensor] | None) -> Loss:
    """Label-smoothed cross-entropy as PyTorch has it."""
    translator: Any = model
    logits, _ = translator.decoder(
        batch.target_in, translator.start(translator.encode(batch.source, batch.source_is_real))
    )
    total = functional.cross_entropy(
        logits.flatten(0, 1), batch.target_out.flatten(), label_smoothing=0.1, reduction="sum"
    )
    return Loss(total, total.detach(), batch.target_is_real.sum())


if __name__ == "__main__":
    main()
