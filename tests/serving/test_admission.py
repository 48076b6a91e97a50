"""Who is let in: keys before bodies, names of the server, proxies, and what mistakes cost."""

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
import torch
from running_server import Running, Serve

from transduce.apps.serving import clients
from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.middleware import Hosts
from transduce.apps.serving.server_settings import ServerSettings
from transduce.base.errors import InputError

pytestmark = pytest.mark.slow

BODY = {"q": "A dog.", "source": "en", "target": "de"}


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    return Keys(tmp_path / "keys.sqlite")


@pytest.fixture(scope="module")
def open_server(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run, requests_per_minute=5)
    yield running
    running.end()


@pytest.fixture
def guarded(tiny_run: Path, keys: Keys) -> Iterator[tuple[Running, str]]:
    """A server with keys, and one of them."""
    key = keys.add("anna")
    running = Running(tiny_run, keys=str(keys.path))
    yield running, key
    running.end()


def head_of(path: str, size: int, *lines: str) -> bytes:
    kind = "multipart/form-data; boundary=b" if path.endswith("file") else "application/json"
    head = ["POST " + path + " HTTP/1.1", "Host: localhost", f"Content-Type: {kind}", f"Content-Length: {size}", *lines]
    return "\r\n".join([*head, "", ""]).encode()


@pytest.mark.parametrize(
    ("path", "size", "lines"),
    [
        ("/v1/translate", 500, []),
        ("/translate_file", 5_000_000, []),
        ("/v1/translate_file", 5_000_000, []),
        ("/translate_file?api_key=wrong", 500, []),
        ("/translate", 500, ["Authorization: Bearer wrong"]),
        ("/v1/translate", 500, ["Authorization: Bearer " + "a" * 5000]),
    ],
)
def test_a_key_is_checked_before_a_body_is_read(
    guarded: tuple[Running, str], path: str, size: int, lines: list[str]
) -> None:
    with guarded[0].connect() as connection:
        connection.sendall(head_of(path, size, *lines))  # and nothing of the body
        assert connection.recv(65536).startswith(b"HTTP/1.1 403")


