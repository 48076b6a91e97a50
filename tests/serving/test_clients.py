"""Programs that speak LibreTranslate's API are served: the packages themselves, and requests as others make them.

What Mastodon, Weblate, Discourse and Nextcloud send, and how they read the answer, is as in their public code.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
import requests
from running_server import Running, Serve

from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.detection import Detector, without_tags
from transduce.apps.serving.refusals import RefusedError

NODE = shutil.which("node"), shutil.which("npm")
PACKAGES = ("libretranslate@1.0.1", "translate@3.1.0")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("keys") / "keys.sqlite")


@pytest.fixture(scope="module")
def key(keys: Keys) -> str:
    return keys.add("client")


@pytest.fixture(scope="module")
def served(tiny_run: Path, keys: Keys, key: str) -> Iterator[Running]:
    """A server that wants a key."""
    running = Running(tiny_run, keys=str(keys.path), max_characters=2000)
    yield running
    running.end()


@pytest.fixture(scope="module")
def open_server(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run, max_characters=2000)
    yield running
    running.end()


@pytest.fixture(scope="module")
def sentences(corpus: Path) -> list[str]:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[:5]


def test_libretranslatepy(served: Running, key: str, sentences: list[str], expected: list[str]) -> None:
    libretranslatepy = pytest.importorskip("libretranslatepy")
    api = libretranslatepy.LibreTranslateAPI(served.url, key)
    assert api.translate(sentences[0], "en", "de") == expected[0]
    assert api.translate(sentences[0], "auto", "de") == expected[0]
    assert api.detect(sentences[0])[0]["language"] == "en"
    assert {one["code"]: one["targets"] for one in api.languages()} == {"en": ["de"], "de": []}


def test_deep_translator(served: Running, key: str, sentences: list[str], expected: list[str]) -> None:
    deep_translator = pytest.importorskip("deep_translator")
    exceptions = pytest.importorskip("deep_translator.exceptions")
    one = deep_translator.LibreTranslator(source="en", target="de", api_key=key, custom_url=f"{served.url}/")
    assert one.translate(sentences[1]) == expected[1]
    assert one.translate_batch(sentences) == expected
    wrong = deep_translator.LibreTranslator(source="en", target="de", api_key="wrong", custom_url=f"{served.url}/")
    with pytest.raises(exceptions.AuthorizationException):
        wrong.translate(sentences[1])


@pytest.fixture(scope="module")
def node_modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the packages of npm."""
    node, npm = NODE
    if not (node and npm):
        pytest.skip("there is no node")
    folder = tmp_path_factory.mktemp("npm")
    command = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--omit=dev", *PACKAGES]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode:
        pytest.skip(f"npm cannot install: {done.stderr.strip()[-200:]}")
    return folder


