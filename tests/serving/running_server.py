"""A server of a model in a thread of the tests' own process."""

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import requests

from transduce.inference.translator import Translator
from transduce.serving.metrics import Metrics
from transduce.serving.models import Models
from transduce.serving.running import uvicorn_of
from transduce.serving.server import Server
from transduce.serving.settings import ServerSettings


class Running:
    def __init__(self, run: Path, **settings: Any) -> None:
        metrics = Metrics()
        self.server = Server(Models([str(run)], Translator.load, metrics), ServerSettings(port=0, **settings), metrics)
        self._uvicorn = uvicorn_of(self.server)
        self._thread = threading.Thread(target=self._uvicorn.run)
        self._thread.start()
        while not self._uvicorn.started:
            self._thread.join(0.01)
        self.url = f"http://127.0.0.1:{self._uvicorn.servers[0].sockets[0].getsockname()[1]}"

    def post(self, path: str, body: Any = None, **others: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=60, **others)

    def wait_until_idle(self) -> None:
        """Wait until no request is in progress, which an answer may precede by a moment."""
        wait_until(lambda: self.server.running == 0)

    def end(self) -> None:
        self._uvicorn.should_exit = True
        self._thread.join()


def wait_until(happened: Callable[[], bool]) -> None:
    """Wait for what comes soon; AssertionError where it does not within some seconds."""
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.01)
    raise AssertionError("This did not happen in time")
