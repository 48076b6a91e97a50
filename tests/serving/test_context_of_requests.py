"""A server reads the context of a text, from the field of each API or from the document, and translates by it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import requests
from running_server import Running

import address_corpus
from address_corpus import VERBS, familiar, half_confirmed, polite
from pronoun_corpus import PEOPLE, trained
from transduce.apps.projects.project import Projects


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("context")
    running = Running(trained(folder), projects=Projects(folder / "projects"))
    yield running
    running.end()


@pytest.mark.parametrize("person", PEOPLE)
def test_context_tells_who_is_meant(served: Running, person: str) -> None:
    expected = f"then {PEOPLE[person]} calls"
    asked: dict[str, Any] = {"text": ["dann ruft"], "target_lang": "EN", "context": f"{person} kommt"}
    assert served.post("/v2/translate", asked).json()["translations"][0]["text"] == expected
    asked = {"text": "dann ruft", "source": "de", "target": "en", "context": f"{person} kommt"}
    assert served.post("/v1/translate", asked).json()["sentences"][0]["n_best"][0]["text"] == expected


def test_context_tells_who_is_meant_in_what_is_typed(served: Running) -> None:
    asked = {"text": "dann ruft", "source": "de", "target": "en", "typed": True, "prefix": "then "}
    for person, meant in PEOPLE.items():
        completed = served.post("/v1/translate", asked | {"context": f"{person} kommt"}).json()["completion"]
        assert completed == f"{meant} calls"


def test_a_word_is_there_because_of_the_context(served: Running) -> None:
    languages = {"source": "de", "target": "en"}
    assert requests.put(f"{served.url}/v1/projects/why", json=languages, timeout=60).ok
    for person, meant in PEOPLE.items():
        asked = {"source": "dann ruft", "target": f"then {meant} calls", "word": meant, "context": f"{person} kommt"}
        answer = served.post("/v1/projects/why/why", asked)
        assert answer.ok and person in answer.json()["answer"], "a translation may be longer than all sources"


def test_lines_of_a_text_are_the_context_of_those_after_them(served: Running) -> None:
    asked = {"q": "anna kommt\ndann ruft\notto kommt\ndann ruft", "source": "de", "target": "en"}
    expected = "anna comes\nthen she calls\notto comes\nthen he calls"
    assert served.post("/translate", asked).json()["translatedText"] == expected


def test_texts_of_a_request_are_apart(served: Running) -> None:
    asked = {"text": ["dann lacht", "dann ruft"], "target_lang": "EN", "context": "otto kommt"}
    texts = [one["text"] for one in served.post("/v2/translate", asked).json()["translations"]]
    assert texts == ["then he laughs", "then he calls"]


def test_texts_with_tags_are_apart_too(served: Running) -> None:
    asked = {"text": ["<p>anna kommt</p>", "<p>dann ruft</p>"], "target_lang": "EN", "tag_handling": "html"}
    alone = asked | {"text": asked["text"][1:]}
    texts = [served.post("/v2/translate", each).json()["translations"][-1]["text"] for each in (asked, alone)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("kind, version", [("html", "v1"), ("xml", "v1"), ("xml", "v2")])
def test_context_tells_who_is_meant_in_each_text_with_tags(served: Running, kind: str, version: str) -> None:
    texts = ["dann <b>ruft</b>", "<p>dann lacht</p>", "dann liest", " "]
    asked = {"text": texts, "target_lang": "EN", "tag_handling": kind, "tag_handling_version": version}
    for person, meant in PEOPLE.items():
        answer = served.post("/v2/translate", asked | {"context": f"<i>{person}</i> kommt"}).json()
        expected = [f"then {meant} <b>calls</b>", f"<p>then {meant} laughs</p>", f"then {meant} reads", " "]
        assert [one["text"] for one in answer["translations"]] == expected


def test_a_text_with_tags_reads_what_is_nearest(served: Running) -> None:
    page = "<p>dann ruft</p><p>anna kommt</p><p>dann ruft</p>"
    asked = {"text": [page], "target_lang": "EN", "tag_handling": "xml", "context": "otto kommt"}
    found = served.post("/v2/translate", asked).json()["translations"][0]["text"]
    assert found == "<p>then he calls</p><p>anna comes</p><p>then she calls</p>"


def test_context_of_tagged_texts_is_charged_as_that_of_others(served: Running) -> None:
    def charged(**more: str) -> int:
        before = served.server.admission.used.total()
        asked = {"text": ["dann ruft", "dann lacht"], "target_lang": "EN", "context": "anna kommt", **more}
        assert served.post("/v2/translate", asked).ok
        return served.server.admission.used.total() - before

    assert charged() == charged(tag_handling="xml") == charged(tag_handling="html")


def test_a_document_gives_each_segment_those_before_it(served: Running) -> None:
    page = "<p>anna kommt</p><p>dann ruft</p><p>otto kommt</p><p>dann ruft</p>"
    asked = {"text": [page], "target_lang": "EN", "tag_handling": "html"}
    found = served.post("/v2/translate", asked).json()["translations"][0]["text"]
    assert found == "<p>anna comes</p><p>then she calls</p><p>otto comes</p><p>then he calls</p>"


def test_context_of_any_length_is_read_from_its_end(served: Running) -> None:
    asked: dict[str, Any] = {
        "text": ["dann ruft"],
        "target_lang": "EN",
        "context": "otto kommt\ndann ruft\n" * 500 + "anna kommt",
    }
    assert served.post("/v2/translate", asked).json()["translations"][0]["text"] == "then she calls"
    asked = {"text": "dann ruft", "source": "de", "target": "en", "context": "x" * 3000}
    assert served.post("/v1/translate", asked).status_code in {400, 422}


@pytest.mark.slow
def test_the_context_of_the_package_deepl(served: Running) -> None:
    deepl = pytest.importorskip("deepl", reason="the package deepl is not installed")
    client = deepl.DeepLClient("none", server_url=served.url)
    for person, meant in PEOPLE.items():
        languages = {"source_lang": "DE", "target_lang": "EN-US", "context": f"{person} kommt"}
        assert client.translate_text("dann ruft", **languages).text == f"then {meant} calls"
        as_weblate = {"tag_handling": "xml", "ignore_tags": ["x"], **languages}
        found = client.translate_text('dann ruft <x id="1">%s</x>', **as_weblate)
        assert found.text == f'then {meant} calls <x id="1">%s</x>'


@pytest.fixture(scope="module")
def of_both_sides(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("both")
    running = Running(address_corpus.trained(folder), projects=Projects(folder / "projects"))
    yield running
    running.end()


@pytest.mark.parametrize("form", [familiar, polite])
def test_what_a_person_confirmed_tells_the_form_of_address(of_both_sides: Running, form: Callable[[str], str]) -> None:
    asked = {"text": "you read", "source": "en", "target": "de", "context": f"you come\n{form('come')}"}
    assert of_both_sides.post("/v1/translate", asked).json()["sentences"][0]["n_best"][0]["text"] == form("read")
    project = f"/v1/projects/{form.__name__}"
    assert requests.put(of_both_sides.url + project, json={"source": "en", "target": "de"}, timeout=60).ok
    confirmed, *others = VERBS
    of_both_sides.post(f"{project}/segments", {"source": f"you {confirmed}", "target": form(confirmed)})
    found = of_both_sides.post(f"{project}/translate", {"text": [f"you {verb}" for verb in VERBS]}).json()["segments"]
    assert [one["translation"] for one in found[:3]] == [form(confirmed), *map(form, others[:2])]
    upload = {"file": ("a.po", half_confirmed(form).encode())}
    address = f"{of_both_sides.url}/translate_file"
    answer = requests.post(address, files=upload, data={"source": "en", "target": "de"}, timeout=60).json()
    written = requests.get(answer["translatedFileUrl"], timeout=60).text
    assert all(f'"{form(verb)}"' in written for verb in VERBS)
