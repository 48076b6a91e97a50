"""No request takes processor time that grows faster than its size, whatever it repeats, at any path of the server.

The paths are those of the application itself, so that a new one is attacked as soon as it is there.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from growth import MOST
from transduce.apps.projects.project import Projects
from transduce.apps.serving.app import build_app
from transduce.apps.serving.models import Models
from transduce.apps.serving.prometheus import Metrics
from transduce.apps.serving.server import Server
from transduce.apps.serving.server_settings import ServerSettings
from transduce.inference.translator import Translator
from transduce.text.glossary import Entry, Glossary

LOOP = asyncio.new_event_loop()
"""One for all requests, as a server has, since the application hands work from one request to the next."""
FLOOR = 0.02  # seconds: a shorter time counts as this one
HEADERS = ("cookie", "accept", "authorization", "range")
UNITS = ("\\", ";", "%41")
WRITTEN = ("a", "a ", "\u0301", "<b>")
WITH_A_MODEL = ("/frontend/settings",)
"""Paths that take nothing from a client, and need a model to answer."""
TEXTS = ("text", "q", "target", "entries", "name")
"""Fields that take any text."""


@dataclass(frozen=True)
class Asked:
    """A request of some size."""

    method: str
    path: str
    headers: dict[str, str] = field(default_factory=dict)
    query: str = ""
    body: bytes = b""


Attack = Callable[[str, str, int], Asked]
"""Makes a request of a method, a path and a size in characters."""


def of_header(name: str, unit: str, head: str = "") -> Attack:
    return lambda method, path, size: Asked(method, path, {name: head + unit * (size // len(unit))})


def of_query(unit: str) -> Attack:
    return lambda method, path, size: Asked(method, path, query=f"text={unit * (size // len(unit))}")


def of_body(kind: str, body: Callable[[int], bytes]) -> Attack:
    return lambda method, path, size: Asked(method, path, {"content-type": kind}, body=body(size))


def fields(**values: Any) -> dict[str, Any]:
    """Fields with which a request gets as far as it can."""
    known = {"source": "en", "target": "de", "source_lang": "en", "target_lang": "de", "name": "x", "text": "A dog."}
    return known | {"q": "A dog.", "entries": "dog\tHund"} | values


def part(name: str) -> bytes:
    return f'--a\r\nContent-Disposition: form-data; name="{name}"\r\n\r\nx\r\n'.encode()


def attacks() -> Iterator[tuple[str, Attack]]:
    for name, unit in itertools.product(HEADERS, UNITS):
        yield f"{name}: {unit!r}", of_header(name, unit)
    for unit in UNITS:
        yield f"content-type: form; {unit!r}", of_header("content-type", unit, "multipart/form-data; boundary=a; ")
        yield f"query {unit!r}", of_query(quote(unit, safe="&=%;"))
        form = "application/x-www-form-urlencoded"
        yield f"form {unit!r}", of_body(form, lambda size, unit=unit: (unit * (size // len(unit))).encode())
        yield (
            f"parts {unit!r}",
            of_body(
                "multipart/form-data; boundary=a",
                lambda size, unit=unit: part(unit * (min(size, 4000) // len(unit))) * (size // 2000) + b"--a--",
            ),
        )
    for name, unit in itertools.product(TEXTS, WRITTEN):
        yield (
            f"{name} of {unit!r}",
            of_body(
                "application/json",
                lambda size, name=name, unit=unit: json.dumps(
                    fields(**{name: unit * (size // 60 // len(unit))})
                ).encode(),
            ),
        )
    lists: dict[str, Callable[[int], Any]] = {
        "numbers": lambda size: [1] * (size // 2),
        "texts": lambda size: ["a"] * (size // 4),
        "objects": lambda size: [{}] * (size // 3),
        "fields": lambda size: {f"a{n}": 1 for n in range(size // 9)},
    }
    for name, (kind, make) in itertools.product(("text", "q", "glossary", "dictionaries", "name"), lists.items()):
        yield (
            f"{name} of {kind}",
            of_body(
                "application/json",
                lambda size, name=name, make=make: json.dumps(fields(**{name: make(size)})).encode(),
            ),
        )
    yield "unknown fields", of_body("application/json", lambda size: json.dumps(lists["fields"](size)).encode())
    for opening in ("[", '{"a":', '{"text":[', "1", '"'):
        yield (
            f"nested {opening}",
            of_body("application/json", lambda size, opening=opening: (opening * (size // len(opening))).encode()),
        )


def answer(app: FastAPI, asked: Asked) -> int:
    """Returns the status of the application's answer, without a connection."""
    headers = {"host": "localhost", "content-length": str(len(asked.body))} | asked.headers
    path = f"{asked.path}"
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": asked.method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": asked.query.encode(),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
        "server": ("localhost", 5000),
        "scheme": "http",
        "root_path": "",
    }
    statuses: list[int] = []

    async def ask() -> None:
        unread = [asked.body]

        async def receive() -> dict[str, Any]:
            if unread:
                return {"type": "http.request", "body": unread.pop(), "more_body": False}
            await asyncio.sleep(60)
            return {"type": "http.disconnect"}

        async def send(message: dict[str, Any]) -> None:
            statuses.append(message.get("status", 0))

        await app(scope, receive, send)

    LOOP.run_until_complete(ask())
    return statuses[0]


