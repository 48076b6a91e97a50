"""Where an update's time goes: `python benchmarks/training_profile.py multi30k-words [KEY=VALUE]...`

A few updates of a recipe under PyTorch's profiler, after some that are not counted. Prints the share of each kind of
work; matrix products are what cannot be avoided.
"""

import re
import sys
import tempfile
from collections import Counter
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

import transduce
from transduce.experiment import load_recipe
from transduce.training.observers import Observer, Report

BEFORE, COUNTED = 6, 6  # updates
KINDS = {
    "matrix products": r"aten::(mm|addmm|bmm|baddbmm|addmm_)$|mkldnn_linear",
    "softmax and loss": r"softmax|exp|log|gather|scatter|amax|_CrossEntropy",
    "dropout masks": r"random_|aten::ge$",
    "products and sums by element": r"aten::(mul|mul_|add|add_|sub|sub_|div|div_|neg|where|masked_fill|masked_fill_)$",
    "copies, casts and zeros": r"copy|clone|fill_|zero|cat$|stack|_to_copy",
    "layer normalisation": r"layer_norm",
    "activation": r"relu|gelu|threshold|clamp_min|sigmoid|tanh",
    "embeddings": r"embedding|index",
    "optimiser and averages": r"adam|Optimizer|lerp|foreach|norm$",
}
OTHER = "views, dispatch and the rest"


class Profile(Observer):
    """An observer that profiles the updates that it sees, and then ends the run."""

    def __init__(self) -> None:
        self._profile = profile(activities=[ProfilerActivity.CPU])

    def report(self, report: Report) -> None:
        """Profiles the updates after the first ones."""
        if report.update == BEFORE:
            self._profile.start()
        if report.update == BEFORE + COUNTED:
            self._profile.stop()
            print(table(self._profile))
            raise SystemExit


def table(measured: profile) -> str:
    """Shares of time by kind, largest first."""
    times: Counter[str] = Counter()
    for event in measured.key_averages():
        kind = next((kind for kind, pattern in KINDS.items() if re.search(pattern, event.key)), OTHER)
        times[kind] += event.self_cpu_time_total
    total = sum(times.values())
    lines = [f"| {kind} | {100 * time / total:.0f} % |" for kind, time in times.most_common()]
    return "\n".join(["| of an update's time | share |", "|---|---|", *lines])


def main() -> None:
    recipe, *changes = sys.argv[1:]
    torch.set_num_threads(1)
    changes.append("training.report_every=1")
    with tempfile.TemporaryDirectory() as folder:
        transduce.train(load_recipe(recipe, changes), Path(folder) / "run", observers=[Profile()], device="cpu")


if __name__ == "__main__":
    main()
