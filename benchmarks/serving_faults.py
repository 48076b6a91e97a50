"""Thousands of requests to `transduce serve` while clients leave, send what is no request, and models are replaced.

    python benchmarks/serving_faults.py --model runs/quickstart

One request in ten is left by its client, one in twenty is a mistake, which must be refused, and all others must be
answered as `transduce translate` does, each with its own text's translation. Then SIGTERM comes while all clients wait
for long texts, which must be answered still. Tells the server's memory after each tenth of
the requests; each has two reloads.
"""

import argparse
import http.client
import json
import random
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from peers.load import Answer, Ask, Job
from peers.serving import (
    Served,
    begin_load,
    draw_texts,
    end_load,
    free_port,
    make_asks,
    read_sentences,
    started,
    transduce_serve,
)
from transduce.inference.engines.exported import open_model

TEXTS = 1000
PARTS = 10
MISTAKES = [
    Ask("", status=400),
    Ask("{", status=400),
    Ask("[" * 50_000, status=400),
    Ask('{"q": 1, "source": "xx", "target": "yy"}', status=400),
    Ask('{"q": "a", "source": "xx", "target": "yy"}', status=400),
    Ask(json.dumps({"q": "a" * 1_000_001, "source": "xx", "target": "yy"}), status=413),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--model", type=Path, required=True, help="a run, a model or an exported one")
    parser.add_argument(
        "--sentences", type=Path, help="text to translate, a sentence a line; default: the quickstart's"
    )
    parser.add_argument("--out", type=Path, default=Path("runs/bench/serving-faults"))
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    folder, model = options.out.absolute(), options.model.absolute()
    config = open_model(model, "cpu").config
    sentences = read_sentences(options.sentences, TEXTS)
    asks = make_asks(draw_texts(sentences, TEXTS), model, "float32", (config.source, config.target))
    port, part = free_port(), options.requests // PARTS
    with started(transduce_serve(model, port, options.threads), port, options.threads, folder / "server.log") as served:
        reloads = (part // 3, 2 * part // 3)
        job = Job(port, options.clients, with_faults(asks), part, 3600.0, reloads, served.process.pid)
        answers, memory = [], []
        for _ in range(PARTS):
            answers += end_load(begin_load(job, folder / "job.json"))[1]
            memory.append(f"{served.resident_mib:.0f}")
        problems = tell(job.asks, answers)
        print(f"memory after each {part:,} requests: {', '.join(memory)} MiB; {count_reloads(served)} reloads")
        problems += end_in_flight(served, asks, options.clients, folder)
    sys.exit(1 if problems else 0)


def with_faults(asks: Sequence[Ask]) -> list[Ask]:
    """Requests of which some are mistakes, and some are left by their clients."""
    drawn = random.Random(2)
    found = []
    for ask in asks:
        chance = drawn.random()
        if chance < 0.05:
            found.append(drawn.choice(MISTAKES))
        elif chance < 0.15:
            found.append(replace(ask, leave_after=drawn.random() ** 2))
        else:
            found.append(ask)
    return found


def tell(asks: Sequence[Ask], answers: Sequence[Answer]) -> int:
    """Print how many requests were answered, refused and left, and the first that went wrong; how many those are."""
    left = sum(asks[answer.ask].leave_after is not None for answer in answers)
    refused = sum(asks[answer.ask].status != 200 for answer in answers)
    wrong = [answer.mistake for answer in answers if answer.mistake is not None]
    translated = len(answers) - left - refused
    print(
        f"{len(answers):,} requests: {translated:,} to translate, {left:,} left by their clients, {refused:,} to refuse"
    )
    print(f"{len(wrong):,} answered wrongly or not at all")
    print("".join(f"  {mistake}\n" for mistake in wrong[:5]), end="", flush=True)
    return len(wrong)


def end_in_flight(served: Served, asks: Sequence[Ask], clients: int, folder: Path) -> int:
    """SIGTERM while each client waits for a long text: how many were not answered, one more for a bad exit."""
    long = sorted(asks, key=lambda ask: -len(ask.body))[:clients]
    load = begin_load(Job(served.port, clients, long, clients, 3600.0), folder / "job.json")
    most = 0
    while load.poll() is None and most < clients:
        most = max(most, in_progress(served))
        time.sleep(0.002)
    served.process.send_signal(signal.SIGTERM)
    wrong = [answer.mistake for answer in end_load(load)[1] if answer.mistake is not None]
    status = served.process.wait()
    print(f"SIGTERM with {most} requests in progress: {len(wrong)} lost; the server ended with {status}")
    return len(wrong) + (status != 0)


def in_progress(served: Served) -> int:
    """Requests that are translated or wait for it."""
    return int(float(read_metrics(served).partition("\ntransduce_requests_in_progress ")[2].split()[0]))


def read_metrics(served: Served) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    try:
        connection.request("GET", "/metrics")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def count_reloads(served: Served) -> int:
    """How often the server's log says that models were replaced."""
    lines = served.log.read_text(encoding="utf-8").splitlines()
    return sum('"message": "reloaded"' in line for line in lines)


if __name__ == "__main__":
    main()
