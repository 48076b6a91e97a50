"""Connections end where clients take too long or send too much, and those of others stay as they are."""

import json
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import requests
from running_server import Running, wait_until

from transduce.apps.serving.running import LEAST_CONNECTIONS

pytestmark = pytest.mark.slow

HEAD = b"POST /translate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


@pytest.fixture(scope="module")
def hasty(tiny_run: Path) -> Iterator[Running]:
    running = Running(
        tiny_run,
        header_timeout=0.5,
        body_timeout=0.5,
        idle_timeout=0.5,
        max_header_bytes=4096,
        max_connections=20,
        max_upload_bytes=200_000,
        max_characters=1000,
    )
    yield running
    running.end()


def read_all(connection: socket.socket) -> bytes:
    """What comes until the server closes."""
    received = b""
    try:
        while piece := connection.recv(65536):
            received += piece
    except ConnectionResetError:
        pass
    return received


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


def begin(connection: socket.socket) -> None:
    """Send a request that the server begins to read, and whose body does not come."""
    connection.sendall(HEAD + b"Expect: 100-continue\r\nContent-Length: 900\r\n\r\n")
    assert status_of(connection.recv(65536)) == 100


def is_well(running: Running, source: str = "127.0.0.9") -> bool:
    with running.connect(source, 5) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        return status_of(read_all(connection)) == 200


def test_a_head_that_comes_slowly_is_refused(hasty: Running) -> None:
    with hasty.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n")
        began = time.monotonic()
        connection.settimeout(0.1)
        received = b""
        while time.monotonic() - began < 10 and not received.endswith(b"}"):
            try:
                connection.sendall(b"X")  # each moment a little
                received += connection.recv(65536)
            except TimeoutError:
                continue
            except OSError:
                break
    assert status_of(received) == 408


def test_a_connection_without_a_request_is_closed(hasty: Running) -> None:
    with hasty.connect() as connection:
        assert read_all(connection) == b""
    with hasty.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert status_of(read_all(connection)) == 200  # and then nothing, until the server closes


def test_a_body_that_comes_slowly_is_refused(hasty: Running) -> None:
    for head in (b"Content-Length: 900\r\n\r\n{", b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n"):
        with hasty.connect() as connection:
            connection.sendall(HEAD + head)
            assert status_of(read_all(connection)) == 408
    hasty.wait_until_idle()


def test_a_body_at_a_fair_rate_may_take_longer(hasty: Running) -> None:
    body = json.dumps({"q": "A dog.", "source": "en", "target": "de"}).encode()
    padding = b" " * 60_000
    head = b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (len(body) + len(padding))
    with hasty.connect() as connection:
        connection.sendall(HEAD + head + padding)
        time.sleep(1)  # twice the time for a body, but two seconds' worth has come
        connection.sendall(body)
        assert status_of(read_all(connection)) == 200


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 5000 + b"\r\n\r\n", 431),
        (b"GET /health HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 1000 + b"\r\n", 431),
        (b"GET /health HTTP/1.1\r\n" + b"a" * 100_000, 431),  # a header without an end
        (b"GET /" + b"a" * 25_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET /" + b"a" * 100_000, 414),
        (b"NONSENSE\r\n\r\n", 400),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX: " + b"a" * 900_000, 408),  # a trailer
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\n2;" + b"a" * 500_000 + b"\r\n{}\r\n0\r\n\r\n", 400),
        (HEAD + b"Content-Length: 90000000\r\n\r\n", 413),
    ],
    ids=["header", "headers", "no-end", "address", "address-no-end", "no-http", "trailer", "chunk-extension", "body"],
)
def test_what_is_too_large_is_refused(hasty: Running, request_: bytes, status: int) -> None:
    with hasty.connect() as connection:
        with suppress(OSError):  # the server may have answered and closed already
            connection.sendall(request_)
        answer = read_all(connection)
    assert not answer or status_of(answer) == status  # what goes on for long is cut off
    assert is_well(hasty)


def test_a_long_text_in_the_query_is_taken(hasty: Running) -> None:
    text = "😀" * 900  # twelve bytes each
    answer = requests.post(f"{hasty.url}/translate", params={"q": text, "source": "en", "target": "de"}, timeout=60)
    assert answer.status_code == 200


def test_many_requests_on_one_connection_are_answered_in_order_or_refused(hasty: Running) -> None:
    one = b"GET /languages HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with hasty.connect() as connection:
        connection.sendall(one * 8)
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 8
    with hasty.connect() as connection:
        connection.sendall(one * 2000)
        assert read_all(connection).count(b"HTTP/1.1 200 OK") == 2000
    assert is_well(hasty)


