"""Times updates of Transduce, as a recipe says. Runs in Transduce's own environment: see measurements.py."""

import json
import sys
import tempfile
from pathlib import Path

import torch

import transduce
from peers.stopwatch import Finished, Stopwatch
from transduce.experiment import load_recipe
from transduce.training.observers import Report
from transduce.training.precision import choose_precision


class Watch:
    """An observer that reports every update to a stopwatch."""

    def __init__(self, stopwatch: Stopwatch) -> None:
        self.stopwatch = stopwatch

    def report(self, report: Report) -> None:
        """One update was made."""
        self.stopwatch.update(round(report.target_tokens_per_second * report.seconds_per_update))

    def validated(self, update: int, scores: dict[str, float], is_best: bool) -> None:
        """Never: the stopwatch ends the run before."""

    def close(self) -> None:
        """Nothing is held."""


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    changes = [*job["changes"], "training.report_every=1", f"training.precision={job['precision']}"]
    recipe = load_recipe(job["recipe"], changes)
    stopwatch = Stopwatch(job["warm_up"], job["updates"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            transduce.train(recipe, Path(folder) / "run", observers=[Watch(stopwatch)])
        except Finished:
            precision = choose_precision(recipe.config.training.precision, torch.device("cpu"))
            name = str(precision).removeprefix("torch.")
            stopwatch.report(version=transduce.__version__, torch=torch.__version__, precision=name)


if __name__ == "__main__":
    main()
