"""How long an update of a classifier takes here and in Hugging Face transformers, turn by turn on the same batches.

Both in float32 with the same weights, texts, batches, dropout rates, clipping and AdamW; transformers pads each batch
to its longest text.

    python benchmarks/encoder_training_speed.py FOLDER --recipe sst2 --updates 40

FOLDER is that of a BERT of Hugging Face transformers, which must be installed.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fine_tuning import RECIPES, FineTuning, TransformersClassifier
from transduce.apps.exchange.huggingface.import_huggingface import import_huggingface
from transduce.training.optimizer import build_optimizers, normalize_gradients

Update = Callable[[NDArray[np.int64]], None]
"""Makes one update of the texts with these numbers."""


def main() -> None:
    """Print a line of JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--recipe", default="sst2", choices=RECIPES)
    parser.add_argument("--updates", type=int, default=40)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        import_huggingface(arguments.folder, Path(place) / "model")
        ours, theirs, plan = prepare(arguments.recipe, arguments.folder, Path(place) / "model")
    seconds: dict[str, list[float]] = {"transduce": [], "transformers": []}
    for number, rows in enumerate([plan[0], *plan[: arguments.updates]]):
        for name, update in (("transduce", ours), ("transformers", theirs)):
            began = time.perf_counter()
            update(rows)
            if number:  # the first pays for what is made once
                seconds[name].append(time.perf_counter() - began)
    medians = {name: round(statistics.median(each), 4) for name, each in seconds.items()}
    speedup = sum(seconds["transformers"]) / sum(seconds["transduce"])
    print(json.dumps({"recipe": arguments.recipe, "seconds_per_update": medians, "speedup": round(speedup, 2)}))


def prepare(recipe: str, folder: Path, model: Path) -> tuple[Update, Update, Sequence[NDArray[np.int64]]]:
    """An update of each library, and the texts of each batch."""
    run = FineTuning.open(recipe, {"training.start_from": str(model)})
    prepared, config = run.prepared, run.config
    network, epoch = prepared.bundle.model.train(), prepared.data.epoch(0)
    (optimizer,) = build_optimizers(config.optimizer, network, torch.float32)

    def ours(rows: NDArray[np.int64]) -> None:
        loss = prepared.objective(network, epoch.make(rows), None)
        loss.total.backward()
        normalize_gradients(network.parameters(), loss.tokens, config.training.clip_norm)
        optimizer.step()
        optimizer.zero_grad()

    return ours, TransformersClassifier(folder, run).update, epoch.batches


if __name__ == "__main__":
    main()
