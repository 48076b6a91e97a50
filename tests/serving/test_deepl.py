"""Programs that speak DeepL's API are served: the package itself, and requests as others make them.

What Weblate, OmegaT's plugins and the plugin of Trados Studio send, and how they read the answer, is as in their public
code.
"""

import asyncio
import io
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any
from xml.etree import ElementTree

import pytest
import requests
from running_server import Running, Serve, wait_until

from transduce.apps.projects.project import Projects
from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.deepl import deepl_documents
from transduce.apps.serving.refusals import RefusedError
from transduce.text.glossary import Entry, Glossary


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def keys(folder: Path) -> list[str]:
    return [Keys(folder / "keys.sqlite").add(name) for name in ("anna", "bob")]


@pytest.fixture(scope="module")
def served(tiny_run: Path, folder: Path, keys: list[str]) -> Iterator[Running]:
    """A server that wants a key, and keeps glossaries."""
    assert keys
    running = Running(
        tiny_run,
        keys=str(folder / "keys.sqlite"),
        glossaries=str(folder / "glossaries.sqlite"),
        max_characters=2000,
    )
    yield running
    running.end()


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    """Few, since the package waits for ten seconds."""
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:5]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return pytest.importorskip("deepl", reason="the package deepl is not installed")


@pytest.fixture
def clients(package: ModuleType, served: Running, keys: list[str]) -> list[Any]:
    return [package.DeepLClient(key, server_url=served.url) for key in keys]


@pytest.mark.slow
def test_texts_by_the_package(
    package: ModuleType, clients: list[Any], served: Running, sentences: list[str], expected: list[str]
) -> None:
    client = clients[0]
    before = client.get_usage().character.count
    found = client.translate_text(sentences, target_lang="DE", source_lang="EN", context="about dogs")
    assert [one.text for one in found] == expected
    assert [one.billed_characters for one in found] == list(map(len, sentences))
    assert client.get_usage().character.count - before == sum(map(len, sentences))
    detected = client.translate_text(sentences[0], target_lang="DE", formality="prefer_more")
    assert (detected.text, detected.detected_source_lang) == (expected[0], "EN")
    two = client.translate_text(f"{sentences[0]}\n{sentences[1]}", source_lang="EN", target_lang="DE")
    assert two.text == f"{expected[0]}\n{expected[1]}"
    folded = sentences[0].replace(" ", "\n", 1)
    assert client.translate_text(folded, source_lang="EN", target_lang="DE", split_sentences="0").text == expected[0]
    assert [one.code for one in client.get_source_languages()] == ["EN"]
    assert [(one.code, one.supports_formality) for one in client.get_target_languages()] == [("DE", False)]
    refusals: list[tuple[type, dict[str, Any], str]] = [
        (package.DeepLException, {"target_lang": "FR"}, "'target_lang' not supported: 'FR'"),
        (package.DeepLException, {"target_lang": "DE", "source_lang": "JA"}, "'source_lang' not supported"),
        (package.DeepLException, {"target_lang": "DE", "formality": "more"}, "'formality' not supported"),
        (package.DeepLException, {"target_lang": "DE", "style_rule": "x"}, "'style_id' is not supported"),
        (package.DeepLException, {"target_lang": "DE", "source_lang": "EN", "glossary": "x"}, "Glossary not found"),
    ]
    for error, asked, message in refusals:
        with pytest.raises(error, match=message):
            client.translate_text("A dog.", **asked)
    with pytest.raises(package.DeepLException, match="2,001 characters"):
        client.translate_text("a" * 2001, target_lang="DE")
    with pytest.raises(package.AuthorizationException, match="Invalid API key"):
        package.DeepLClient("wrong", server_url=served.url).get_usage()


