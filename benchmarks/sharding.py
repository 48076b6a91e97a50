"""Memory of a process by training.sharding, and losses beside one process, in two gloo processes on this machine.

    python benchmarks/sharding.py             # trains 4 updates of multi30k in four ways

Bytes of float32 weights, gradients and optimiser state are counted in the first process after an update, from its own
rows; weights in the precision of the passes, which are gathered for them, come on top.
"""

import argparse
import contextlib
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec

WAYS = ("one process", "none", "optimizer", "full")
STILL = ("model.dropout=0.0", "model.attention_dropout=0.0", "model.activation_dropout=0.0")
QUICK = ("optimizer.schedule={kind='constant', warmup=1}", "optimizer.learning_rate=3e-3")
OFTEN = ("training.report_every=1", "validation.every_updates=1000", "checkpoint.every_updates=1000")


def main() -> None:
    """Train in each way and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--recipe", default="multi30k")
    parser.add_argument("--updates", type=int, default=4)
    parser.add_argument("changes", nargs="*", help="settings to change, KEY=VALUE")
    arguments = parser.parse_args()
    changes = [*STILL, *QUICK, *OFTEN, "training.precision=float32", *arguments.changes]
    print("| sharding | weights, MB | gradients, MB | optimiser, MB | loss of the last update |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for way in WAYS:
            out = Path(folder) / way.replace(" ", "-")
            counts = _train(way, arguments.recipe, arguments.updates, changes, out)
            sizes = " | ".join(f"{counts[name] / 1e6:.1f}" for name in ("weights", "gradients", "optimizer"))
            print(f"| {way} | {sizes} | {counts['loss']:.6f} |", flush=True)


def _train(way: str, recipe: str, updates: int, changes: Sequence[str], out: Path) -> dict[str, float]:
    """Returns what the first process counted."""
    processes = 1 if way == "one process" else 2
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    sharding = "none" if way == "one process" else way
    command = [sys.executable, __file__, "--updates", str(updates), "--recipe", recipe]
    started = [
        subprocess.Popen(
            [*command, *changes, f"training.sharding={sharding}"],
            env={
                **os.environ,
                **{"OMP_NUM_THREADS": "1", "WORLD_SIZE": str(processes), "LOCAL_WORLD_SIZE": str(processes)},
                **{"RANK": str(rank), "LOCAL_RANK": str(rank), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
                "SHARDING_OUT": str(out),
            },
        )
        for rank in range(processes)
    ]
    if any(process.wait() for process in started):
        sys.exit(f"{way}: a process has failed")
    counted: dict[str, float] = msgspec.json.decode((out / "counts.json").read_bytes())
    return counted


def _count(out: Path, recipe: str, updates: int, changes: Sequence[str]) -> None:
    """Trains in this process, which is one of those that were started."""
    from transduce.experiment import load_recipe, train
    from transduce.training.distributed import is_first_process
    from transduce.training.observers import Observer, Report
    from transduce.training.optimizer import normalize_gradients

    class LastLoss(Observer):
        loss = 0.0

        def report(self, report: Report) -> None:
            self.loss = report.loss

    from transduce.training.sharded_tensors import local
    from transduce.training.trainer import Trainer

    counts: dict[str, float] = {}

    def counting(parameters: Any, *others: Any) -> Any:
        tensors = list(parameters)
        gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
        counts.update(weights=_bytes(map(local, tensors)), gradients=_bytes(map(local, gradients)))
        return normalize_gradients(tensors, *others)

    class Counting(Trainer):
        """A trainer that neither checks memory nor validates, and counts."""

        def run(self) -> None:
            self._train()

        def _validate(self, norm: Any) -> float:
            states = [value for one in self.optimizers for state in one.state.values() for value in state.values()]
            counts["optimizer"] = _bytes(map(local, states))
            raise _EnoughError

    observer = LastLoss()
    with (
        mock.patch("transduce.training.trainer.normalize_gradients", counting),
        mock.patch("transduce.experiment.run.Trainer", Counting),
        contextlib.suppress(_EnoughError),
    ):
        settings = load_recipe(recipe, [*changes, f"training.updates={updates}"])
        train(settings, out, observers=[observer], device="cpu")
    if is_first_process():
        (out / "counts.json").write_bytes(msgspec.json.encode(counts | {"loss": observer.loss}))


class _EnoughError(Exception):
    """Ends a training at its validation."""


def _bytes(tensors: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


if __name__ == "__main__":
    if "SHARDING_OUT" in os.environ:
        parser = argparse.ArgumentParser()
        parser.add_argument("--recipe")
        parser.add_argument("--updates", type=int)
        parser.add_argument("changes", nargs="*")
        given = parser.parse_args()
        _count(Path(os.environ["SHARDING_OUT"]), given.recipe, given.updates, given.changes)
    else:
        main()
