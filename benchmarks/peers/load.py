"""Loads a server of `/translate`: clients that each ask again as soon as they are answered, and check what they get.

A process of its own: `python -m peers.load JOB` reads a JSON file and prints one line of JSON.
"""

import http.client
import itertools
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

TIMEOUT = 120.0


@dataclass(frozen=True)
class Ask:
    """A request, and what must come of it."""

    body: str
    expected: str | None = None
    """The translation; None for whichever."""
    status: int = 200
    leave_after: float | None = None
    """Seconds after which the client goes away without an answer."""


@dataclass(frozen=True)
class Job:
    """What a load consists of."""

    port: int
    clients: int
    asks: list[Ask]
    """In the order in which they are asked, over and over."""
    requests: int
    seconds: float
    """After which no request begins."""
    reload_at: tuple[int, ...] = ()
    """Numbers of the requests before which the server is told to reload."""
    process: int = 0
    """The server's, where it reloads."""
    sources: tuple[str, ...] = ()
    """Addresses of this machine from which the clients ask, in turns; none for the usual one."""

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @staticmethod
    def read(path: Path) -> "Job":
        found = json.loads(path.read_text(encoding="utf-8"))
        return Job(**{**found, "asks": [Ask(**ask) for ask in found["asks"]]})


@dataclass(frozen=True)
class Answer:
    """What came of a request."""

    ask: int
    """Its place among those of the job."""
    seconds: float
    mistake: str | None
    """What was wrong with it."""


class Load:
    """Runs a job."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.answers: list[Answer] = []
        self._numbers: Iterator[int] = itertools.count()
        self._ready = threading.Barrier(job.clients + 1)

    def run(self) -> float:
        """The seconds that all took, once all clients are connected."""
        clients = [threading.Thread(target=self._client, args=(number,)) for number in range(self.job.clients)]
        for client in clients:
            client.start()
        self._ready.wait()
        began = time.perf_counter()
        for client in clients:
            client.join()
        return time.perf_counter() - began

    def _client(self, number: int) -> None:
        sources = self.job.sources
        own = (sources[number % len(sources)], 0) if sources else None
        connection = http.client.HTTPConnection("127.0.0.1", self.job.port, TIMEOUT, own)
        connection.connect()
        until = time.perf_counter() + self.job.seconds
        self._ready.wait()
        while (number := next(self._numbers)) < self.job.requests and time.perf_counter() < until:
            if number in self.job.reload_at:
                os.kill(self.job.process, signal.SIGHUP)
            place = number % len(self.job.asks)
            began = time.perf_counter()
            mistake = _ask(connection, self.job.asks[place])
            self.answers.append(Answer(place, time.perf_counter() - began, mistake))
        connection.close()


def _ask(connection: http.client.HTTPConnection, ask: Ask) -> str | None:
    """What was wrong with the answer."""
    try:
        connection.request("POST", "/translate", ask.body.encode(), {"Content-Type": "application/json"})
        if ask.leave_after is not None:
            time.sleep(ask.leave_after)
            connection.close()
            return None
        response = connection.getresponse()
        text = response.read()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        return f"no answer: {error!r}"
    if response.status != ask.status:
        return f"status {response.status} instead of {ask.status}: {text[:200]!r}"
    found = json.loads(text).get("translatedText")
    if ask.expected is not None and found != ask.expected:
        return f"{found!r} instead of {ask.expected!r}"
    return None


def main() -> None:
    load = Load(Job.read(Path(sys.argv[1])))
    seconds = load.run()
    print(json.dumps({"seconds": seconds, "answers": [asdict(answer) for answer in load.answers]}))


if __name__ == "__main__":
    main()