@pytest.mark.slow
def test_tags_by_the_package(package: ModuleType, clients: list[Any], sentences: list[str]) -> None:
    def translate(text: str, handling: str = "xml", **asked: Any) -> str:
        found = clients[0].translate_text(text, source_lang="EN", target_lang="DE", tag_handling=handling, **asked)
        return str(found.text)

    first, *others = sentences[0].split(" ")
    text = f'<a n="1">{first}</a> {" ".join(others)} &amp; <x id="2"/><x>this</x>'
    root = ElementTree.fromstring(f"<r>{translate(text, ignore_tags='x')}</r>")
    assert sorted(element.tag for element in root) == ["a", "x", "x"]
    assert sorted(element.text or "" for element in root.findall("x")) == ["", "this"]
    whole = f"<doc><p>{sentences[0]}</p> <p>{sentences[1]}</p></doc>"
    apart = [translate(one) for one in sentences[:2]]
    assert translate(whole) == "<doc><p>{}</p> <p>{}</p></doc>".format(*apart)
    assert translate(whole, outline_detection=False, splitting_tags=["p", "q"]) == translate(whole)
    page = translate(f'<p class="a">{sentences[0]} <b>{first}</b><br>{sentences[1]}</p>', "html")
    assert page.startswith('<p class="a">') and page.count("<br>") == 1 and page.endswith("</p>")
    assert translate("<x>this stays</x>", "html", ignore_tags=["X"]) == "<x>this stays</x>"
    assert "<b>" in translate("AT&T <b>sees", tag_handling_version="v1")
    with pytest.raises(package.DeepLException, match="not well-formed XML"):
        translate("a <b>", tag_handling_version="v2")


@pytest.mark.slow
def test_glossaries_by_the_package(
    package: ModuleType, clients: list[Any], sentences: list[str], expected: list[str]
) -> None:
    anna, bob = clients
    pairs = [(pair.source_lang, pair.target_lang) for pair in anna.get_glossary_languages()]
    assert pairs == [("en", "de")]
    word, term = sentences[0].split()[1], expected[1].split()[0]
    made = anna.create_glossary("mine", "EN", "DE", {word: term, "unheard": "unerhört"})
    assert (made.name, made.ready, made.entry_count, made.source_lang) == ("mine", True, 2, "EN")
    assert anna.get_glossary_entries(made) == {word: term, "unheard": "unerhört"}
    from_csv = anna.create_glossary_from_csv("csv", "EN", "DE", '"a, b",c\n')
    assert [one.glossary_id for one in anna.list_glossaries()] == [made.glossary_id, from_csv.glossary_id]
    for handling in (None, "xml"):
        found = anna.translate_text(
            sentences[0], source_lang="EN", target_lang="DE", glossary=made, tag_handling=handling
        )
        assert term in found.text.split()
    assert bob.list_glossaries() == []
    with pytest.raises(package.GlossaryNotFoundException):
        bob.get_glossary(made.glossary_id)
    with pytest.raises(package.GlossaryNotFoundException):
        bob.delete_glossary(made)
    with pytest.raises(package.DeepLException, match="entry 1 has 1 cells"):
        anna.create_glossary_from_csv("bad", "EN", "DE", "a")
    with pytest.raises(package.DeepLException, match="'target_lang' not supported"):
        anna.create_glossary("bad", "EN", "FR", {"a": "b"})
    for one in (made, from_csv):
        anna.delete_glossary(one)
    assert anna.list_glossaries() == []


@pytest.mark.slow
def test_glossaries_of_several_directions_by_the_package(package: ModuleType, clients: list[Any]) -> None:
    entries = package.api_data.MultilingualGlossaryDictionaryEntries
    client = clients[0]
    made = client.create_multilingual_glossary("many", [entries("EN", "DE", {"dog": "Köter"})])
    made = client.update_multilingual_glossary_dictionary(made, entries("EN", "DE", {"cat": "Kater"}))
    assert [one.entry_count for one in made.dictionaries] == [2]
    assert client.update_multilingual_glossary_name(made, "other").name == "other"
    replaced = client.replace_multilingual_glossary_dictionary(made, entries("EN", "DE", {"cat": "Katze"}))
    assert replaced.entry_count == 1
    (read,) = client.get_multilingual_glossary_entries(made, "EN", "DE").dictionaries
    assert read.entries == "cat\tKatze"
    client.delete_multilingual_glossary_dictionary(made, replaced)
    assert client.get_multilingual_glossary(made.glossary_id).dictionaries == []
    assert [one.name for one in client.list_multilingual_glossaries()] == ["other"]
    client.delete_multilingual_glossary(made)
    assert client.list_multilingual_glossaries() == []