def test_connections_of_one_client_give_way_to_its_own_and_to_those_of_others(hasty: Running) -> None:
    with ExitStack() as many:
        for _ in range(60):
            many.enter_context(hasty.connect("127.0.0.2"))
        assert is_well(hasty, "127.0.0.2")
        assert is_well(hasty, "127.0.0.3")
    with ExitStack() as many:  # with a request each, of which none is complete
        for _ in range(60):
            connection = many.enter_context(hasty.connect("127.0.0.2"))
            with suppress(OSError):  # it may be refused already
                connection.sendall(HEAD + b"Content-Length: 900\r\n\r\n{")
        assert is_well(hasty, "127.0.0.3")

    def is_refused() -> bool:
        hasty.wait_until_idle()
        with ExitStack() as held:
            for _ in range(10):
                begin(held.enter_context(hasty.connect("127.0.0.2")))
            return b" 429 " in read_all(held.enter_context(hasty.connect("127.0.0.2")))

    wait_until(is_refused)  # unless it takes so long that a body is late


def test_an_answer_that_nobody_reads_is_dropped(hasty: Running) -> None:
    key = hasty.server.files.keep(bytes(20_000_000), "a.txt", "a client")
    with hasty.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(b"GET /download_file/%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % key.encode())
        wait_until(lambda: 'path="/download_file/{key}",status="200"' in metrics(hasty))
        wait_until(lambda: "transduce_connections 1.0" in metrics(hasty))  # that which asks
    assert len(requests.get(f"{hasty.url}/download_file/{key}", timeout=60).content) == 20_000_000


def metrics(running: Running) -> str:
    return requests.get(f"{running.url}/metrics", headers={"Connection": "close"}, timeout=60).text


COUNTED = "from transduce.__main__ import start; start()"
UNCOUNTED = (
    f"from transduce.apps.serving import running; running.most_connections = lambda wanted, others: wanted; {COUNTED}"
)


def start(
    run: Path, *options: str, files: int | None = None, program: str = COUNTED
) -> tuple["subprocess.Popen[str]", int]:
    """A server in a process of its own, and its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def limit() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    command = [sys.executable, "-c", program, "serve", str(run), "--port", str(port), *options]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    assert server.stderr is not None
    before = []
    for line in server.stderr:
        before.append(line)
        if "running on" in line:
            return server, port
    raise AssertionError("".join(before))


@pytest.mark.parametrize("program", [COUNTED, UNCOUNTED], ids=["counted", "uncounted"])
def test_without_file_descriptors_clients_are_refused_in_one_line(tiny_run: Path, program: str) -> None:
    options = "--max-connections", "5000", "--header-timeout", "60", "--body-timeout", "60"
    server, port = start(tiny_run, *options, files=100, program=program)
    try:
        with ExitStack() as many:

            def connect() -> socket.socket:
                return many.enter_context(socket.create_connection(("127.0.0.1", port), 30))

            for _ in range(LEAST_CONNECTIONS // 2):  # all that one client may have, so that no later one stays
                begin(connect())
            held = [connect() for _ in range(300)]
            for connection in held:
                with suppress(OSError):  # it may be refused already
                    connection.sendall(HEAD + b"Content-Length: 900\r\n\r\n{")
            answers = [read_all(one) for one in held[-20:]]
            statuses = {status_of(answer) for answer in answers if answer}  # what is sent to a closed end resets it
            assert statuses and statuses <= {429, 503} and (503 in statuses or program == COUNTED)
        deadline = time.monotonic() + 60  # until it has seen that they are gone
        while requests.get(f"http://127.0.0.1:{port}/health", timeout=60).status_code != 200:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        server.send_signal(signal.SIGTERM)
        _, log = server.communicate(timeout=60)
    assert server.returncode == 0
    told = [line for line in log.splitlines() if "file descriptors" in line or "too many open files" in line.lower()]
    assert 1 <= len(told) < 5 and not any("traceback" in line.lower() for line in told)
    assert log.count("Traceback") <= 1  # of the fork server, where it is ended while it starts a process


def test_sigterm_ends_the_server_within_the_grace_whatever_is_open(tiny_run: Path, sentences: list[str]) -> None:
    server, port = start(tiny_run, "--grace", "3", "--header-timeout", "60", "--max-characters", "1000000")
    try:
        with ExitStack() as many:

            def connect() -> socket.socket:
                return many.enter_context(socket.create_connection(("127.0.0.1", port), 60))

            connect()
            connect().sendall(b"GET /health HTTP/1.1\r\nHost: ")
            connect().sendall(HEAD + b"Content-Length: 900\r\n\r\n{")
            body = {"text": sentences * 41, "source": "en", "target": "de", "n_best": 16, "beam_size": 16}
            for stream in (True, False):
                data = json.dumps({**body, "stream": stream, "alignment": True}).encode()
                head = HEAD.replace(b"/translate", b"/v1/translate") + b"Content-Length: %d\r\n\r\n" % len(data)
                connection = connect()
                connection.sendall(head + data)
            connection.recv(0)
            time.sleep(0.5)
            began = time.monotonic()
            server.send_signal(signal.SIGTERM)
            _, log = server.communicate(timeout=60)
            assert time.monotonic() - began < 10  # three, and what a busy machine takes
    finally:
        server.kill()
    assert server.returncode == 0 and "Traceback" not in log, log
