"""What no client may: use the server from another site's page, read its paths, or keep its memory with answers."""

import asyncio
import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from transduce.apps.projects.project import Projects
from transduce.apps.serving.app import build_app
from transduce.apps.serving.keystrokes import Keystrokes
from transduce.apps.serving.middleware import PIECE, Watch, answer_error
from transduce.apps.serving.models import Models
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.refusals import Paths
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import ServerSettings
from transduce.apps.serving.v1 import Asked, _search
from transduce.base.errors import DataError
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


@pytest.fixture(scope="module")
def friendly(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """An application that the pages of one other site may use."""
    return build_app(make_server(tmp_path_factory.mktemp("friendly"), cors=("https://friend.example",)))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    yield make_server(tmp_path)


def make_server(folder: Path, **settings: Any) -> Server:
    """A server without models."""
    metrics, projects = Metrics(), Projects(folder / "my projects")
    chosen = ServerSettings(glossaries=str(folder / "my glossaries.sqlite"), **settings)
    return Server(Models([], Translator.load, metrics), chosen, metrics, projects)


def ask(app: Any, method: str, path: str, body: bytes = b"", **headers: str) -> tuple[int, str]:
    """The status and the text of an answer."""
    named = {"host": "localhost:5000", "content-length": str(len(body))}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    where, _, query = path.partition("?")
    scope = {
        **{"type": "http", "http_version": "1.1", "method": method, "path": where, "raw_path": where.encode()},
        **{"query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("localhost", 5000), "scheme": "http"},
        **{"headers": [(name.encode(), value.encode()) for name, value in named.items()], "root_path": ""},
    }
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(app(scope, receive, send))
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent).decode()


FORM = b"q=A+dog.&source=en&target=de"
KIND = "application/x-www-form-urlencoded"
REFUSED = "Pages of other sites"


@pytest.mark.parametrize(
    ("headers", "is_refused"),
    [
        ({"origin": "https://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"origin": "http://localhost:8000"}, True),  # another server of this machine
        ({"sec_fetch_site": "cross-site"}, True),
        ({"sec_fetch_site": "cross-site", "origin": "https://evil.example"}, True),
        ({"sec_fetch_site": "same-site", "origin": "http://localhost:8000"}, True),
        ({"origin": "http://localhost:5000"}, False),
        ({"sec_fetch_site": "same-origin", "origin": "https://front.example"}, False),  # behind a proxy
        ({"origin": "chrome-extension://abcdef"}, False),
        ({"origin": "https://friend.example", "sec_fetch_site": "cross-site"}, False),  # cors
        ({}, False),
    ],
)
def test_a_page_of_another_site_changes_and_costs_nothing(
    friendly: Any, headers: dict[str, str], is_refused: bool
) -> None:
    for method, path in (
        ("POST", "/translate"),
        ("POST", "/v2/glossaries"),
        ("GET", "/v2/translate?text=a&target_lang=DE"),
        ("PUT", "/v1/projects/shop/glossary"),
        ("DELETE", "/v1/projects/shop/segments/1"),
        ("POST", "/v1/admin/reload"),
    ):
        _, text = ask(friendly, method, path, FORM, content_type=KIND, **headers)
        assert (REFUSED in text) == is_refused, (method, path, text)
    assert ask(friendly, "GET", "/languages", **headers)[0] == 200  # which costs nothing


def test_a_path_of_the_server_is_told_as_a_name(tmp_path: Path) -> None:
    given = tmp_path / "my models"
    paths = Paths([given, "models/de-en"])
    for told, hidden in (
        (f"{given}/alignment.json is damaged; copy it", "alignment.json is damaged; copy it"),
        (f"{given} and models/de-en: bad", "my models and de-en: bad"),
        ("models/de-en/x.toml: line 3", "x.toml: line 3"),
        ("'/usr/lib/python3/x.py', /etc/passwd", "'x.py', passwd"),
        (f"{Path.home()}/.cache/x", "x"),
        ("see /v3/glossaries; GET /languages, https://example.org/usr/x", None),
        ("1/2 of text.de, c:/d and mymodels/de-en/x", None),
    ):
        assert paths.hide(told) == (told if hidden is None else hidden)


def test_no_answer_to_an_error_names_a_path(tmp_path: Path, server: Server) -> None:
    assert server.projects is not None
    project = server.projects.create("shop", "en", "de")
    app = build_app(server)
    (project.folder / "project.toml").unlink()
    server.projects._open.clear()
    Path(str(server.settings.glossaries)).unlink()
    Path(str(server.settings.glossaries)).mkdir()
    answers = [
        ask(app, "GET", "/v1/projects/shop"),
        ask(app, "GET", "/v2/glossaries"),
        ask(app, "POST", "/v2/glossaries", b"{}", content_type="application/json"),
        ask(app, "PUT", "/v1/projects/a.", b'{"source":"en","target":"de"}', content_type="application/json"),
    ]
    for error in (DataError(f"{tmp_path}/x: bad"), OSError(errno.ENOSPC, "no space", f"{tmp_path}/y"), OSError("z")):
        answers.append((0, bytes(answer_error(server, error, "/").body).decode()))
    assert all(status >= 400 or not status for status, _ in answers)
    texts = [text for _, text in answers]
    assert not [text for text in texts if str(tmp_path) in text]
    assert "my glossaries.sqlite is no file" in texts[1] and "x: bad" in texts[4]


def test_paths_are_sought_in_the_beginning_of_an_error_alone(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[int] = []

    def hide(message: str) -> str:
        sought.append(len(message))
        return message

    monkeypatch.setattr(server.paths, "hide", hide)
    assert len(server.told(DataError("/a" * 10**6))) == sought[0] == 1000


def test_the_health_of_a_server_names_no_path(tiny_run: Path, tmp_path: Path) -> None:
    models = Models([str(tiny_run)], Translator.load, Metrics())
    server = Server(models, ServerSettings(), Metrics())
    for model in models.all:
        model.engine = f"CTranslate2 4.8.5 ({tiny_run}/model/.ctranslate2/0123)"
    status, text = ask(build_app(server), "GET", "/health")
    assert status == 200 and json.loads(text)["models"][0]["engine"] == "CTranslate2 4.8.5 (0123)"


def test_a_full_disk_is_told_and_is_no_mistake_of_the_server(server: Server) -> None:
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        told = answer_error(server, OSError(number, os.strerror(number), "/srv/projects/x"), "/")
        assert told.status_code == 503 and os.strerror(number).lower() in bytes(told.body).decode()


def test_answers_that_are_not_read_take_little_memory(tmp_path: Path) -> None:
    server = make_server(tmp_path, max_upload_bytes=PIECE)
    body, readers, held, most = b"x" * (2 * PIECE), 40, 0, 0

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    watch = Watch(answer, server)

    async def run() -> list[list[dict[str, Any]]]:
        nonlocal held, most
        read, held, most = asyncio.Event(), 0, 0

        async def one() -> list[dict[str, Any]]:
            sent: list[dict[str, Any]] = []

            async def send(message: dict[str, Any]) -> None:
                nonlocal held, most
                sent.append(message)
                held += len(message.get("body", b""))
                most = max(most, held)
                if message.get("more_body"):
                    await read.wait()

            scope = {"type": "http", "http_version": "1.1", "method": "GET", "path": "/languages", "query_string": b""}
            await watch(scope | {"headers": [(b"host", b"localhost")], "client": ("127.0.0.1", 1)}, None, send)  # type: ignore[arg-type]
            return sent

        tasks = [asyncio.ensure_future(one()) for _ in range(readers)]
        await asyncio.sleep(0.05)
        assert most <= 2 * PIECE + readers * 100  # pieces of two answers, and refusals
        read.set()
        return list(await asyncio.gather(*tasks))

    answers = asyncio.run(run())
    statuses = [sent[0]["status"] for sent in answers]
    assert (statuses.count(200), statuses.count(429)) == (2, readers - 2)
    for sent in answers:
        whole = b"".join(message.get("body", b"") for message in sent)
        assert whole == body or b"read your other answers first" in whole
    again = asyncio.run(run())  # what was read is forgotten
    assert [sent[0]["status"] for sent in again].count(200) == 2


def test_a_request_that_waited_for_others_is_not_told_to_send_less(server: Server) -> None:
    assert "send less" in server.took_too_long(60).message
    for number in range(3):
        server.admission.requests.take(f"192.0.2.{number}", None)  # type: ignore[arg-type]
    assert "busy with requests of other clients; try again in 1 s" in server.took_too_long(60).message


def test_a_misspelt_field_is_told_with_the_name_that_is_meant(server: Server) -> None:
    app = build_app(server)
    body = {"text": "a", "source": "en", "target": "de"}
    for more, told in (
        ({"beam": 3}, "unknown field 'beam' (did you mean 'beam_size'?)"),
        ({"keep_numbers": "maybe"}, "keep_numbers"),
        ({"glossary": [{"target": "x", "sorce": "y"}]}, "unknown field 'sorce' (did you mean 'source'?)"),
        ({"x" * 9999: 1}, f"unknown field '{'x' * 40}'; known are text, source"),
    ):
        data = json.dumps(body | more).encode()
        status, text = ask(app, "POST", "/v1/translate", data, content_type="application/json")
        assert status == 400 and told in json.loads(text)["error"]


def test_a_request_says_whether_numbers_are_kept_else_the_server() -> None:
    settings = ServerSettings(beam_size=3, keep_numbers="off")
    asked = Asked(text="a", source="en", target="de")
    assert _search(asked, settings) == settings.beam() == Beam(size=3, keep_numbers="off")
    assert _search(asked.model_copy(update={"keep_numbers": "on"}), settings) == Beam(size=3)
    assert _search(asked.model_copy(update={"groups": 2}), settings).keep_numbers == "off"


def test_two_people_behind_one_key_type_in_the_same_text() -> None:
    keystrokes = Keystrokes()
    with keystrokes.newest("a", "10.0.0.1") as one, keystrokes.newest("a", "10.0.0.2"):
        assert not one._is_superseded
        with keystrokes.newest("a", "10.0.0.1"):
            assert one._is_superseded