@pytest.mark.slow
def test_documents_by_the_package(
    package: ModuleType, clients: list[Any], sentences: list[str], expected: list[str]
) -> None:
    client = clients[0]
    handle = client.translate_document_upload(
        f"{sentences[0]}\n\n{sentences[1]}\n", filename="some text.txt", target_lang="DE"
    )
    state = _when_done(lambda: client.translate_document_get_status(handle))
    assert (state.ok, state.billed_characters) == (True, len(sentences[0]) + len(sentences[1]))
    translated = io.BytesIO()
    client.translate_document_download(handle, translated)
    assert translated.getvalue().decode() == f"{expected[0]}\n\n{expected[1]}\n"
    broken = client.translate_document_upload(b"<x/>", filename="a.xlf", source_lang="EN", target_lang="DE")
    state = _when_done(lambda: client.translate_document_get_status(broken))
    assert not state.ok and "is no XLIFF" in state.error_message
    with pytest.raises(package.DeepLException, match="Bad request"):
        client.translate_document_download(broken, io.BytesIO())
    with pytest.raises(package.DeepLException, match="Document not found"):
        client.translate_document_get_status(package.DocumentHandle(handle.document_id, "wrong"))
    with pytest.raises(package.DeepLException, match="file format not supported"):
        client.translate_document_upload(b"%PDF-1.4", filename="a.pdf", target_lang="DE")
    with pytest.raises(package.DeepLException, match="a document keeps its format"):
        client.translate_document_upload("x", filename="a.txt", target_lang="DE", output_format="docx")


def _when_done(state: Callable[[], Any]) -> Any:
    for _ in range(600):
        found = state()
        if found.done or not found.ok:
            return found
        time.sleep(0.1)
    raise AssertionError("The document is not done in time")


def test_a_client_has_few_documents_that_are_not_finished() -> None:
    async def check() -> None:
        jobs, finish = deepl_documents.Jobs(), asyncio.Event()

        async def work(job: deepl_documents.Job) -> str:
            await finish.wait()
            return ""

        def start(client: str) -> deepl_documents.Job:
            return jobs.start(client, work, str)

        begun = [start(client) for client in "abcd" for _ in range(4)]
        for client, status in (("a", 429), ("e", 503)):
            with pytest.raises(RefusedError, match="documents are not finished") as refused:
                start(client)
            assert (refused.value.status, refused.value.retry_after) == (status, 10)
        finish.set()
        await asyncio.gather(*(job.task for job in begun if job.task))
        assert start("a").status == "queued"
        jobs.close()

    asyncio.run(check())


def test_requests_as_weblate_makes_them(
    served: Running, keys: list[str], sentences: list[str], expected: list[str]
) -> None:
    session = requests.Session()
    session.headers["Authorization"] = f"DeepL-Auth-Key {keys[0]}"
    api = f"{served.url}/v2/"
    languages = {
        kind: {one["language"] for one in session.get(f"{api}languages", params={"type": kind}, timeout=60).json()}
        for kind in ("source", "target")
    }
    assert languages == {"source": {"EN"}, "target": {"DE"}}
    pairs = session.get(f"{api}glossary-language-pairs", timeout=60).json()["supported_languages"]
    assert {(one["source_lang"].upper(), one["target_lang"].upper()) for one in pairs} == {("EN", "DE")}
    word, term = sentences[1].split()[0], expected[2].split()[0]
    glossary = {"name": "weblate:1", "source_lang": "EN", "target_lang": "DE", "entries": f"{word}\t{term}"}
    assert session.post(f"{api}glossaries", json=glossary | {"entries_format": "tsv"}, timeout=60).ok
    (kept,) = session.get(f"{api}glossaries", timeout=60).json()["glossaries"]
    assert kept["name"] == "weblate:1" and kept["creation_time"].endswith("Z")
    text = f'{sentences[1]} &lt;b&gt;<x id="7"></x>'
    asked = {
        "text": [text, sentences[0]],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "tag_handling": "xml",
        "ignore_tags": ["x"],
        "context": "A test",
        "glossary_id": kept["glossary_id"],
        "model_type": "prefer_quality_optimized",
    }
    answer = session.post(f"{api}translate", json=asked, timeout=60)
    found = [one["text"] for one in answer.json()["translations"]]
    assert found[0].count('<x id="7"></x>') == 1 and found[0].count("&lt;b&gt;") == 1 and term in found[0]
    assert found[1] == expected[0]
    refused = session.post(f"{api}translate", json=asked | {"formality": "more"}, timeout=60)
    assert refused.status_code == 400 and "formality" in refused.json()["message"]  # shown as it is
    assert session.delete(f"{api}glossaries/{kept['glossary_id']}", timeout=60).status_code == 204
    assert session.delete(f"{api}glossaries/{kept['glossary_id']}", timeout=60).status_code == 404


