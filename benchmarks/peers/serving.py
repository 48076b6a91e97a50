"""Servers in processes of their own, and texts to ask them for, with the translations that must come."""

import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from peers.load import Answer, Ask, Job
from peers.measurements import BENCHMARKS
from transduce.apps.serving.request_texts import sentence_bounds
from transduce.corpora.lines import read_lines
from transduce.corpora.splits import open_split
from transduce.inference.engines.inference_precision import InferencePrecision
from transduce.inference.translator import Translator

SECONDS_TO_START = 300.0
SHARE_LONG = 0.2
LINES_OF_LONG = 12


@dataclass(frozen=True)
class Served:
    """A server at work."""

    port: int
    process: "subprocess.Popen[bytes]"
    log: Path

    @property
    def resident_mib(self) -> float:
        """Memory that it has."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text(encoding="utf-8").splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


class NotStartedError(Exception):
    """A server ended, or did not listen; the message is the end of its log."""


def transduce_serve(model: Path, port: int, threads: int, *options: str) -> list[str]:
    """The command that serves a model without limits that would play a part."""
    limits = ["--max-characters", "1000000", "--max-waiting", "1024", "--timeout", "600"]
    place = ["--port", str(port), "--threads", str(threads)]
    return [sys.executable, "-m", "transduce", "serve", str(model), *place, *limits, *options]


@contextmanager
def started(command: Sequence[str], port: int, threads: int, log: Path) -> Iterator[Served]:
    """A server that listens on a port of this machine; NotStartedError where it does not."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with (
        log.open("wb") as file,
        subprocess.Popen(command, cwd=BENCHMARKS, env=_environment(threads), stdout=file, stderr=file) as process,
    ):
        try:
            deadline = time.monotonic() + SECONDS_TO_START
            while not _listens(port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise NotStartedError(log.read_text(encoding="utf-8", errors="replace")[-300:].strip())
                time.sleep(0.1)
            yield Served(port, process, log)
        finally:
            process.terminate()


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def begin_load(job: Job, file: Path) -> "subprocess.Popen[bytes]":
    """The load generator at work."""
    job.save(file)
    command = [sys.executable, "-m", "peers.load", str(file)]
    return subprocess.Popen(command, cwd=BENCHMARKS, env=_environment(1), stdout=subprocess.PIPE)


def end_load(load: "subprocess.Popen[bytes]") -> tuple[float, list[Answer]]:
    """The seconds that a load took, and what came of each request."""
    told, _ = load.communicate()
    found: dict[str, Any] = json.loads(told)
    return found["seconds"], [Answer(**answer) for answer in found["answers"]]


def read_sentences(file: Path | None, most: int) -> list[str]:
    """Distinct lines of a file, or of the quickstart's test set, that are one sentence each."""
    lines = read_lines(file) if file else (pair.source for pair in open_split("grammar", "test", "en", "de"))
    stripped = (line.strip() for line in lines)
    return list(dict.fromkeys(line for line in stripped if sentence_bounds(line) == [(0, len(line))]))[:most]


def draw_texts(sentences: Sequence[str], number: int) -> list[str]:
    """Texts of one sentence, and now and then of many, a line each; always the same."""
    drawn = random.Random(1)
    lengths = [LINES_OF_LONG if drawn.random() < SHARE_LONG else 1 for _ in range(number)]
    return ["\n".join(drawn.sample(sentences, min(length, len(sentences)))) for length in lengths]


def make_asks(
    texts: Sequence[str], model: Path, precision: InferencePrecision, languages: tuple[str, str]
) -> list[Ask]:
    """Texts as requests, with what `translate` makes of them."""
    translator = Translator.load(model, precision=precision)
    lines = list(dict.fromkeys(line for text in texts for line in text.splitlines()))
    found = dict(zip(lines, (one.text for one in translator.translate(lines)), strict=True))
    source, target = languages
    return [
        Ask(
            json.dumps({"q": text, "source": source, "target": target}),
            "\n".join(found[line] for line in text.splitlines()),
        )
        for text in texts
    ]


def _environment(threads: int) -> dict[str, str]:
    number = str(threads)
    return {**os.environ, "OMP_NUM_THREADS": number, "MKL_NUM_THREADS": number, "TOKENIZERS_PARALLELISM": "0"}


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
