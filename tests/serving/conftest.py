"""Fixtures of the tests of servers."""

from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from transduce.inference.translator import Translator

collect_ignore_glob = [] if find_spec("fastapi") and find_spec("uvicorn") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.fixture
def serve() -> Iterator[Any]:
    """Starts servers, see `Running`, which end with the test."""
    from running_server import Running

    with ExitStack() as ends:

        def start(*args: Any, **settings: Any) -> Running:
            running = Running(*args, **settings)
            ends.callback(running.end)
            return running

        yield start


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:12]


@pytest.fixture(scope="module")
def expected(tiny_run: Path, sentences: list[str]) -> list[str]:
    """Translations of the sentences."""
    return [one.text for one in Translator.load(tiny_run, device="cpu").translate(sentences)]
