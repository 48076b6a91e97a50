"""Speed beside busy processes, by how threads wait and how many there are: `python benchmarks/busy_machine.py`.

Each line is a fresh process: 20 updates of a small Transformer, and 20 sentences translated one at a time, each five
times (three times, if a minute is over by then); the median counts. "chosen" is what importing Transduce sets, "before"
what the command used to set, "default" GNU OpenMP's own spinning, both with all threads for a sentence; the others are
what could be set instead. It takes about nine minutes.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

REPEATS, TIMES = 5, 20
FEWEST, ENOUGH = 3, 60.0  # repeats, and seconds after which no more than these are made
SETTINGS: dict[str, dict[str, str]] = {
    "default": {"GOMP_SPINCOUNT": "300000"},  # what libgomp takes where nothing is set
    "before": {"GOMP_SPINCOUNT": "20000"},
    "chosen": {},
    "1,000 spins": {"GOMP_SPINCOUNT": "1000"},
    "passive": {"OMP_WAIT_POLICY": "PASSIVE"},
    "one thread": {"OMP_NUM_THREADS": "1"},
}
FORMER = ("default", "before")
"""Settings of a time when all threads shared even one sentence."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1, 3, 6], help="busy processes beside it")
    parser.add_argument(
        "--settings", nargs="+", choices=SETTINGS, default=["default", "before", "chosen", "one thread"]
    )
    parser.add_argument("--repeats", type=int, default=REPEATS)
    parser.add_argument("--measure", metavar="MODEL", help=argparse.SUPPRESS)
    parser.add_argument("--share-little", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(options.measure, options.repeats, options.share_little)))
        return
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "transduce", "train", "quickstart", "training.updates=1", "-q", "-o", str(run)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        print("| busy processes | setting | 20 updates, s | 20 sentences, s |\n|---|---|---|---|")
        for count in options.busy:
            for setting in options.settings:
                with busy_processes(count):
                    updates, sentences = measured(setting, run, options.repeats)
                print(f"| {count} | {setting} | {updates:.2f} | {sentences:.2f} |", flush=True)


def measured(setting: str, run: Path, repeats: int) -> tuple[float, float]:
    """Medians of a process with a setting: seconds of 20 updates, and of 20 sentences."""
    names = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "OMP_NUM_THREADS")
    environment = {name: value for name, value in os.environ.items() if name not in names} | SETTINGS[setting]
    command = [sys.executable, __file__, "--measure", str(run), "--repeats", str(repeats)]
    command += ["--share-little"] if setting in FORMER else []
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    updates, sentences = json.loads(done.stdout)
    return statistics.median(updates), statistics.median(sentences)


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Other processes that each keep a core busy."""
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def measure(model: str, repeats: int, share_little: bool) -> tuple[list[float], list[float]]:
    """Seconds of updates and of sentences, so many times each; in a process of its own."""
    import transduce  # first, because it says how threads wait
    from transduce.inference.execution import parallel_search

    if share_little:
        parallel_search.LITTLE = 0
    translator = transduce.Translator.load(model)
    search = transduce.Beam(max_ratio=1.0, max_extra=5)

    def translate() -> None:
        translator.translate(["the old teacher reads a book"], search)

    return timed(training_step(), repeats), timed(translate, repeats)


def training_step() -> Callable[[], None]:
    """An update of a small Transformer by about 1,000 target tokens, AdamW's step with it."""
    import torch

    from transduce.data.batch import make_batch
    from transduce.experiment.machine import LENGTH, MODEL, SENTENCES, SPECIAL, VOCABULARY
    from transduce.models.transformer import build_transformer
    from transduce.objectives.next_token import NextToken

    source, target = torch.randint(4, VOCABULARY, (2, SENTENCES, LENGTH)).tolist()
    batch, objective = make_batch(source, target, SPECIAL), NextToken(0.1)
    model = build_transformer(MODEL, VOCABULARY, VOCABULARY)
    optimizer = torch.optim.AdamW(model.parameters())

    def update() -> None:
        objective(model, batch, None).total.backward()
        optimizer.step()
        optimizer.zero_grad()

    return update


def timed(work: Callable[[], None], repeats: int) -> list[float]:
    """Seconds of doing something 20 times, so often; the first time of all is not measured."""
    work()
    seconds: list[float] = []
    for number in range(repeats):
        if number >= FEWEST and sum(seconds) > ENOUGH:
            break
        began = time.perf_counter()
        for _ in range(TIMES):
            work()
        seconds.append(time.perf_counter() - began)
    return seconds


if __name__ == "__main__":
    main()
