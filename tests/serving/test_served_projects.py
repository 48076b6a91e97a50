"""A server's projects answer from what people confirmed, lose nothing, keep apart, and refuse what they must."""

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from running_server import Running, wait_until

from transduce.apps.projects.project import Project, Projects
from transduce.apps.projects.project_settings import ProjectSettings
from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.server import TURNS
from transduce.inference.sentence_model import SentenceModel
from transduce.inference.translator import Translator

TMX = """<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>A dog.</seg></tuv>
<tuv xml:lang="de"><seg>Ein Hund aus dem Speicher.</seg></tuv></tu></body></tmx>"""
LANGUAGES = {"source": "en", "target": "de"}


class Served(Running):
    """A server with projects, and requests about them."""

    def ask(self, method: str, path: str, body: Any = None, data: bytes | None = None, **headers: str) -> Any:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        url = f"{self.url}/v1/projects{path}"
        return requests.request(method, url, json=body, data=data, headers=named, timeout=60)

    def made(self, name: str) -> str:
        assert self.ask("PUT", f"/{name}", LANGUAGES).status_code == 200
        return f"/{name}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "projects"


@pytest.fixture(scope="module")
def served(tiny_run: Path, folder: Path) -> Iterator[Served]:
    running = Served(tiny_run, projects=Projects(folder), max_characters=2000, max_upload_bytes=200_000)
    yield running
    running.end()


def test_the_memory_answers_what_it_has_and_the_model_the_rest(
    served: Served, tiny_run: Path, sentences: list[str]
) -> None:
    shop = served.made("shop")
    expected = [one.text for one in Translator.load(tiny_run).translate(sentences)]
    answer = served.ask("POST", f"{shop}/translate", {"text": sentences}).json()["segments"]
    assert [(one["translation"], one["origin"]) for one in answer] == [(text, "model") for text in expected]
    assert all(one["quality"] is None and one["terms"] == [] for one in answer)
    assert all(one["translation"] not in one["alternatives"] for one in answer)

    machine = answer[1]["translation"]
    segment = {"source": sentences[1], "machine": machine, "target": "Das habe ich bestätigt."}
    id = served.ask("POST", f"{shop}/segments", segment).json()["id"]
    (one,) = served.ask("POST", f"{shop}/translate", {"text": f"{sentences[1]}"}).json()["segments"]
    assert (one["translation"], one["origin"]) == ("Das habe ich bestätigt.", "memory")
    assert one["matches"] == [
        {
            "source": sentences[1],
            "target": "Das habe ich bestätigt.",
            "similarity": 1.0,
            "segment": id,
            "in_context": False,
        }
    ]
    (one,) = served.ask("POST", f"{shop}/translate", {"text": [f"{sentences[1][:-1]}!"]}).json()["segments"]
    assert one["origin"] == "model" and 0.7 < one["matches"][0]["similarity"] < 1

    (listed,) = served.ask("GET", f"{shop}/segments").json()["segments"]
    assert listed.items() >= {"id": id, "machine": machine, "origin": "api"}.items()
    assert served.ask("GET", f"{shop}/segments?after={id}").json() == {"segments": []}
    assert served.ask("DELETE", f"{shop}/segments/{id}").json() == {"id": id}
    (one,) = served.ask("POST", f"{shop}/translate", {"text": [sentences[1]]}).json()["segments"]
    assert (one["translation"], one["origin"], one["matches"]) == (machine, "model", [])
    facts = served.ask("GET", shop).json()
    assert facts.items() >= {"segments": 0, "revision": 2, "memory": 0, "learned": 0, **LANGUAGES}.items()