def test_an_upload_is_read_no_further_than_its_key_must_come(guarded: tuple[Running, str]) -> None:
    running, key = guarded
    file = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    with running.connect() as connection:
        connection.sendall(head_of("/translate_file", 0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked"))
        connection.sendall(b"%x\r\n%s\r\n" % (len(file), file))
        sent = 0
        try:
            while sent < 5_000_000:
                connection.sendall(b"10000\r\n" + b"a" * 65536 + b"\r\n")
                sent += 65536
        except OSError:
            pass
        assert connection.recv(65536).startswith(b"HTTP/1.1 403")
    form = {"source": "en", "target": "de"}
    for fields, status in (({"api_key": key}, 200), ({"api_key": "wrong"}, 403), ({}, 403)):
        upload = {"file": ("a.txt", b"A dog.")}
        answer = requests.post(f"{running.url}/translate_file", data=form | fields, files=upload, timeout=60)
        assert answer.status_code == status
    upload = {"file": ("a.txt", b"A dog.\n" + b"\n" * 400_000)}
    for asked in ({"headers": {"Authorization": f"Bearer {key}"}}, {"params": {"api_key": key}}):
        answer = requests.post(f"{running.url}/translate_file", data=form, files=upload, timeout=60, **asked)
        assert answer.status_code == 200, answer.text


def test_an_unreadable_file_of_keys_is_reported_without_a_secret(
    guarded: tuple[Running, str], keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, key = guarded
    monkeypatch.setattr(clients, "PAUSE", 0.0)
    monkeypatch.setattr("transduce.apps.serving.client_keys.READ_SECONDS", 0.1)

    def post(given: str) -> requests.Response:
        return running.post("/translate", {**BODY, "api_key": given})

    assert post(key).status_code == 200
    with sqlite3.connect(keys.path, isolation_level=None) as other:
        other.execute("begin exclusive")
        assert post(key).status_code == 200  # known, and the file has not changed
        locked = post("td_other")
        assert locked.status_code == 503 and int(locked.headers["retry-after"]) >= 1
        assert requests.get(f"{running.url}/health", timeout=60).status_code == 200
        other.execute("rollback")
    other.close()
    assert post("td_other").status_code == 403
    whole = keys.path.read_bytes()
    for damaged in (b"no database at all" * 100, whole[:100] + bytes(len(whole) - 100), b""):
        keys.path.write_bytes(damaged)
        answer = post("td_another")
        assert answer.status_code == 503, answer.text
        assert str(keys.path) not in answer.text and keys.path.name not in answer.text
    keys.path.unlink()
    assert post(key).status_code == 503
    keys.path.write_bytes(whole)
    assert post(key).status_code == 200


def test_keys_are_looked_up_once_while_their_file_stays_as_it_is(
    guarded: tuple[Running, str], keys: Keys, monkeypatch: pytest.MonkeyPatch
) -> None:
    running, key = guarded
    looked_up = []
    find = Keys.find
    monkeypatch.setattr(Keys, "find", lambda own, given: (looked_up.append(given), find(own, given))[1])
    for _ in range(5):
        assert running.post("/translate", {**BODY, "api_key": key}).status_code == 200
    assert len(looked_up) == 1
    keys.revoke("anna")
    assert running.post("/translate", {**BODY, "api_key": key}).status_code == 403


@pytest.mark.parametrize(
    ("settings", "taken", "refused"),
    [
        ({}, ["localhost", "127.0.0.1:5000", "[::1]:5000", "LOCALHOST.", "127.0.0.9"], ["evil.example", "evil", ""]),
        ({"host": "127.0.0.1"}, ["localhost:80"], ["localhost.evil.example", "127.0.0.1.evil.example", "[::1", "a:b"]),
        ({"host": "0.0.0.0"}, ["anything.example", "192.0.2.1:5000"], []),
        (
            {"host": "0.0.0.0", "allowed_hosts": ("translate.example.org", "*.example.net")},
            ["translate.example.org:443", "a.b.example.net", "127.0.0.1"],
            ["example.org", "example.net", "evilexample.net", "192.0.2.1"],
        ),
        ({"allowed_hosts": ("*",)}, ["anything.example"], []),
    ],
)
def test_a_server_goes_by_its_own_names(settings: dict[str, Any], taken: list[str], refused: list[str]) -> None:
    hosts = Hosts(ServerSettings(**settings))
    assert [name for name in taken if not hosts.takes(name)] == []
    assert [name for name in refused if hosts.takes(name)] == []


def test_other_names_are_refused_for_all_that_is_served(open_server: Running) -> None:
    for path in ("/", "/health", "/languages", "/metrics", "/download_file/a", "/openapi.json"):
        answer = requests.get(open_server.url + path, headers={"Host": "evil.example"}, timeout=60)
        assert answer.status_code == 421 and answer.json()["error"]
    assert open_server.post_from("127.0.0.2", "/translate", BODY, Host="evil.example")[0] == 421
    with open_server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 421")
    with open_server.connect() as connection:
        connection.sendall(b"GET /health HTTP/1.0\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200")


def test_only_json_and_forms_are_read(open_server: Running) -> None:
    data = json.dumps(BODY)
    for kind in ("text/plain", "", "application/octet-stream", "text/json"):
        for path in ("/translate", "/v1/translate", "/detect"):
            answer = requests.post(open_server.url + path, data=data, headers={"Content-Type": kind}, timeout=60)
            assert answer.status_code in (415, 429)
    for n, kind in enumerate(("application/json", "APPLICATION/JSON; charset=utf-8", "application/ld+json")):
        client = f"127.0.0.{20 + n}"
        assert open_server.post_from(client, "/translate", BODY, **{"Content-Type": kind})[0] == 200


def test_mistakes_count_like_other_requests(open_server: Running) -> None:
    mistakes = [({"q": 3}, 400), ({**BODY, "target": "xx"}, 400), ({**BODY, "q": "a" * 20_000}, 413), ([], 400)]
    for body, status in mistakes:
        assert open_server.post_from("127.0.0.5", "/translate", body)[0] == status
    with open_server.connect("127.0.0.5") as connection:
        connection.sendall(b"NONSENSE\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 400")
    assert open_server.post_from("127.0.0.5", "/translate", BODY)[0] == 429
    assert open_server.post_from("127.0.0.6", "/translate", BODY)[0] == 200
    with open_server.connect("127.0.0.5") as connection:  # before the body
        connection.sendall(head_of("/translate", 500))
        assert connection.recv(65536).startswith(b"HTTP/1.1 429")


def test_nobody_is_believed_to_ask_for_another_but_a_trusted_proxy(
    serve: Serve, tiny_run: Path, open_server: Running
) -> None:
    for n in range(8):
        status, *_ = open_server.post_from("127.0.0.7", "/translate", BODY, **{"X-Forwarded-For": f"192.0.2.{n}"})
        assert status == (200 if n < 5 else 429)
    running = serve(tiny_run, requests_per_minute=2, trusted_proxies=("127.0.0.2", "10.0.0.0/8"))

    def ask(source: str, forwarded: str) -> int:
        return running.post_from(source, "/translate", BODY, **{"X-Forwarded-For": forwarded})[0]

    assert [ask("127.0.0.2", f"192.0.2.{n}") for n in range(4)] == [200] * 4
    assert [ask("127.0.0.2", f"203.0.113.{n}, 192.0.2.9, 10.1.2.3") for n in range(4)] == [200, 200, 429, 429]
    assert [ask("127.0.0.2", f"2001:db8:0:1::{n}") for n in range(4)] == [200, 200, 429, 429]
    assert [ask("127.0.0.3", f"192.0.2.1{n}") for n in range(4)] == [200, 200, 429, 429]
    with pytest.raises(InputError, match="nowhere"):
        ServerSettings(trusted_proxies=("nowhere",))


def test_metrics_are_for_this_machine_or_administrators(
    tiny_run: Path, open_server: Running, guarded: tuple[Running, str], keys: Keys
) -> None:
    def status(running: Running, **headers: str) -> int:
        return requests.get(f"{running.url}/metrics", headers=headers, timeout=60).status_code

    assert status(open_server) == 200
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP"):
        assert status(open_server, **{name: "192.0.2.1"}) == 403
    running, key = guarded
    admin = keys.add("root", is_admin=True)
    assert status(running) == status(running, Authorization=f"Bearer {key}") == 403
    assert status(running, Authorization=f"Bearer {admin}") == 200
    proxied = Running(tiny_run, trusted_proxies=("127.0.0.1",), public_metrics=False)
    try:
        assert status(proxied) == 200
        assert status(proxied, **{"X-Forwarded-For": "192.0.2.1"}) == 403
    finally:
        proxied.end()


def test_health_names_models_and_version(open_server: Running) -> None:
    told = requests.get(f"{open_server.url}/health", timeout=60).json()
    assert told["status"] == "ok" and told["version"]
    engine = f"PyTorch {torch.__version__}"
    assert told["models"] == [{"name": "tiny", "source": "en", "target": "de", "engine": engine, "restarts": 0}]


def test_no_room_for_temporary_files_is_reported_in_one_line(tiny_run: Path, tmp_path: Path) -> None:
    program = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)); from transduce.__main__ import start; start()"
    )
    command = [sys.executable, "-c", program, "serve", str(tiny_run)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1 and "temporary files" in done.stderr and "TMPDIR" in done.stderr