def test_requests_as_plugins_of_omegat_make_them(
    served: Running, keys: list[str], sentences: list[str], expected: list[str]
) -> None:
    """By the Java library, which posts a form; and those of old versions, once a proxy has made /v1/ into /v2/."""
    head = {"Authorization": f"DeepL-Auth-Key {keys[0]}"}
    form = [("text", sentences[0]), ("source_lang", "EN"), ("target_lang", "DE"), ("split_sentences", "1")]
    answer = requests.post(
        f"{served.url}/v2/translate", data=[*form, ("show_billed_characters", "1")], headers=head, timeout=60
    )
    assert answer.json()["translations"] == [
        {"detected_source_language": "EN", "text": expected[0], "billed_characters": len(sentences[0])}
    ]
    old = {"preserve_formatting": "1", "tag_handling": "xml", "auth_key": keys[0]}
    query = dict(form) | old | {"text": f"<g0>{sentences[0]}</g0>", "split_sentences": "0"}
    answer = requests.get(f"{served.url}/v2/translate", params=query, timeout=60)
    assert answer.json()["translations"][0]["text"] == f"<g0>{expected[0]}</g0>"
    assert requests.get(f"{served.url}/v2/translate", params=query | {"auth_key": "x"}, timeout=60).status_code == 403


def test_requests_as_the_plugin_of_trados_makes_them(
    served: Running, keys: list[str], sentences: list[str], expected: list[str]
) -> None:
    session = requests.Session()
    assert session.get(f"{served.url}/v2/usage", timeout=60).status_code == 403
    assert session.get(f"{served.url}/v2/usage", params={"auth_key": keys[0]}, timeout=60).ok
    old = session.post(f"{served.url}/v2/languages", data={"type": "target", "auth_key": keys[0]}, timeout=60)
    assert {one["language"]: str(one["supports_formality"]) for one in old.json()} == {"DE": "False"}
    session.headers["Authorization"] = f"DeepL-Auth-Key {keys[0]}"
    listed = session.get(f"{served.url}/v3/languages", params={"product": "translate_text"}, timeout=60).json()
    usable = {one["lang"]: (one["usable_as_source"], one["usable_as_target"]) for one in listed}
    assert usable == {"en": (True, False), "de": (False, True)}
    assert all(isinstance(feature, str) for one in listed for feature in one["features"])
    assert session.get(f"{served.url}/v3/languages", params={"product": "style_rules"}, timeout=60).json() == []
    glossary = {"name": "t", "source_lang": "en", "target_lang": "de", "entries": "a\tb\r\nc\td\r\n"}
    made = session.post(f"{served.url}/v2/glossaries", json=glossary | {"entries_format": "tsv"}, timeout=60).json()
    lines = session.get(f"{served.url}/v2/glossaries/{made['glossary_id']}/entries", timeout=60).text.split("\n")
    assert [line.split("\t") for line in lines] == [["a", "b"], ["c", "d"]]  # which takes two cells of every line
    (several,) = session.get(f"{served.url}/v3/glossaries", timeout=60).json()["glossaries"]
    assert several["dictionaries"] == [{"source_lang": "en", "target_lang": "de", "entry_count": 2}]
    asked = {
        "text": [f"<x0>{sentences[0]}</x0>"],
        "source_lang": "EN",
        "target_lang": "DE",
        "formality": "default",
        "glossary_id": made["glossary_id"],
        "preserve_formatting": True,
        "tag_handling": "xml",
        "split_sentences": "nonewlines",
        "ignore_tags": [],
        "model_type": "quality_optimized",
        "tag_handling_version": "v2",
    }
    answer = session.post(f"{served.url}/v2/translate", data=json.dumps(asked).encode(), timeout=60)
    assert answer.status_code == 415  # without a kind of body
    answer = session.post(f"{served.url}/v2/translate", json=asked, timeout=60)
    assert answer.json()["translations"][0]["text"] == f"<x0>{expected[0]}</x0>"
    assert session.delete(f"{served.url}/v2/glossaries/{made['glossary_id']}", timeout=60).status_code == 204


