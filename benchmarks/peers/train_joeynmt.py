"""Times updates of JoeyNMT's own trainer. Runs in JoeyNMT's environment: see measurements.py."""

import json
import sys
import tempfile
from typing import Any

import joeynmt.training
import torch
from importlib_metadata import version
from joeynmt.batch import Batch

from peers.joeynmt_settings import settings
from peers.stopwatch import Finished, Stopwatch


def main() -> None:
    job = json.loads(sys.argv[1])
    torch.set_num_threads(job["threads"])
    stopwatch = Stopwatch(job["warm_up"], job["updates"])

    class TimedTrainManager(joeynmt.training.TrainManager):  # type: ignore[misc]
        """Reports each update after the optimiser's step."""

        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.tokens = 0
            self.optimizer.register_step_post_hook(lambda *_: stopwatch.update(self.tokens))

        def _train_step(self, batch: Batch) -> tuple[float, int]:
            self.tokens = batch.ntokens
            return super()._train_step(batch)

        def _save_checkpoint(self, new_best: bool, score: float) -> None:
            """The stopwatch stops it where it would save what it has."""

    joeynmt.training.TrainManager = TimedTrainManager
    with tempfile.TemporaryDirectory() as folder:
        try:
            joeynmt.training.train(0, 1, settings(job, folder), skip_test=True)
        except Finished:
            stopwatch.report(version=version("joeynmt"), torch=torch.__version__, precision="float32")


if __name__ == "__main__":
    main()
