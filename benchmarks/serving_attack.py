"""Times to answer of `transduce serve` for 64 clients, with and without ten attackers beside them.

    python benchmarks/serving_attack.py --model runs/quickstart

Each client and each attacker has an address of its own. Loads with and without attackers take turns, and every answer
is compared with that of `transduce translate`. With --minutes clients and attackers go on for so long, and each
minute the server's memory is told.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from peers.load import Answer, Job
from peers.measurements import BENCHMARKS
from peers.report import describe_machine, table
from peers.serving import Served, begin_load, draw_texts, end_load, free_port, make_asks, read_sentences, started
from transduce.inference.engines.exported import open_model

TEXTS = 1000
ROUNDS = 4
MOST_RATIO = 2.0
"""How many times as long the slowest twentieth of answers may take beside attackers."""
MOST_GROWTH = 1.1
"""How many times as much memory the server may have at the end of a long load as after its first fifth."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a run, a model or an exported one")
    parser.add_argument(
        "--sentences", type=Path, help="text to translate, a sentence a line; default: the quickstart's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/bench/serving-attack"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=10_000, help="requests beside attackers")
    parser.add_argument("--minutes", type=float, help="go on beside attackers for so long instead")
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder, model = options.out.absolute(), options.model.absolute()
    config = open_model(model, "cpu").config
    languages = config.source, config.target
    asks = make_asks(draw_texts(read_sentences(options.sentences, TEXTS), TEXTS), model, "float32", languages)
    sources = tuple(f"127.0.1.{number + 1}" for number in range(min(options.clients, 250)))
    port = free_port()
    command = [sys.executable, "-m", "transduce", "serve", str(model), "--port", str(port)]
    command += ["--threads", str(options.threads)]
    with started(command, port, options.threads, folder / "server.log") as served:
        job = Job(port, options.clients, asks, 1000, 3600.0, sources=sources)
        end_load(begin_load(job, folder / "job.json"))  # warms up
        if options.minutes:
            problems = go_on(served, job, languages, options.minutes, folder)
        else:
            problems = compare(served, job, languages, options.requests, folder)
    sys.exit(1 if problems else 0)


def compare(served: Served, job: Job, languages: tuple[str, str], requests: int, folder: Path) -> int:
    """Load the server with and without attackers in turns, and print both; how much went wrong."""
    calm: list[Answer] = []
    beside: list[Answer] = []
    seconds = {"without": 0.0, "beside": 0.0}
    attacks: dict[str, dict[str, int]] = {}
    for _ in range(ROUNDS):
        part = Job(job.port, job.clients, job.asks, requests // ROUNDS, 3600.0, sources=job.sources)
        took, answers = end_load(begin_load(part, folder / "job.json"))
        calm, seconds["without"] = calm + answers, seconds["without"] + took
        with attacked(served.port, languages, attacks):
            time.sleep(5)  # until all are at it
            took, answers = end_load(begin_load(part, folder / "job.json"))
        beside, seconds["beside"] = beside + answers, seconds["beside"] + took
        time.sleep(5)
    wrong = [answer.mistake for answer in [*calm, *beside] if answer.mistake is not None]
    rows = [
        [
            name,
            f"{len(answers):,}",
            f"{len(answers) / seconds[name]:.0f}",
            *(f"{1000 * one:.0f}" for one in quantiles(answers)),
        ]
        for name, answers in (("without", calm), ("beside", beside))
    ]
    head = ["attackers", "requests", "a second", "median ms", "p95 ms", "p99 ms", "longest ms"]
    print(f"{describe_machine(torch.get_num_threads())}\n\n{table([head, *rows])}")
    ratio = quantiles(beside)[1] / quantiles(calm)[1]
    print(f"p95 beside attackers is {ratio:.2f} times that without; {len(wrong)} of all answers wrong or missing")
    print("".join(f"  {mistake}\n" for mistake in wrong[:5]), end="")
    tell_attacks(attacks)
    print(f"the server has {served.resident_mib:.0f} MiB", flush=True)
    return len(wrong) + (ratio > MOST_RATIO)


def go_on(served: Served, job: Job, languages: tuple[str, str], minutes: float, folder: Path) -> int:
    """Load the server beside attackers for long, and print its memory; how much went wrong."""
    attacks: dict[str, dict[str, int]] = {}
    answers: list[Answer] = []
    memory: list[float] = []
    end = time.monotonic() + 60 * minutes
    with attacked(served.port, languages, attacks):
        while (left := end - time.monotonic()) > 0:
            part = Job(job.port, job.clients, job.asks, 10**9, min(60.0, left), sources=job.sources)
            answers += end_load(begin_load(part, folder / "job.json"))[1]
            memory.append(served.resident_mib)
            print(f"{len(memory)} minutes: {len(answers):,} answers, {memory[-1]:.0f} MiB", flush=True)
    wrong = [answer.mistake for answer in answers if answer.mistake is not None]
    early = memory[len(memory) // 5]
    print(f"{len(wrong)} of {len(answers):,} answers wrong or missing; memory grew to {memory[-1] / early:.2f} times")
    print("".join(f"  {mistake}\n" for mistake in wrong[:5]), end="")
    tell_attacks(attacks)
    return len(wrong) + (memory[-1] > MOST_GROWTH * early)


@contextmanager
def attacked(port: int, languages: tuple[str, str], attacks: dict[str, dict[str, int]]) -> Iterator[None]:
    """Attackers at work, whose answers are added up; what they do themselves costs the server little, as from afar."""
    command = ["nice", "-n", "19", sys.executable, "-m", "peers.attackers", str(port), *languages]
    with subprocess.Popen(command, cwd=BENCHMARKS, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as attackers:
        try:
            yield
        finally:
            told, _ = attackers.communicate(b"")
    for name, statuses in json.loads(told).items():
        counted = attacks.setdefault(name, {})
        for status, number in statuses.items():
            counted[status] = counted.get(status, 0) + number


def tell_attacks(attacks: dict[str, dict[str, int]]) -> None:
    """Print what came of the attacks, by status."""
    for name, statuses in attacks.items():
        told = ", ".join(f"{number:,} x {status}" for status, number in sorted(statuses.items()))
        print(f"  {name.replace('_', ' ')}: {told or 'no answer yet'}")


def quantiles(answers: Sequence[Answer]) -> list[float]:
    """The median, p95, p99 and the longest time to answer, in seconds."""
    found: list[float] = np.quantile([answer.seconds for answer in answers], [0.5, 0.95, 0.99, 1.0]).tolist()
    return found


if __name__ == "__main__":
    main()