def test_regions_find_the_model_of_their_language(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run)
    (model,) = running.server.models.all
    running.server.models._models = [
        replace(model, target="en"),
        replace(model, target="pt_BR"),
        replace(model, source="nb", target="de"),
    ]
    listed = requests.get(f"{running.url}/v2/languages?type=target", timeout=60).json()
    assert [one["language"] for one in listed] == ["EN-GB", "EN-US", "PT-BR", "DE"]
    assert [one["name"] for one in listed] == ["English (British)", "English (American)", "Portuguese", "German"]
    for source, target, status in (
        ("EN", "EN-GB", 200), ("en-us", "PT-PT", 200), ("NO", "DE-AT", 200), ("EN", "DE", 400), ("NB", "PT", 400)
    ):  # fmt: skip
        asked = {"text": ["A dog."], "source_lang": source, "target_lang": target}
        assert running.post("/v2/translate", asked).status_code == status, (source, target)
    assert requests.get(f"{running.url}/v2/glossary-language-pairs", timeout=60).json() == {"supported_languages": []}
    glossary = {"name": "a", "source_lang": "en", "target_lang": "pt", "entries": "a\tb"}
    refused = running.post("/v2/glossaries", glossary)
    assert refused.status_code == 404 and "this server keeps none" in refused.json()["message"]


def test_a_project_has_the_api_with_its_memory_and_terms(
    serve: Serve, tiny_run: Path, tmp_path: Path, sentences: list[str], expected: list[str]
) -> None:
    projects = Projects(tmp_path / "projects")
    shop = projects.create("shop", "en", "de")
    shop.store.confirm(sentences[0], "", "Aus <dem> Speicher")
    running = serve(tiny_run, projects=projects)
    asked: dict[str, Any] = {"text": sentences[:2], "target_lang": "DE"}
    for handling, known in ((None, "Aus <dem> Speicher"), ("xml", "Aus &lt;dem&gt; Speicher")):
        answer = running.post("/projects/shop/v2/translate", asked | {"tag_handling": handling}).json()
        assert [one["text"] for one in answer["translations"]] == [known, expected[1]]
    answer = running.post("/v2/translate", asked).json()
    assert [one["text"] for one in answer["translations"]] == expected[:2]
    shop.store.confirm(sentences[0], "", "Aus & Speicher")
    tagged = asked | {"text": [sentences[0].replace(" ", " <b/>", 1)], "tag_handling": "xml"}
    (answered,) = running.post("/projects/shop/v2/translate", tagged).json()["translations"]
    assert answered["text"].count("<b/>") == 1 and answered["text"].replace("<b/>", "") == "Aus &amp; Speicher"
    assert requests.get(f"{running.url}/projects/shop/v2/languages", timeout=60).json()[0]["language"] == "EN"
    named = {"name": "n", "source_lang": "en", "target_lang": "de", "entries": "a\tb"}
    for path in ("translate", "document/1", "usage", "languages", "glossaries"):
        missing = running.post(f"/projects/other/v2/{path}", asked | named | {"document_key": "1"})
        assert missing.status_code in (404, 405) and "message" in missing.json()
        missing = requests.get(f"{running.url}/projects/other/v2/{path}", params=asked, timeout=60)
        assert missing.status_code in (400, 404) and "message" in missing.json()
    assert running.post("/projects/shop/v2/document", {}).status_code == 415
    counted = requests.get(f"{running.url}/metrics", timeout=60).text
    assert '"/projects/{project}/v2/document"' in counted and "shop" not in counted


