"""Measures answers of a server of two projects before they learn, after they have learned, and while they learn.

    python benchmarks/learning_latency.py runs/captions --dataset multi30k --out runs/bench/learning-latency

Clients ask one after the other for sentences with a project's adapter, half of them of each project, and every fifth
request is for one that both projects have confirmed, each with a translation of its own, which must be the answer.
"""

import argparse
import random
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import requests

from peers.report import describe_machine, table
from peers.serving import free_port, started
from transduce.bundle.model_bundle import ModelBundle
from transduce.corpora.corpus import SentencePair
from transduce.corpora.splits import open_split

PROJECTS = ("first", "second")
KNOWN_EVERY = 5


class Loaded:
    """A served model with two projects, and clients that ask it."""

    def __init__(self, port: int, languages: tuple[str, str], sentences: Sequence[str], known: SentencePair) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        self.source, self.target = languages
        self.sentences, self.known = sentences, known
        for name in PROJECTS:
            self.ask("PUT", f"projects/{name}", {"source": self.source, "target": self.target})
            self.confirm(name, SentencePair(known.source, f"{known.target} ({name})"))

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = requests.request(method, f"{self.url}/{path}", json=body, timeout=120)
        answer.raise_for_status()
        return answer.json()

    def confirm(self, name: str, pair: SentencePair) -> None:
        self.ask("POST", f"projects/{name}/segments", {"source": pair.source, "target": pair.target})

    def waiting(self) -> int:
        """Returns the segments that are still to learn."""
        facts = [self.ask("GET", f"projects/{name}") for name in PROJECTS]
        return sum(project["segments"] - project["learned"] for project in facts)

    def load(self, clients: int, seconds: float) -> tuple[list[float], int]:
        """Returns the seconds of each answer, and the number of known sentences answered by another project."""
        taken: list[float] = []
        crossed: list[str] = []
        until = time.monotonic() + seconds

        def work(number: int) -> None:
            draw, name = random.Random(number), PROJECTS[number % 2]
            asked = 0
            while time.monotonic() < until:
                asked += 1
                if asked % KNOWN_EVERY == 0:
                    body: dict[str, Any] = {"text": self.known.source, "alternatives": 0}
                    (segment,) = self.ask("POST", f"projects/{name}/translate", body)["segments"]
                    if segment["translation"] != f"{self.known.target} ({name})":
                        crossed.append(segment["translation"])
                    continue
                body = {"text": draw.choice(self.sentences), "source": self.source, "target": self.target}
                began = time.monotonic()
                self.ask("POST", "translate", {**body, "project": name})
                taken.append(time.monotonic() - began)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return taken, len(crossed)


def main() -> None:
    """Print a table of the three loads."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--dataset", default="multi30k")
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=20.0, help="of each load")
    parser.add_argument("--segments", type=int, default=40, help="that each project has to learn while it is loaded")
    parser.add_argument("--out", type=Path, default=Path("runs/bench/learning-latency"))
    options = parser.parse_args()
    config = ModelBundle.load(options.model).config
    assert config.source is not None and config.target is not None
    known, *pairs = open_split(options.dataset, "val", config.source, config.target)
    sentences = [pair.source for pair in open_split(options.dataset, "test_2016_flickr", config.source, config.target)]
    port, projects = free_port(), options.out / "projects"
    shutil.rmtree(projects, ignore_errors=True)
    command = [sys.executable, "-m", "transduce", "serve", str(options.model.absolute()), "--port", str(port)]
    command += ["--projects", str(projects.absolute()), "--max-waiting", "1024", "--threads", "1"]
    rows = [["", "answers a second", "half within, ms", "95 % within, ms", "of another project"]]
    percentiles: dict[str, float] = {}
    with started(command, port, 1, options.out / "server.log"):
        loaded = Loaded(port, (config.source, config.target), sentences, known)

        def row(name: str) -> None:
            taken, crossed = loaded.load(options.clients, options.seconds)
            percentiles[name] = statistics.quantiles(taken, n=20)[-1]
            times = [f"{1000 * value:,.0f}" for value in (statistics.median(taken), percentiles[name])]
            rows.append([name, f"{len(taken) / options.seconds:.1f}", *times, str(crossed)])
            print(rows[-1], file=sys.stderr, flush=True)

        wait_until_learned(loaded)
        row("nothing learned but one segment, the server idle before")
        for pair in pairs[: options.segments]:
            for name in PROJECTS:
                loaded.confirm(name, pair)
        row("while it learns")
        left = loaded.waiting()
        wait_until_learned(loaded)
        row("learned")
    print(table(rows))
    print(f"{left} of {2 * options.segments} segments were left to learn when the second load ended")
    print(f"{describe_machine(1)} {options.clients} clients.")


def wait_until_learned(loaded: Loaded) -> None:
    """Wait for the background, at most ten minutes."""
    deadline = time.monotonic() + 600
    while loaded.waiting() and time.monotonic() < deadline:
        time.sleep(1)


if __name__ == "__main__":
    main()