def run_node(folder: Path, program: str) -> Any:
    assert NODE[0] is not None
    (folder / "program.mjs").write_text(program, encoding="utf-8")
    done = subprocess.run(
        [NODE[0], "program.mjs"], cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.slow
def test_the_npm_package_libretranslate(
    node_modules: Path, served: Running, open_server: Running, key: str, sentences: list[str], expected: list[str]
) -> None:
    program = """
        import libretranslate from "libretranslate";
        const found = [];
        for (const [apiurl, apiKey, source, format] of %s)
            found.push(await libretranslate.translate({ query: %s, target: "de", apiurl, apiKey, source, format }));
        console.log(JSON.stringify(found));
    """
    asked = [[open_server.url, "", "en", "text"], [open_server.url, "", None, None], [served.url, key, "en", "text"]]
    assert run_node(node_modules, program % (json.dumps(asked), json.dumps(sentences[0]))) == [expected[0]] * 3


def test_the_npm_package_translate(
    node_modules: Path, served: Running, key: str, sentences: list[str], expected: list[str]
) -> None:
    program = """
        import { Translate } from "translate";
        const url = %s;
        const translate = Translate({ engine: "libre", from: "en", to: "de", url, key: %s });
        const wrong = Translate({ engine: "libre", from: "en", to: "de", url, key: "wrong" });
        const error = await wrong("A dog.").catch((error) => error.message);
        console.log(JSON.stringify([await translate(%s), error]));
    """
    said = json.dumps(f"{served.url}/translate"), json.dumps(key), json.dumps(sentences[0])
    assert run_node(node_modules, program % said) == [expected[0], "Invalid API key"]


def test_requests_as_mastodon_makes_them(served: Running, key: str, sentences: list[str], expected: list[str]) -> None:
    head = {"Content-Type": "application/json"}
    languages = requests.get(f"{served.url}/languages", headers=head, timeout=60).json()
    pairs = {one["code"]: [code for code in one["targets"] if code != one["code"]] for one in languages}
    assert pairs == {"en": ["de"], "de": []}
    for source in ("auto", "en"):
        asked = {"q": sentences, "source": source, "target": "de", "format": "html", "api_key": key}
        answer = requests.post(f"{served.url}/translate", data=json.dumps(asked), headers=head, timeout=60)
        told = answer.json()
        assert answer.status_code == 200 and told["translatedText"] == expected
        detected = [(told.get("detectedLanguage") or [{}] * 5)[n].get("language") or source for n in range(5)]
        assert detected == ["en"] * 5
    asked = {"q": sentences, "source": "en", "target": "de", "format": "html", "api_key": None}
    assert requests.post(f"{served.url}/translate", data=json.dumps(asked), headers=head, timeout=60).status_code == 403


def test_requests_as_weblate_makes_them(served: Running, key: str, sentences: list[str], expected: list[str]) -> None:
    assert {one["code"] for one in requests.get(f"{served.url}/languages", timeout=60).json()} == {"en", "de"}
    asked = {"api_key": key, "q": sentences, "source": "en", "target": "de"}
    assert served.post("/translate", asked).json()["translatedText"] == expected
    asked = {"api_key": key, "q": sentences[0], "source": "en", "target": "de"}  # older ones post a form
    assert requests.post(f"{served.url}/translate", data=asked, timeout=60).json()["translatedText"] == expected[0]
    settings = requests.get(f"{served.url}/frontend/settings", timeout=60).json()
    assert settings["charLimit"] == 2000 and settings["keyRequired"] is True


def test_requests_as_discourse_makes_them(served: Running, key: str, sentences: list[str], expected: list[str]) -> None:
    def ask(path: str, **fields: str) -> tuple[int, Any]:
        head = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = requests.post(served.url + path, data=urlencode({**fields, "api_key": key}), headers=head, timeout=60)
        return answer.status_code, answer.json()

    status, detected = ask("/detect", q=sentences[0])
    assert status == 200 and detected[0]["language"] == "en"
    status, told = ask("/translate", q=f"<p>{sentences[0]}</p>", source="en", target="de", format="html")
    assert status == 200 and told["translatedText"] == f"<p>{expected[0]}</p>"
    status, told = ask("/translate", q="a" * 3000, source="en", target="de", format="html")
    assert status >= 400 and isinstance(told["error"], str)  # shown as it is


def test_requests_as_nextcloud_makes_them(
    served: Running, open_server: Running, key: str, sentences: list[str], expected: list[str]
) -> None:
    """By the PHP client of its app: forms for all it posts, though some have no field, and even where it gets."""
    boundary = "------------------------d74496d66958873e"
    head = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    empty = f"--{boundary}--\r\n".encode()
    for body in (empty, b""):
        for path in ("/frontend/settings", "/languages"):
            answer = requests.request("GET", open_server.url + path, headers=head, data=body, timeout=60)
            assert answer.status_code == 200
        query = {"q": sentences[0], "api_key": key}
        answer = requests.post(f"{served.url}/detect?{urlencode(query)}", headers=head, data=body, timeout=60)
        assert answer.json()[0]["language"] == "en"
    assert requests.post(f"{open_server.url}/", headers=head, data=empty, timeout=60).status_code == 405
    fields = {"q": f"<p>{sentences[0]}</p>", "format": "html", "source": "en", "target": "de", "api_key": key}
    parts = {name: (None, value) for name, value in fields.items()}
    answer = requests.post(f"{served.url}/translate", files=parts, timeout=60)
    assert answer.json()["translatedText"] == f"<p>{expected[0]}</p>"
    fields = {"format": "html", "source": "en", "target": "de", "api_key": key}
    upload = {"file": ("a.txt", sentences[0].encode()), **{name: (None, value) for name, value in fields.items()}}
    url = requests.post(f"{served.url}/translate_file", files=upload, timeout=60).json()["translatedFileUrl"]
    assert requests.get(url, timeout=60).text == expected[0]


def test_several_texts_of_a_form_or_a_query_stay_several(
    open_server: Running, sentences: list[str], expected: list[str]
) -> None:
    asked = [("q", one) for one in sentences] + [("source", "en"), ("target", "de")]
    url = f"{open_server.url}/translate"
    form = {"files": [(name, (None, value)) for name, value in asked]}
    for given in ({"data": asked}, {"params": asked}, form):
        assert requests.post(url, timeout=60, **given).json()["translatedText"] == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("blank", ["format", "source", "alternatives", "api_key"])
def test_what_is_left_blank_is_as_if_it_were_not_there(
    open_server: Running, sentences: list[str], expected: list[str], blank: str
) -> None:
    for value in ("", None):
        asked = {"q": sentences[0], "source": "en", "target": "de", blank: value}
        assert open_server.post("/translate", asked).json()["translatedText"] == expected[0]


@pytest.mark.slow
def test_each_text_of_a_list_is_translated_from_its_own_language(
    serve: Serve, tiny_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = serve(tiny_run)
    models = running.server.models
    english = models.all[0]
    models._models.append(replace(english, source="fr"))
    asked_for: list[tuple[str, list[str]]] = []
    translate, translate_marked_up = running.server.translate, running.server.translate_marked_up

    async def watched(model: Any, texts: Sequence[str], *others: Any) -> Any:
        asked_for.append((model.source, list(texts)))
        return await translate(model, texts, *others)

    async def watched_pages(http: Any, model: Any, texts: Sequence[str]) -> Any:
        asked_for.append((model.source, list(texts)))
        return await translate_marked_up(http, model, texts)

    monkeypatch.setattr(running.server, "translate", watched)
    monkeypatch.setattr(running.server, "translate_marked_up", watched_pages)
    texts = ["The dog sees the cat in the garden.", "Le chien voit le chat dans le jardin.", "Where is my green shirt?"]
    for form in ("text", "html"):
        asked_for.clear()
        told = running.post("/translate", {"q": texts, "source": "auto", "target": "de", "format": form}).json()
        assert [one["language"] for one in told["detectedLanguage"]] == ["en", "fr", "en"]
        assert asked_for == [("en", [texts[0], texts[2]]), ("fr", [texts[1]])]
        alone = [running.post("/translate", {"q": one, "source": "auto", "target": "de"}).json() for one in texts]
        assert told["translatedText"] == [one["translatedText"] for one in alone]


def test_a_detected_language_has_the_code_by_which_it_is_served() -> None:
    german, english = "Zwei kleine Kinder spielen im tiefen Schnee.", "Two small children play in the deep snow."
    detector = Detector()
    for code in ("de", "de_AT", "de-CH", "DE"):
        assert detector.detect(german, ["en", code])[0]["language"] == code
        assert detector.detect(english, ["en", code])[0]["language"] == "en"
        assert detector.find_source(german, ["en", code], "fr")["language"] == code
    assert detector.detect("To barn leker i den dype snøen.", ["en", "nb"])[0]["language"] == "nb"


ENGLISH, GERMAN = "The dog is sleeping in the garden.", "Der Hund schläft im Garten."
FRENCH = "Le chien dort dans le jardin."


def test_a_text_that_no_model_reads_is_not_taken_for_another_language() -> None:
    detector = Detector()
    assert detector.find_source(GERMAN, ["de"], "en")["language"] == "de"
    assert detector.find_source(ENGLISH, ["de"], "en")["language"] == "en"
    for what in ("text", "document"):
        with pytest.raises(
            RefusedError, match=rf"The {what} seems to be in French \(fr\), which no model here .* \(de\)"
        ):
            detector.find_source(FRENCH, ["de"], "en", what)
    for text in (FRENCH, ENGLISH, "Hund"):
        assert detector.find_source(text, ["xx"], "en")["language"] == "xx"  # a language that the library does not know
    assert detector.find_source("Hund", ["de"], "en")["language"] == "de"  # two letters more, and it is of no language


def test_what_is_in_the_target_language_stays_and_what_no_model_reads_is_refused(open_server: Running) -> None:
    body = {"q": [GERMAN, "<b>Der Hund</b> schläft heute im Garten."], "target": "de"}  # the model is from English
    for form in ("text", "html"):
        told = open_server.post("/translate", body | {"source": "auto", "format": form}).json()
        assert told["translatedText"] == body["q"]
        assert [one["language"] for one in told["detectedLanguage"]] == ["de", "de"]
    deepl = open_server.post("/v2/translate", {"text": [GERMAN], "target_lang": "DE"}).json()["translations"]
    assert [(one["detected_source_language"], one["text"]) for one in deepl] == [("DE", GERMAN)]
    for path, asked in (
        ("/translate", {"q": FRENCH, "target": "de"}),
        ("/v2/translate", {"text": FRENCH, "target_lang": "DE"}),
    ):
        refused = open_server.post(path, asked)
        assert refused.status_code == 400 and "seems to be in French (fr)" in str(refused.json())
    file = {"file": ("a.txt", f"{GERMAN} {GERMAN}".encode())}
    document = requests.post(f"{open_server.url}/translate_file", files=file, data={"target": "de"}, timeout=60)
    assert document.status_code == 400 and "German already" in document.text


def test_sentences_of_a_document_that_are_in_the_target_language_stay(open_server: Running) -> None:
    english, german = f"{ENGLISH} A man rides a red bicycle down the street.", f"{GERMAN} Zwei Männer kochen Suppe."
    for address in (f"{open_server.url}/translate_file", f"{open_server.url}/v1/translate_file"):
        kept = {}
        for source in ("auto", "en"):
            file = {"file": ("a.txt", f"{english}\n\n{german}\n".encode())}
            answer = requests.post(address, files=file, data={"target": "de", "source": source}, timeout=60)
            url = json.loads(answer.text.splitlines()[-1])["translatedFileUrl"]
            kept[source] = requests.get(url, timeout=60).text.split("\n\n")
        assert kept["auto"][1].strip() == german != kept["en"][1].strip()
        assert kept["auto"][0] == kept["en"][0] != english


def test_languages_that_are_no_source_are_detected_too(open_server: Running) -> None:
    texts = {
        "de": "Zwei kleine Kinder spielen im tiefen Schnee vor dem Haus.",  # a target
        "es": "Dos niños pequeños juegan en la nieve delante de la casa.",  # not served
        "ja": "二人の子供が雪の中で遊んでいる。",
        "ru": "Двое маленьких детей играют в снегу перед домом.",
        "en": "Two small children play in the deep snow.",
    }
    for code, text in texts.items():
        found = open_server.post("/detect", {"q": text}).json()
        assert found[0]["language"] == code
        confidences = [one["confidence"] for one in found]
        assert confidences == sorted(confidences, reverse=True) and 0 < sum(confidences) <= 100.5
    assert open_server.post("/detect", {"q": "  "}).json() == [{"confidence": 0.0, "language": "en"}]


def test_comments_of_a_page_say_nothing_of_its_language() -> None:
    page = "<!DOCTYPE html><!-- <b>The page</b> of the dog --><p>Hallo</p><!-- no end > of it"
    assert without_tags(page).split() == ["Hallo"]