@pytest.mark.slow
def test_a_projects_documents_know_its_memory_and_terms(
    serve: Serve, tiny_run: Path, tmp_path: Path, sentences: list[str], expected: list[str]
) -> None:
    projects = Projects(tmp_path / "projects")
    shop = projects.create("shop", "en", "de")
    shop.store.confirm(sentences[0], "", "Aus & Speicher")
    others = {
        "Press %s now.": "Jetzt %s drücken.",
        "Click <b>there</b> now.": "Jetzt <b>dort</b> klicken.",
        "<b>Stop</b>": "<b>Halt</b>",
        "Hello {name}!": "Hallo {name}!",
    }
    for pair in others.items():
        shop.store.confirm(pair[0], "", pair[1])
    paragraphs = [sentences[0], f"<i>{sentences[0]}</i>", sentences[1], *others]
    page = "".join(f"<p>{text}</p>" for text in paragraphs)
    known = ["Aus &amp; Speicher", "<i>Aus &amp; Speicher</i>", expected[1], *others.values()]
    running = serve(tiny_run, projects=projects)
    form: dict[str, Any] = {"files": {"file": ("a.html", page)}, "timeout": 60}

    def by_deepl(prefix: str) -> str:
        asked = requests.post(f"{running.url}{prefix}/v2/document", data={"target_lang": "DE"}, **form).json()
        address, key = (
            f"{running.url}{prefix}/v2/document/{asked['document_id']}",
            {"document_key": asked["document_key"]},
        )
        wait_until(lambda: requests.post(address, json=key, timeout=60).json()["status"] in ("done", "error"))
        return requests.post(f"{address}/result", json=key, timeout=60).text

    assert by_deepl("/projects/shop") == "".join(f"<p>{text}</p>" for text in known)
    assert by_deepl("").count("Speicher") == 0
    asked = {"source": "en", "target": "de", "project": "shop"}
    answer = requests.post(f"{running.url}/translate_file", data=asked, **form).json()
    assert requests.get(answer["translatedFileUrl"], timeout=60).text == by_deepl("/projects/shop")
    for wrong, status in (("other", 404), ("back", 400)):
        projects.create("back", "de", "en")
        for path in ("/translate_file", "/v1/translate_file"):
            refused = requests.post(f"{running.url}{path}", data=asked | {"project": wrong}, **form)
            assert refused.status_code == status and wrong in refused.json()["error"]
    form["files"] = {"file": ("a.json", json.dumps(dict(enumerate(others))))}
    assert list(json.loads(by_deepl("/projects/shop")).values()) == list(others.values())
    shop.store.take_back(2)
    assert list(json.loads(by_deepl("/projects/shop")).values())[1:] == list(others.values())[1:]
    assert "Jetzt %s drücken." not in by_deepl("/projects/shop")
    form["files"] = {"file": ("a.txt", sentences[2])}
    assert by_deepl("/projects/shop") == expected[2]
    term = next(word for word in expected[1].split() if word not in expected[2])
    shop.replace_glossary(Glossary([Entry(sentences[2].split()[1], term)]))
    assert term in by_deepl("/projects/shop") and by_deepl("") == expected[2]
    word = expected[2].split()[0]
    shop.replace_glossary(Glossary([Entry("", word, is_banned=True)]))
    assert word not in by_deepl("/projects/shop").split()


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "translate", b'{"text": ["a"]}', 400),
        ("POST", "translate", b'{"text": ["\\ud800"], "target_lang": "de", "tag_handling": "xml"}', 400),
        ("POST", "translate", b'{"text": ["a"], "target_lang": "de", "glossary_id": "x"}', 400),
        ("POST", "translate", b'{"text": ["a"], "target_lang": "de", "split_sentences": "2"}', 400),
        ("POST", "translate", b"{", 400),
        (
            "POST",
            "glossaries",
            b'{"name": "\\ud800", "source_lang": "en", "target_lang": "de", "entries": "a\\tb"}',
            400,
        ),
        ("GET", "glossaries/\x00", b"", 404),
        ("GET", "nothing", b"", 404),
        ("DELETE", "usage", b"", 405),
        ("POST", "document/1", b"{}", 400),
        ("POST", "document/1/result", b'{"document_key": "\\ud800"}', 404),
    ],
)
def test_errors_have_the_form_of_the_api(
    served: Running, keys: list[str], method: str, path: str, body: bytes, status: int
) -> None:
    head = {"Authorization": f"DeepL-Auth-Key {keys[0]}", "Content-Type": "application/json"}
    answer = requests.request(method, f"{served.url}/v2/{path}", data=body, headers=head, timeout=60)
    assert answer.status_code == status and isinstance(answer.json()["message"], str)
    del head["Authorization"]
    answer = requests.request(method, f"{served.url}/v2/{path}", data=body, headers=head, timeout=60)
    assert answer.status_code in (400, 403, 404, 405) and "message" in answer.json()
