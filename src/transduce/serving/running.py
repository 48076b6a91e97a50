"""Runs a server until it is told to end."""

import logging
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from transduce.errors import InputError, TransduceError
from transduce.serving.app import JsonLines, build_app, log
from transduce.serving.server import Server


class _Uvicorn(uvicorn.Server):
    """Ends when Ctrl-C or SIGTERM asks for it, after what has begun; loads the models anew at SIGHUP."""

    def __init__(self, config: uvicorn.Config, server: Server) -> None:
        super().__init__(config)
        self._transduce = server

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """See uvicorn."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        handlers = {
            signal.SIGINT: self._end,
            signal.SIGTERM: self._end,
            signal.SIGHUP: lambda *_: threading.Thread(target=self._reload, daemon=True).start(),
        }
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end(self, *_: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True

    def _reload(self) -> None:
        try:
            self._transduce.models.reload()
            log.info("reloaded")
        except TransduceError as error:
            log.error("not reloaded: %s", error)


def uvicorn_of(server: Server) -> uvicorn.Server:
    """What runs the server; its `run` returns when it has ended."""
    settings = server.settings
    config = uvicorn.Config(
        build_app(server),
        settings.host,
        settings.port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=int(10 * settings.timeout),
    )
    return _Uvicorn(config, server)


def check_free(host: str, port: int) -> None:
    """InputError, with the reason, for an address at which no server can listen now."""
    try:
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tried.bind((host, port))
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port}: {str(error.strerror).lower()}") from None


def run_server(server: Server) -> None:
    """Serve until SIGTERM or Ctrl-C; logs go to standard error as JSON lines. InputError where it cannot listen."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("transduce.serving", "uvicorn"):
        logging.getLogger(name).handlers = [handler]
        logging.getLogger(name).setLevel(logging.INFO)
    try:
        uvicorn_of(server).run()
    except SystemExit:
        raise InputError(
            f"cannot listen on {server.settings.host}, port {server.settings.port}; the log tells why"
        ) from None