def test_a_translation_is_known_by_the_segment_before(served: Served) -> None:
    name = served.made("before")
    for target, before in (("Öffnen", "File"), ("Offen", "The shop")):
        served.ask("POST", f"{name}/segments", {"source": "Open", "target": target, "before": before})

    def found(text: list[str], **more: Any) -> list[tuple[str, bool]]:
        answer = served.ask("POST", f"{name}/translate", {"text": text, **more}).json()["segments"]
        matches = [match for one in answer for match in one["matches"] if one["source"] == "Open"]
        return [(match["target"], match["in_context"]) for match in matches]

    assert found(["File", "Open", "The shop", "Open", "A dog", "Open"]) == [
        ("Öffnen", True), ("Offen", True), ("Offen", False),
    ]  # fmt: skip
    assert found(["Open", "Open"], before=[["The shop", "File"], []]) == [("Öffnen", True), ("Offen", False)]
    upload = {"file": ("menu.html", "<p><b>File</b></p><p>Open</p><p>A dog</p><p>Open</p>")}
    form = {"source": "en", "target": "de", "project": "before"}
    answer = requests.post(f"{served.url}/translate_file", files=upload, data=form, timeout=60).json()
    page = requests.get(answer["translatedFileUrl"], timeout=60).text
    assert page.index("<p>Öffnen</p>") < page.index("<p>Offen</p>")


def test_a_text_is_divided_into_sentences_unless_its_whole_is_known(served: Served) -> None:
    name, text = served.made("parts"), "A dog runs. A cat sleeps."

    def sources() -> list[tuple[int, str]]:
        answer = served.ask("POST", f"{name}/translate", {"text": text}).json()["segments"]
        return [(one["start"], one["source"]) for one in answer]

    assert sources() == [(0, "A dog runs."), (12, "A cat sleeps.")]
    served.ask("POST", f"{name}/segments", {"source": text, "target": "Beides."})
    assert sources() == [(0, text)]


