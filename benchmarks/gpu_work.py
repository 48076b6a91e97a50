"""Work of a GPU in one update of each recipe, counted on a counterfeit one: launches, waits, kernels of attention.

    python benchmarks/gpu_work.py

Models are narrow, which changes no count; made-up data have sentences of many lengths. Needs no GPU, and a few minutes.
"""

import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import transduce
from fake_cuda import Work, fake_cuda
from peers.report import table
from transduce.nn import losses
from transduce.training.trainer import Trainer

NARROW = {"model.dim": 32, "model.heads": 4, "model.feed_forward_dim": 32}
RECIPES: dict[str, dict[str, Any]] = {
    "wmt14-en-de-base": {"tokenizer.size": 300, "model.key_dim": 8, "model.value_dim": 8},
    "multi30k": {"tokenizer.size": 300},
    "shakespeare": {},
    "ptb-xl": {},
    "bible-bert": {"tokenizer.size": 80, "model.attention_dropout": 0.0},
}
TRANSLATION = ("wmt14-en-de-base", "multi30k")
VOCABULARY = 37_000
"""Tokens by which the loss is cut into chunks, as those of WMT14 are; the made-up text yields few."""


class EnoughError(Exception):
    """Ends a training from within."""


class SecondUpdate:
    """An observer that keeps the counts of the second update; the first also pays for what is made once."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def report(self, report: Any) -> None: ...

    def validated(self, *_: Any) -> None: ...

    def close(self) -> None: ...

    def updated(self, update: int) -> None:
        if update == 2:
            raise EnoughError
        self.work.clear()


def main() -> None:
    Trainer._check_memory = Trainer._tell_length = lambda self: None  # type: ignore[method-assign]
    losses.LOGITS_OF_GPU = losses.LOGITS_OF_GPU * 300 // VOCABULARY
    rows = [["recipe", "launches", "waits", "attention"]]
    with tempfile.TemporaryDirectory() as folder:
        write_texts(Path(folder))
        for recipe, changes in RECIPES.items():
            work = count(recipe, Path(folder), changes)
            kernels = ", ".join(f"{number} {kernel}" for kernel, number in work.attentions.items())
            rows.append(
                [recipe, f"{sum(work.launches.values()):,}", str(sum(work.waits.values())), kernels or "no fused one"]
            )
    print(table(rows), end="")


def count(recipe: str, folder: Path, changes: dict[str, Any]) -> Work:
    """The work of an update."""
    if recipe in TRANSLATION:
        files = {name: [str(folder / f"{name}.{side}") for side in ("en", "de")] for name in ("train", "validation")}
        data = {"dataset": None, **files, "source": "en", "target": "de"}
    else:
        files = {name: str(folder / f"{name}.en") for name in ("train", "validation")}  # type: ignore[misc]
        data = {"dataset": None, **files, "language": "en"}
    often = {f"{name}.every_updates": 100 for name in ("validation", "checkpoint")}
    settings = {"data": data, "training.updates": 100, "training.report_every": 100, **often, **NARROW, **changes}
    with fake_cuda() as work, suppress(EnoughError):
        transduce.train(recipe, folder / recipe, overrides=settings, device="cuda:0", observers=[SecondUpdate(work)])
    return work


def write_texts(folder: Path) -> None:
    """Aligned files of up to a hundred words a line."""
    for part, lines in (("train", 700), ("validation", 20)):
        sides: list[list[str]] = [[], []]
        for number in range(lines):
            words = [f"w{number * step % 97}" for step in range(3, 3 + number % 101)] or ["w1"]
            sides[0].append(" ".join(words) + ".")
            sides[1].append(" ".join(reversed(words)) + " x.")
        for side, texts in zip(("en", "de"), sides, strict=True):
            (folder / f"{part}.{side}").write_text("\n".join(texts) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
