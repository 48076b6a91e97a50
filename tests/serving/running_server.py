"""A server of a model in a thread of the tests' own process."""

import json
import socket
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import requests

from transduce.apps.projects.project import Projects
from transduce.apps.serving.models import Models
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.running import uvicorn_of
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import ServerSettings
from transduce.inference.translator import Translator

Serve = Callable[..., "Running"]
"""Starts a server; see the fixture `serve`."""


class Running:
    def __init__(self, *runs: Path, projects: Projects | None = None, **settings: Any) -> None:
        metrics, folders = Metrics(), [str(run) for run in runs]
        models = Models(folders, Translator.load, metrics)
        self.server = Server(models, ServerSettings(port=0, **settings), metrics, projects)
        self._uvicorn = uvicorn_of(self.server)
        self._thread = threading.Thread(target=self._uvicorn.run)
        self._thread.start()
        while not self._uvicorn.started:
            self._thread.join(0.01)
        self.port = self._uvicorn.servers[0].sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def post(self, path: str, body: Any = None, **others: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=60, **others)

    def connect(self, source: str = "127.0.0.1", timeout: float = 60) -> socket.socket:
        """A connection from an address of this machine: 127.0.0.2 and so on are other clients."""
        return socket.create_connection(("127.0.0.1", self.port), timeout, (source, 0))

    def post_from(self, source: str, path: str, body: Any, **headers: str) -> tuple[int, dict[str, str], Any]:
        """The status, headers and JSON of an answer to a client with an address of its own."""
        client = HTTPConnection("127.0.0.1", self.port, 60, (source, 0))
        try:
            client.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
            answer = client.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, json.load(answer)
        finally:
            client.close()

    def wait_until_idle(self) -> None:
        """Wait until no request is in progress, which an answer may precede by a moment."""
        wait_until(lambda: self.server.admission.requests.total == 0)

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
