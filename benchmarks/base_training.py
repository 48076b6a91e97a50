"""How much of a machine's matrix products a training uses: `python benchmarks/base_training.py --device cuda`

The paper's base model (the recipe wmt14-en-de-base) with a vocabulary of 37,000 and batches of 25,000 target tokens, at
the precision that `transduce train` chooses, as it is and through `torch.compile`, in turns. Sentences are random
tokens, of three lengths one after the other, without padding. Prints target tokens a second, the speed of the model's
matrix products, as PyTorch counts them, and its share of that of one large square product; all by medians.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch.utils.flop_counter import FlopCounterMode

from peers.report import table
from transduce.data.batch import Batch
from transduce.experiment import load_recipe
from transduce.objectives.next_token import NextToken
from transduce.objectives.objective import Objective
from transduce.training.precision import choose_precision
from updates import Updates, random_batch

VOCABULARY = 37_000
PRODUCT = "a large square product"
LENGTHS = (20, 25, 30)  # of sentences, with their ends
WARM_UP = 2  # rounds, in which shapes that change are compiled


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("changes", nargs="*", metavar="KEY=VALUE", help="other settings than the recipe's")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--tokens", type=int, default=25_000, help="target tokens a batch")
    parser.add_argument("--rounds", type=int, default=10, help="of three updates each")
    parser.add_argument("--square", type=int, default=8192, help="rows and columns of the large product's matrices")
    options = parser.parse_args()
    config, device = load_recipe("wmt14-en-de-base", options.changes).config, torch.device(options.device)
    dtype = choose_precision("auto", device)
    batches = [random_batch(each, VOCABULARY, options.tokens // each, each - 1).to(device) for each in LENGTHS]
    tokens = sum(int(batch.target_is_real.sum()) for batch in batches)

    plain = NextToken(config.training.label_smoothing)
    forms: dict[str, Objective] = {"as it is": plain, "torch.compile": torch.compile(plain)}
    updates = {name: Updates(config, VOCABULARY, objective, dtype, device) for name, objective in forms.items()}
    with FlopCounterMode(display=False) as counter:
        make_all(updates["as it is"], batches)
    one, other = torch.randn(2, options.square, options.square, device=device).to(dtype)
    jobs: dict[str, Callable[[], object]] = {
        PRODUCT: lambda: one @ other,
        **{name: partial(make_all, each, batches) for name, each in updates.items()},
    }
    seconds = median_seconds(jobs, options.rounds, device)

    peak = 2 * options.square**3 / seconds[PRODUCT]
    rows = [["", "target tokens a second", "TFLOP/s", "of the peak"], [PRODUCT, "", f"{peak / 1e12:.2f}", ""]]
    for name in updates:
        speed = counter.get_total_flops() / seconds[name]
        rows.append([name, f"{tokens / seconds[name]:,.0f}", f"{speed / 1e12:.2f}", f"{speed / peak:.0%}"])
    print(
        f"{dtype}, {torch.cuda.get_device_name(device) if device.type == 'cuda' else device}\n\n{table(rows)}", end=""
    )


def make_all(updates: Updates, batches: Sequence[Batch]) -> None:
    """An update for each batch."""
    for batch in batches:
        updates.make(batch)


def median_seconds(jobs: Mapping[str, Callable[[], object]], rounds: int, device: torch.device) -> dict[str, float]:
    """Of each job, all done in turn in each round; the first rounds are not counted."""
    found: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(WARM_UP + rounds):
        for name, job in jobs.items():
            wait_for(device)
            started = time.perf_counter()
            job()
            wait_for(device)
            found[name].append(time.perf_counter() - started)
    return {name: statistics.median(times[WARM_UP:]) for name, times in found.items()}


def wait_for(device: torch.device) -> None:
    """A GPU works on while Python goes ahead."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


if __name__ == "__main__":
    main()
