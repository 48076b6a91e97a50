"""Runs a server until a signal ends it."""

import json
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from transduce.apps.projects.project import MOST as MOST_PROJECTS
from transduce.apps.serving.app import build_app
from transduce.apps.serving.connections import Connections
from transduce.apps.serving.listening import listening_socket
from transduce.apps.serving.server import Server
from transduce.base.errors import InputError, TransduceError

END_SECONDS = 2.0
"""Seconds of the grace in which unfinished requests are given up and the rest ends."""
OTHER_FILES = 200
"""The number of file descriptors that are not connections: libraries, models, processes of documents."""
FILES_OF_PROJECT = 3
"""The number of files that SQLite keeps open for a project."""
LEAST_CONNECTIONS = 8
THREAD_SECONDS = 0.1
"""The seconds that a thread has to end with the server."""
log = logging.getLogger("transduce.serving")


class _Uvicorn(uvicorn.Server):
    """Ends on Ctrl-C or SIGTERM, after the requests in progress; reloads the models on SIGHUP."""

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
        }
        if hasattr(signal, "SIGHUP"):  # Windows has none
            handlers[signal.SIGHUP] = lambda *_: threading.Thread(target=self._reload, daemon=True).start()
        before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """See uvicorn; on a socket of our own."""
        try:
            listening = listening_socket(self.config.host, self.config.port)
        except OSError as error:
            log.error("cannot listen: %s", error)
            sys.exit(1)
        await super().startup([listening])
        self._log_started_message([listening])
        tell_systemd("READY=1")

    async def on_tick(self, counter: int) -> bool:
        """See uvicorn; ten times a second."""
        if counter % 10 == 0 and not self._transduce.is_stuck:
            tell_systemd("WATCHDOG=1")
        return await super().on_tick(counter)

    def _end(self, *_: object) -> None:
        if not self.should_exit:
            tell_systemd("STOPPING=1")
            end_at_the_latest(self._transduce.settings.grace)
        self.force_exit = self.should_exit
        self.should_exit = True

    def _reload(self) -> None:
        try:
            self._transduce.models.reload()
            log.info("reloaded")
        except TransduceError as error:
            log.error("not reloaded: %s", error)


def tell_systemd(state: str) -> None:
    """Reports the server's state to the service manager, if it was started by one that listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.sendto(state.encode(), "\0" + address[1:] if address.startswith("@") else address)


def end_at_the_latest(seconds: float) -> None:
    """Ends the process after this many seconds, even with requests in progress."""

    def end() -> None:
        log.error("ended with work undone, %g seconds after the server was told to end", seconds)
        os._exit(0)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def uvicorn_of(server: Server) -> uvicorn.Server:
    """Returns the uvicorn server that runs a server; its `run` returns when it has ended."""
    settings = server.settings
    others = OTHER_FILES + (0 if server.projects is None else FILES_OF_PROJECT * MOST_PROJECTS)
    connections = Connections(settings, most_connections(settings.max_connections, others))
    connections.on_refused = server.refused
    server.metrics.watch("transduce_connections", "Open connections", lambda: connections.open.total)
    app = connections.limited(ProxyHeadersMiddleware(build_app(server), list(settings.trusted_proxies)))  # type: ignore[arg-type]
    config = uvicorn.Config(
        app,
        settings.host,
        settings.port,
        loop="asyncio",  # whose way of accepting connections `ListeningSocket` knows
        http=connections.protocol,  # type: ignore[arg-type]
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,  # the address of a connection is known until its limits are passed
        timeout_keep_alive=settings.idle_timeout,
        timeout_graceful_shutdown=max(settings.grace - END_SECONDS, settings.grace / 2),  # type: ignore[arg-type]
    )
    return _Uvicorn(config, server)


def most_connections(wanted: int, others: int = OTHER_FILES) -> int:
    """Returns the number of connections that may be open beside other files, limited by the file descriptors.

    Raises the process's soft limit of file descriptors as far as needed and allowed.
    """
    try:
        import resource
    except ImportError:  # Windows
        return wanted
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + others
    if soft != resource.RLIM_INFINITY and soft < needed:
        with suppress(OSError, ValueError):  # then the limit stays
            resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, hard) if hard >= 0 else needed, hard))
        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= needed:
        return wanted
    possible = max(LEAST_CONNECTIONS, soft - others)
    log.warning("at most %d connections, since there are only %d file descriptors; see `ulimit -n`", possible, soft)
    return min(wanted, possible)


def check_free(host: str, port: int) -> None:
    """Raises InputError, with the reason, for an address at which no server can listen now."""
    try:
        listening_socket(host, port).close()
    except OSError as error:
        raise InputError(f"cannot listen on {host}, port {port}: {str(error.strerror).lower()}") from None


def run_server(server: Server) -> None:
    """Serves until SIGTERM or Ctrl-C; logs go to standard error as JSON lines. InputError if it cannot listen.

    The process ends with the server, even if threads are still working.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    for name in ("transduce.serving", "transduce.projects", "uvicorn"):
        logging.getLogger(name).handlers = [handler]
        logging.getLogger(name).setLevel(logging.INFO)
    try:
        uvicorn_of(server).run()
    except SystemExit:
        raise InputError(
            f"cannot listen on {server.settings.host}, port {server.settings.port}; the log says why"
        ) from None
    end_with_threads()


def end_with_threads() -> None:
    """Ends the process at once if threads are at work: native code aborts when the interpreter ends around it."""
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("transduce-")]
    for thread in ours:
        thread.join(THREAD_SECONDS)
    if any(thread.is_alive() for thread in ours):
        logging.shutdown()
        os._exit(0)


class JsonLines(logging.Formatter):
    """Formats each line of a log as a JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        """See logging."""
        facts: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            facts["traceback"] = self.formatException(record.exc_info)
        return json.dumps(facts)
