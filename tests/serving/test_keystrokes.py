"""Completions over HTTP: what is typed, its settings, and keystrokes that newer ones replace."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_server import Running, wait_until

from transduce.inference.translator import Translator

BODY = {"source": "en", "target": "de", "typed": True}


@pytest.fixture(scope="module")
def served(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run)
    yield running
    running.end()


@pytest.fixture(scope="module")
def translator(tiny_run: Path) -> Translator:
    return Translator.load(tiny_run, device="cpu")


@pytest.mark.parametrize("typed", ["", "D", "Der", " Der ", "Der Xyz"])
def test_what_is_typed_is_completed_as_in_python(served: Running, translator: Translator, typed: str) -> None:
    text = "The dog sleeps."
    answer = served.post("/v1/translate", BODY | {"text": text, "prefix": typed})
    expected = translator.complete(text, typed)
    assert answer.status_code == 200
    assert answer.json() == {"completion": expected.text, "n_best": expected.n_best, "finished": expected.finished}


def test_a_completion_is_streamed_as_it_grows(served: Running, translator: Translator) -> None:
    text = "The dog sleeps."
    answer = served.post("/v1/translate", BODY | {"text": text, "prefix": "D", "stream": True})
    *grown, last = map(json.loads, answer.text.splitlines())
    assert last["completion"] == translator.complete(text, "D").text
    assert all(last["completion"].startswith(line["completion"]) and not line["finished"] for line in grown)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"text": ["a", "b"]}, "one text"),
        ({"groups": 2}, "groups"),
        ({"alignment": True}, "alignment"),
        ({"typed": False, "most_words": 3}, "set typed too"),
        ({"most_words": 0}, "most_words"),
        ({"text": "word " * 300}, "divide it"),
    ],
)
def test_what_does_not_go_with_it_is_refused(served: Running, more: dict[str, Any], message: str) -> None:
    answer = served.post("/v1/translate", BODY | {"text": "The dog sleeps.", "prefix": "D"} | more)
    assert answer.status_code == 400
    assert message in answer.json()["error"]


def test_a_newer_keystroke_ends_the_work_on_the_one_before(served: Running) -> None:
    (batcher,) = served.server.batchers
    may_go_on, answers = threading.Event(), []
    blocked = batcher.run(lambda: may_go_on.wait(60), "another")

    def press(text: str, typed: str) -> None:
        answers.append((typed, served.post("/v1/translate", BODY | {"text": text, "prefix": typed})))

    threads = []
    for text, typed in (("The dog sleeps.", "D"), ("The cat sleeps.", "Di"), ("The dog sleeps.", "De")):
        threads.append(threading.Thread(target=press, args=(text, typed)))
        threads[-1].start()
        count = len(threads)
        wait_until(lambda count=count: served.server.admission.requests.total + len(answers) >= count)  # type: ignore[misc]
        if typed == "De":
            wait_until(lambda: len(answers) == 1)
    may_go_on.set()
    for thread in threads:
        thread.join()
    assert blocked.result()
    assert {typed: answer.status_code for typed, answer in answers} == {"D": 409, "Di": 200, "De": 200}
    assert "newer keystroke" in dict(answers)["D"].json()["error"]