def test_a_similar_translation_begins_that_of_a_sentence_where_it_can(
    served: Served, tiny_run: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    word_by_word = {(number, number) for number in range(20)}
    monkeypatch.setattr(SentenceModel, "align", lambda model, pairs: [word_by_word for _ in pairs])
    shop = served.made("repairs")
    known, words = sentences[2], Translator.load(tiny_run).translate(sentences[2]).text.split()
    target = " ".join(words[: len(known.split())])
    for pair in ((known, target), ("The cat hears a bird.", "\U0001f431 hört es.")):
        served.ask("POST", f"{shop}/segments", dict(zip(("source", "target"), pair, strict=True)))
    texts = [f"{known[:-1]} there.", "The cat hears a dog.", "Who is there?", known]
    plain = served.ask("POST", f"{shop}/translate", {"text": texts}).json()["segments"]
    assert [one["repaired"] for one in plain] == [None] * 4
    asked = {"text": texts, "repair": True}
    answer = served.ask("POST", f"{shop}/translate", asked).json()["segments"]
    assert [{**one, "repaired": None} for one in answer] == plain
    beginning = " ".join(target.split()[: len(known.split()) - 1])
    assert answer[0]["repaired"].startswith(beginning)
    assert [one["repaired"] for one in answer[1:]] == [None] * 3


def test_memory_and_glossary_come_in_and_go_out(served: Served) -> None:
    name = served.made("files")
    assert served.ask("PUT", f"{name}/memory", data=TMX.encode()).json() == {"pairs": 1}
    (one,) = served.ask("POST", f"{name}/translate", {"text": "A dog."}).json()["segments"]
    assert one["translation"] == "Ein Hund aus dem Speicher."
    answer = served.ask("GET", f"{name}/memory")
    assert answer.headers["Content-Type"] == "application/x-tmx+xml"
    assert served.ask("PUT", f"{name}/memory", data=answer.content).json() == {"pairs": 1}
    table = b"dog\tHund\ncat\tKater\tban\n"
    kinds = ["text/tab-separated-values", "text/csv", "application/x-tbx"]
    assert served.ask("PUT", f"{name}/glossary", data=table, Content_Type=kinds[0]).json() == {"terms": 2}
    for kind in kinds:
        file = served.ask("GET", f"{name}/glossary", Accept=kind)
        assert file.headers["Content-Type"].partition(";")[0] == kind
        assert served.ask("PUT", f"{name}/glossary", data=file.content, Content_Type=kind).json() == {"terms": 2}
    assert served.ask("GET", f"{name}/glossary").content == table
    (one,) = served.ask("POST", f"{name}/translate", {"text": "The dog."}).json()["segments"]
    assert one["terms"] == [
        {"source": "dog", "target": "Hund", "met": "Hund" in one["translation"], "why": one["terms"][0]["why"]}
    ]
    unknown = "dog\t\U0001f436\n".encode()
    assert served.ask("PUT", f"{name}/glossary", data=unknown, Content_Type=kinds[0]).json() == {"terms": 1}
    (one,) = served.ask("POST", f"{name}/translate", {"text": "The dog."}).json()["segments"]
    assert one["terms"][0]["why"] == "the model's vocabulary cannot write '\U0001f436'"
    served.ask("PUT", f"{name}/glossary", data=table, Content_Type=kinds[0])
    body = {"text": "The dog.", **LANGUAGES, "project": "files"}
    (sentence,) = served.post("/v1/translate", body).json()["sentences"]
    assert sentence["satisfied"] + sentence["unsatisfied"] == ["Hund"]
    assert served.ask("PUT", f"{name}/glossary", data=b" ", Content_Type="text/csv").json() == {"terms": 0}


def test_what_cannot_be_is_refused_in_one_line_and_changes_nothing(served: Served, folder: Path) -> None:
    name = served.made("refused")
    csv = {"Content_Type": "text/csv"}
    long = {"source": "a" * 3000, "target": "b"}
    cases: list[tuple[str, str, Any, bytes | None, dict[str, str], int, str]] = [
        ("GET", "/missing", None, None, {}, 404, "no project 'missing'"),
        ("POST", "/missing/segments", {"source": "a", "target": "b"}, None, {}, 404, "no project"),
        ("PUT", "/.hidden", LANGUAGES, None, {}, 400, "no name of a project"),
        ("PUT", "/" + "x" * 65, LANGUAGES, None, {}, 400, "no name of a project"),
        ("PUT", "/..%2Fother", LANGUAGES, None, {}, 404, "Not Found"),
        ("PUT", "/%2E%2E%5Cother", LANGUAGES, None, {}, 400, "no name of a project"),
        ("PUT", "/french", {"source": "en", "target": "fr"}, None, {}, 400, "not supported"),
        ("PUT", name, {"source": "de", "target": "en"}, None, {}, 400, "not supported"),
        ("PUT", name, {}, None, {}, 400, "source"),
        ("POST", f"{name}/segments", {"source": "a"}, None, {}, 400, "target"),
        ("POST", f"{name}/segments", {"source": " ", "target": "b"}, None, {}, 400, "source is blank"),
        ("POST", f"{name}/segments", {"source": "\ud800", "target": "b"}, None, {}, 400, "surrogate"),
        ("POST", f"{name}/segments", long, None, {}, 413, "at most 2,000"),
        ("POST", f"{name}/segments", None, b"{}", {"Content_Type": "text/plain"}, 415, "Unsupported media type"),
        ("POST", f"{name}/translate", {"text": "a", "alternatives": 99}, None, {}, 400, "alternatives"),
        ("GET", f"{name}/segments?after=x", None, None, {}, 400, "after"),
        ("DELETE", f"{name}/segments/1", None, None, {}, 404, "no segment 1"),
        ("DELETE", f"{name}/segments/{10**30}", None, None, {}, 404, "no segment"),
        ("PUT", f"{name}/memory", None, b"<tmx", {}, 400, "memory.tmx"),
        ("PUT", f"{name}/memory", None, TMX.replace('"de"', '"fr"').encode(), {}, 400, "'en' to 'de'"),
        ("PUT", f"{name}/memory", None, b"x" * 300_000, {}, 413, "200,000 bytes"),
        ("PUT", f"{name}/glossary", None, b"a,b,c,d", csv, 400, "glossary.csv: line 1"),
        ("PUT", f"{name}/glossary", None, b"a,b", {"Content_Type": "text/html"}, 400, "no kind of glossary"),
        ("GET", f"{name}/glossary", None, None, {"Accept": "image/png"}, 400, "Accept"),
    ]
    for method, path, body, data, headers, status, words in cases:
        answer = served.ask(method, path, body, data, **headers)
        assert (answer.status_code, words in answer.json()["error"]) == (status, True), (method, path, answer.text)
    body = {"text": "a", "source": "de", "target": "en", "project": "refused"}
    assert served.post("/v1/translate", body).status_code == 400
    assert served.ask("GET", name).json()["revision"] == 0
    assert served.ask("GET", f"{name}/memory").text.count("<tu>") == 0
    assert all(path.name.isidentifier() or path.name == ".lock" for path in folder.iterdir())


def test_projects_of_many_clients_at_once_do_not_cross(served: Served) -> None:
    names = [served.made(name) for name in ("one", "two")]

    def work(number: int) -> None:
        mine = names[number % 2]
        target = f"{mine} {number}"
        for step in range(4):
            source = f"A dog number {step} runs."
            served.ask("POST", f"{mine}/segments", {"source": source, "target": target})
            (one,) = served.ask("POST", f"{mine}/translate", {"text": [source]}).json()["segments"]
            assert one["origin"] == "memory" and one["translation"].startswith(f"{mine} ")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    for name in names:
        segments = served.ask("GET", f"{name}/segments").json()["segments"]
        assert len(segments) == 16 and all(segment["target"].startswith(name) for segment in segments)


def test_a_project_whose_file_is_held_or_damaged_holds_up_no_other(
    tiny_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty requests wait for one file as long as the test lasts; those beyond a few are told to come again."""
    monkeypatch.setattr("transduce.apps.projects.project_store.PATIENCE", 100.0)
    monkeypatch.setattr("transduce.apps.serving.server.TURN_SECONDS", 0.3)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "project.toml").write_text("source = ")
    running = Served(tiny_run, projects=Projects(tmp_path))
    segment = {"source": "A dog", "target": "Ein Hund"}
    try:
        held, free = running.made("held"), running.made("free")
        with sqlite3.connect(tmp_path / "held" / "project.sqlite", isolation_level=None) as other:
            other.execute("begin immediate")
            with ThreadPoolExecutor(60) as pool:
                waiting = [pool.submit(running.ask, "POST", f"{held}/segments", segment) for _ in range(60)]
                wait_until(lambda: sum(future.done() for future in waiting) == 60 - TURNS)
                assert running.ask("POST", f"{free}/segments", segment).json() == {"id": 1}
                assert running.ask("POST", f"{free}/translate", {"text": "A dog"}).status_code == 200
                assert running.post("/detect", {"q": "A dog"}).status_code == 200
                assert running.ask("GET", "").status_code == 200
                assert requests.put(f"{running.url}/v1/projects/more", json=LANGUAGES, timeout=60).status_code == 200
                other.execute("rollback")
                answers = [future.result() for future in waiting]
        other.close()
        assert sorted(answer.status_code for answer in answers) == [200] * TURNS + [503] * (60 - TURNS)
        assert all("Retry-After" in answer.headers for answer in answers if answer.status_code == 503)
        assert running.ask("GET", held).json()["segments"] == TURNS
        answer = running.ask("GET", "/bad")
        assert (answer.status_code, "the project bad cannot be used" in answer.json()["error"]) == (503, True)
        shutil.rmtree(tmp_path / "free")
        assert running.ask("POST", f"{free}/segments", segment).status_code == 404
    finally:
        running.end()


def test_keys_and_rates_are_those_of_the_server(tiny_run: Path, tmp_path: Path) -> None:
    file = tmp_path / "keys.sqlite"
    key, slow = Keys(file).add("anna"), Keys(file).add("bert", characters_per_minute=20)
    running = Served(tiny_run, projects=Projects(tmp_path / "projects"), keys=str(file))
    anna, bert = ({"Authorization": f"Bearer {each}"} for each in (key, slow))
    segment = {"source": "A dog", "machine": "Ein Hund", "target": "Der Hund"}
    try:
        for method, path, body in (
            ("GET", "", None),
            ("PUT", "/shop", LANGUAGES),
            ("GET", "/shop/segments", None),
            ("POST", "/shop/segments", segment),
            ("PUT", "/shop/memory", None),
        ):
            assert running.ask(method, path, body).status_code == 403
            assert running.ask(method, path, body, Authorization="Bearer wrong").status_code == 403
        assert running.ask("PUT", "/shop", LANGUAGES, **anna).status_code == 200
        assert running.ask("POST", "/shop/segments", segment, **bert).status_code == 200
        assert running.ask("POST", "/shop/segments", segment, **bert).status_code == 429
        assert running.ask("POST", "/shop/segments", segment, **anna).json() == {"id": 2}
    finally:
        running.end()


def test_without_projects_there_are_none(tiny_run: Path) -> None:
    running = Served(tiny_run)
    try:
        assert running.ask("GET", "").status_code == 404
        answer = running.post("/v1/translate", {"text": "a", **LANGUAGES, "project": "shop"})
        assert (answer.status_code, answer.json()["error"]) == (404, "This server has no projects")
    finally:
        running.end()


@pytest.mark.slow
def test_a_killed_server_has_all_that_it_answered(tiny_run: Path, tmp_path: Path) -> None:
    projects = tmp_path / "projects"
    Project.create(projects / "shop", ProjectSettings(**LANGUAGES)).close()
    answered: dict[int, str] = {}
    for round in range(2):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        arguments = ["serve", str(tiny_run), "--projects", str(projects), "--port", str(port), "--engine", "pytorch"]
        process = subprocess.Popen([sys.executable, "-m", "transduce", *arguments], stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        for line in process.stderr:
            if "Uvicorn running" in line:
                break
        url = f"http://127.0.0.1:{port}/v1/projects/shop/segments"

        def confirm(client: int) -> None:
            for step in range(10_000):
                target = f"{round} {client} {step}"  # noqa: B023
                try:
                    answer = requests.post(url, json={"source": "a", "target": target}, timeout=20)  # noqa: B023
                except requests.RequestException:  # also in the middle of an answer
                    return
                answered[answer.json()["id"]] = target

        with ThreadPoolExecutor(3) as pool:
            clients = [pool.submit(confirm, client) for client in range(3)]
            before = len(answered)
            wait_until(lambda: len(answered) >= before + 20)  # noqa: B023
            os.kill(process.pid, signal.SIGKILL)
            [client.result() for client in clients]
        process.stderr.close()
        process.wait()
    shop = Projects(projects).find("shop")
    kept = {segment.id: segment.target for segment in shop.store.segments()}
    assert answered.items() <= kept.items() and len(answered) >= 40


@pytest.mark.slow
def test_translations_have_an_estimate_of_their_edits_once_there_is_enough_to_learn_from(served: Served) -> None:
    path = served.made("estimated")
    assert served.server.projects is not None
    store = served.server.projects.find("estimated").store

    def quality() -> Any:
        (segment,) = served.ask("POST", f"{path}/translate", {"text": "The dog sleeps."}).json()["segments"]
        return segment["quality"]

    for number in range(29):
        store.confirm(f"The {'big ' * (number % 4)}dog runs.", "Der Hund " * (1 + number % 3), "Der Hund rennt.")
    assert quality() is None
    store.confirm("The cat runs.", "Die Katze", "Die Katze rennt.")
    wait_until(lambda: quality() is not None)
    assert 0 <= quality()["low"] <= quality()["edit"] <= quality()["high"] <= 1
