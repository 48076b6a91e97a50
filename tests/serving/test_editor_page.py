"""The editor in a real browser: ten segments by the keyboard alone, and nothing typed is lost."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import requests
from running_server import Running

from transduce.apps.projects.project import Projects
from transduce.bundle.model_bundle import ModelBundle

pytestmark = pytest.mark.slow

COMPLETED = "document.getElementById('behind').querySelector('span')?.textContent"
READY = f"({COMPLETED} || '').length > 0"
STATUS = "document.getElementById('count').textContent"


@pytest.fixture(scope="module")
def served(tiny_run: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    running = Running(tiny_run, projects=Projects(tmp_path_factory.mktemp("projects")))
    yield running
    running.end()


@pytest.fixture
def page(browser: Any, served: Running, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The editor of a project, on which nothing may go wrong."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    problems: list[str] = []
    page = browser.new_page(viewport={"width": 820, "height": 1100})
    page.set_default_timeout(120_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.goto(f"{served.url}/editor")
    yield page
    page.close()
    assert problems == []


def wait(page: Any, condition: str) -> None:
    """Wait until a condition holds; playwright's own waiting needs more than the page's policy allows."""
    for _ in range(6000):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"{condition}: {page.inner_text('#state')!r}")


def confirmed(served: Running, project: str) -> list[tuple[str, str]]:
    answer = requests.get(f"{served.url}/v1/projects/{project}/segments", timeout=60).json()
    return [(segment["source"], segment["target"]) for segment in answer["segments"]]


def make_project(page: Any, name: str) -> None:
    wait(page, "document.querySelector('#to option') !== null")
    page.focus("summary:has-text('New project')")
    page.keyboard.press("Enter")
    page.focus("#name")
    page.keyboard.type(name)
    page.keyboard.press("Enter")
    wait(page, f"document.getElementById('project').value === '{name}'")


def paste(page: Any, text: str) -> None:
    page.focus("#text")
    page.keyboard.insert_text(text)
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    wait(page, "document.activeElement.id === 'target'")


def test_ten_segments_are_translated_by_the_keyboard_alone(page: Any, served: Running, corpus: Path) -> None:
    sources = (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:10]
    make_project(page, "ten")
    assert page.evaluate("document.activeElement.id") == "text"
    paste(page, "\n".join(sources))
    expected = []
    for number in range(10):
        wait(page, READY)
        machine = page.evaluate(COMPLETED)
        if number % 3 == 0:  # all of the completion
            page.keyboard.press("Tab")
        elif number % 3 == 1:  # a word of it, then something else, then the rest of the new one
            page.keyboard.press("ArrowRight")
            assert page.input_value("#target") == machine.split(" ")[0].rstrip(".")
            page.keyboard.type(" Hun")
            wait(page, f"document.getElementById('target').value.endsWith('Hun') && {READY}")
            page.keyboard.press("Tab")
            assert " Hun" in page.input_value("#target")
        else:  # a suggestion beside it
            page.wait_for_selector("#suggestions button >> nth=1")
            page.keyboard.press("Alt+2")
            assert page.input_value("#target") != machine
        expected.append((sources[number], page.input_value("#target")))
        page.keyboard.press("Enter")
    wait(page, f"{STATUS} === '10 of 10'")
    wait(page, "document.getElementById('state').textContent.includes('All segments')")
    wait(page, "[...document.querySelectorAll('#segments button')].every((b) => b.innerText.includes('✓'))")
    assert confirmed(served, "ten") == expected
    listed = requests.get(f"{served.url}/v1/projects/ten/segments", timeout=60).json()["segments"]
    assert [segment["before"] for segment in listed] == ["", *sources[:-1]], "each is known with the one before it"
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_reload_loses_nothing_and_a_failed_post_is_sent_again(page: Any, served: Running) -> None:
    make_project(page, "kept")
    page.focus("#text")
    page.keyboard.insert_text("not yet")
    page.route("**/segments", lambda route: route.abort())
    page.evaluate("add('The dog sleeps.\\nThe cat sleeps.')")
    page.keyboard.type("Der Hund sc")
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('state').textContent.includes('not sent yet')")
    page.keyboard.type("Die Ka")
    page.reload()
    wait(page, "document.getElementById('target').value === 'Die Ka'")
    assert page.input_value("#text") == "not yet"
    assert confirmed(served, "kept") == []
    page.unroute("**/segments")
    wait(page, "document.querySelector('#segments button').innerText.includes('✓')")
    assert confirmed(served, "kept") == [("The dog sleeps.", "Der Hund sc")]
    page.keyboard.press("Alt+ArrowUp")
    page.keyboard.type("h")
    page.keyboard.press("Enter")
    wait(page, "document.querySelector('#segments button').innerText.includes('✓')")
    assert confirmed(served, "kept") == [("The dog sleeps.", "Der Hund sch")]


@pytest.mark.parametrize(("source", "target"), [("lumi", "x"), ("en_GB", "deu_Latn"), ("zz", "a1-B2")])
def test_languages_of_any_code_are_edited(
    browser: Any, tiny_run: Path, tmp_path: Path, source: str, target: str
) -> None:
    bundle = ModelBundle.load(tiny_run)
    config = msgspec.structs.replace(bundle.config, source=source, target=target)
    replace(bundle, config=config).save(tmp_path / "model", [("The dog sleeps.", "Der Hund schläft.")])
    served = Running(tmp_path / "model", projects=Projects(tmp_path / "projects"))
    page, problems = browser.new_page(), []
    page.set_default_timeout(60_000)
    page.on("pageerror", lambda error: problems.append(str(error)))
    try:
        page.goto(f"{served.url}/editor")
        make_project(page, "odd")
        paste(page, "The dog sleeps. The cat sleeps.")
        wait(page, READY)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        wait(page, f"{STATUS} === '1 of 2'")
        assert page.get_attribute("#source", "lang") in ("", "en-GB", "zz")
    finally:
        page.close()
        served.end()
    assert problems == []


def test_a_document_comes_back_with_what_was_confirmed(page: Any, served: Running, tmp_path: Path) -> None:
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
    text += 'msgid "The %s sleeps."\nmsgstr ""\n\nmsgid "A cat sees a dog."\nmsgstr ""\n'
    (tmp_path / "strings.po").write_text(text, encoding="utf-8")
    assert page.is_visible("#empty") and not page.is_visible("#list")
    make_project(page, "document")
    page.set_input_files("#file", tmp_path / "strings.po")
    wait(page, "document.activeElement.id === 'target'")
    page.keyboard.type("Ganz anders")
    page.keyboard.press("Enter")
    wait(page, "document.getElementById('state').textContent.includes('must contain %s')")
    page.keyboard.type(" %s.")
    page.keyboard.press("Enter")
    wait(page, f"{STATUS} === '1 of 2'")
    page.reload()
    wait(page, "document.querySelectorAll('#segments li').length === 2")
    with page.expect_download() as download:
        page.click("#downloads button")
    assert download.value.suggested_filename == "strings.de.po"
    translated = Path(download.value.path()).read_text(encoding="utf-8")
    assert 'msgid "The %s sleeps."\nmsgstr "Ganz anders %s."' in translated and translated.count('msgstr ""') == 1
    page.once("dialog", lambda dialog: dialog.accept())
    page.click("#clear")
    wait(page, "!document.getElementById('empty').hidden")


def test_a_term_that_is_not_met_has_its_reason(page: Any, served: Running) -> None:
    make_project(page, "terms")
    terms = "dog\tHündchen\n\tKatze\tban\n".encode()
    kind = {"Content-Type": "text/tab-separated-values"}
    requests.put(f"{served.url}/v1/projects/terms/glossary", terms, headers=kind, timeout=60)
    paste(page, "The dog sees the cat.")
    page.keyboard.type("Die Katze")
    wait(page, "document.querySelectorAll('#terms li').length === 2")
    reasons = page.evaluate("[...document.querySelectorAll('#terms small')].map((each) => each.textContent)")
    assert all(reason.startswith("not met: ") for reason in reasons) and len(set(reasons)) == 2
