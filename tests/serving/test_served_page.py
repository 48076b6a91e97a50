"""The page of a server in a real browser: words, files, the glossary, keys, and text from right to left."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from running_server import Running, Serve

from transduce.apps.serving.client_keys import Keys

pytestmark = pytest.mark.slow

DROP = """([name, text]) => {
  const transfer = new DataTransfer();
  transfer.items.add(new File([text], name, { type: "text/plain" }));
  for (const kind of ["dragover", "drop"]) {
    const event = new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true });
    document.getElementById("drop").dispatchEvent(event);
    if (kind === "dragover") window.wasOver = document.getElementById("drop").classList.contains("over");
  }
}"""


WATCH = """() => {
  const bar = document.getElementById("progress");
  window.seen = [];
  new MutationObserver(() => window.seen.push(bar.value)).observe(bar, { attributes: true });
}"""


@pytest.fixture(scope="module")
def served(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run)
    yield running
    running.end()


@pytest.fixture
def page(browser: Any, served: Running) -> Iterator[Any]:
    """The page, on which nothing may go wrong."""
    problems: list[str] = []
    page = _open(browser, served.url, problems)
    yield page
    page.close()
    assert problems == []


def _open(browser: Any, url: str, problems: list[str]) -> Any:
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.set_default_timeout(120_000)
    page.on("console", lambda message: problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(url)
    page.wait_for_selector("#to option", state="attached")
    return page


def test_the_page_translates_shows_what_a_word_was_read_from_and_takes_files(
    page: Any, sentences: list[str], expected: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(sentences[1], encoding="utf-8")
    page.fill("#source", f"{sentences[0]}\n{sentences[2]}")
    page.wait_for_selector(f"#target button >> nth={len(expected[0].split())}")
    assert page.inner_text("#target") == f"{expected[0]}\n{expected[2]}"
    page.focus("#target button")
    page.keyboard.press("Enter")
    page.wait_for_selector("#choices:not([hidden])")
    assert page.inner_text("#choices-title").startswith(expected[0].split()[0])
    page.wait_for_selector("#list button")
    other = page.inner_text("#list button >> nth=0")
    page.click("#list button >> nth=0")
    assert page.inner_text("#target").splitlines()[0] == other != expected[0]
    page.click("#file-part summary")
    page.set_input_files("#file", tmp_path / "a.txt")
    page.wait_for_selector("#file-state a")
    with page.expect_download() as download:
        page.click("#file-state a")
    assert Path(download.value.path()).read_text(encoding="utf-8").strip() == expected[1]
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_word_shows_its_alternatives(page: Any, served: Running, sentences: list[str]) -> None:
    body = {"text": sentences[0], "source": "en", "target": "de", "alignment": True}
    (told,) = served.post("/v1/translate", body).json()["sentences"]
    page.fill("#source", sentences[0])
    page.click("#target button >> nth=1")
    page.wait_for_selector("#tokens li")
    first = next(
        token
        for token, word in zip(told["details"]["tokens"], told["details"]["word_of_tokens"], strict=True)
        if word == 1
    )
    shown = page.locator("#tokens li >> nth=0").locator("span").all_inner_texts()
    expected = [(first["token"], first["probability"]), *first["runners_up"]]
    words = [re.sub(r" (< )?\d+ %$", "", text) for text in shown]
    assert words == [text.replace("▁", "") for text, _ in expected]
    assert len(shown) == 5 and page.locator("#tokens .taken").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_file_that_is_dropped_is_translated_with_its_progress(
    page: Any, sentences: list[str], expected: list[str]
) -> None:
    page.evaluate(WATCH)
    page.click("#file-part summary")
    page.evaluate(DROP, ["dropped.txt", "\n\n".join(sentences)])
    page.wait_for_selector("#file-state a")
    assert page.evaluate("window.wasOver") is True
    assert "over" not in (page.get_attribute("#drop", "class") or "").split()
    assert page.evaluate("window.seen.at(-1)") == 1
    with page.expect_download() as download:
        page.click("#file-state a")
    assert download.value.suggested_filename == "dropped.de.txt"
    assert Path(download.value.path()).read_text(encoding="utf-8") == "\n\n".join(expected)


def test_a_file_that_is_no_document_is_reported(browser: Any, served: Running) -> None:
    page = _open(browser, served.url, [])
    page.click("#file-part summary")
    page.evaluate(DROP, ["picture.png", "x"])
    page.wait_for_selector("#file-state:has-text('not supported')")
    assert page.is_hidden("#progress")
    page.close()


def test_terms_of_the_glossary_are_in_the_translation(page: Any, served: Running, sentences: list[str]) -> None:
    word = "Polizist"
    body = {"text": sentences[0], "source": "en", "target": "de"}
    (plain,) = served.post("/v1/translate", body).json()["sentences"]
    term = {"source": sentences[0].split()[1], "target": word}
    (held,) = served.post("/v1/translate", body | {"glossary": [term], "n_best": 4}).json()["sentences"]
    assert word in held["target"] and word not in plain["target"]
    page.click("summary:has-text('Glossary')")
    page.fill("#glossary", f"{term['source']} = {word}\nno entry\n = ")
    page.fill("#source", sentences[0])
    page.wait_for_selector(f"#target:has-text('{word}')")
    assert page.inner_text("#target") == held["target"]


def test_a_key_is_asked_for_and_used(
    serve: Serve, browser: Any, tiny_run: Path, tmp_path: Path, sentences: list[str]
) -> None:
    key = Keys(str(tmp_path / "keys.sqlite")).add("ada")
    running = serve(tiny_run, keys=str(tmp_path / "keys.sqlite"))
    page = _open(browser, running.url, [])
    assert page.is_visible("#key-part")
    page.fill("#source", sentences[0])
    page.wait_for_selector("#state:has-text('API key')")
    assert page.inner_text("#target") == ""
    page.click("#key-part summary")
    page.fill("#key", key)
    page.press("#key", "Tab")
    page.wait_for_selector("#target button")
    assert page.inner_text("#state") == "" and key not in page.content()
    page.close()


def test_text_from_right_to_left_is_at_the_right(page: Any, sentences: list[str]) -> None:
    def direction(selector: str) -> str:
        return str(page.eval_on_selector(selector, "one => getComputedStyle(one).direction"))

    page.fill("#source", "שלום עולם. 12")
    page.wait_for_selector("#target button")
    assert direction("#source") == "rtl"
    page.click("#target button >> nth=0")
    assert direction("#behind") == "rtl"
    page.fill("#source", sentences[0])
    assert direction("#source") == "ltr"