def seconds(app: FastAPI, attack: Attack, method: str, path: str, size: int) -> float:
    asked = attack(method, path, size)
    began = time.process_time()
    status = answer(app, asked)
    spent = time.process_time() - began
    assert status < 500 or status == 503, f"{method} {path}: {status}"
    return spent


def growing(app: FastAPI, attack: Attack, method: str, path: str, sizes: tuple[int, int]) -> str | None:
    """Returns what was measured if four times the size takes much more than four times the time."""
    short = FLOOR
    for _ in range(3):  # other processes may have been in the way
        long = seconds(app, attack, method, path, sizes[1])
        if long <= MOST * short:
            return None
        short = max(short, seconds(app, attack, method, path, sizes[0]))
    return f"{method} {path}: {1000 * short:.0f} ms, {1000 * long:.0f} ms"


def make_app(folder: Path, *runs: Path) -> FastAPI:
    metrics, projects = Metrics(), Projects(folder / "projects")
    shop = projects.create("shop", "en", "de")
    shop.replace_glossary(Glossary([Entry("a " * size + "a", "Hund") for size in range(99)]))
    limits = {"max_characters": 100_000, "document_workers": 1, "beam_size": 1}
    settings = ServerSettings(glossaries=str(folder / "glossaries.sqlite"), **limits)
    models = Models([str(run) for run in runs], Translator.load, metrics)
    return build_app(Server(models, settings, metrics, projects))


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> FastAPI:
    """An application without a model, which reads and admits all that others would."""
    return make_app(tmp_path_factory.mktemp("growth"))


def paths(app: FastAPI) -> list[tuple[str, str]]:
    filled = {"name": "shop", "project": "shop", "id": "1", "key": "a.txt"}
    routes = [(path, methods) for path, methods in routes_of(app.routes) if path not in WITH_A_MODEL]
    return [(method, path.format(**filled)) for path, methods in routes for method in sorted(methods)]


def routes_of(routes: Iterable[Any], prefix: str = "") -> Iterator[tuple[str, set[str]]]:
    """Yields the path and the methods of each route, those of routers within others too."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield prefix + route.path, route.methods
        elif (inner := getattr(route, "original_router", None)) is not None:
            yield from routes_of(inner.routes, prefix + route.include_context.prefix)


@pytest.mark.thorough
def test_the_time_of_a_request_grows_no_faster_than_its_size(app: FastAPI) -> None:
    tried = paths(app)
    assert len(tried) > 40
    found: list[str] = []
    for (method, path), (told, attack) in itertools.product(tried, attacks()):
        has_body = method in ("POST", "PUT", "PATCH")
        if not has_body and not told.startswith((*HEADERS, "query", "content-type")):
            continue
        if (grown := growing(app, attack, method, path, (7_500, 30_000))) is not None:
            found.append(f"{told}: {grown}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("unit", ["a", "/", "%", "..", "a-"])
def test_the_time_of_a_long_path_grows_no_faster_than_it(app: FastAPI, unit: str) -> None:
    for method, path in paths(app):
        for part in ("shop", "1", "a.txt"):
            longer = lambda method, path, size, part=part: Asked(method, path.replace(part, unit * (size // len(unit))))  # noqa: E731
            if part in path:
                assert growing(app, longer, method, path, (7_500, 30_000)) is None


@pytest.mark.thorough
def test_the_time_of_a_translation_grows_no_faster_than_its_text(tiny_run: Path, tmp_path: Path) -> None:
    translating = make_app(tmp_path, tiny_run)
    for path in ("/translate", "/v1/translate", "/v2/translate", "/projects/shop/v2/translate"):
        for told, attack in attacks():
            if told.startswith(("text of '", "q of '")):
                assert growing(translating, attack, "POST", path, (7_500, 30_000)) is None, told
