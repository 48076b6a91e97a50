"""A server gives what the translator gives, to each its own, and refuses what it must in LibreTranslate's words."""

import io
import json
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from running_server import Running, Serve, wait_until

from transduce.apps.exchange.ctranslate2.export_ctranslate2 import export_ctranslate2
from transduce.apps.serving import batching
from transduce.apps.serving.admission import RateLimit
from transduce.apps.serving.client_keys import Keys
from transduce.apps.serving.detection import Detector
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam


@pytest.fixture(scope="module")
def served(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run, max_characters=2000)
    yield running
    running.end()


def test_what_comes_at_the_same_time_is_answered_as_if_it_came_alone(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    def ask(number: int) -> str:
        body = {"q": sentences[number % len(sentences)], "source": "en", "target": "de"}
        return served.post("/translate", body).json()["translatedText"]

    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(ask, range(48)))
    assert found == [expected[n % len(sentences)] for n in range(48)]


def test_a_list_and_line_ends_keep_their_form(served: Running, sentences: list[str], expected: list[str]) -> None:
    body = {"q": [sentences[0], "", f"{sentences[1]}\n\n  {sentences[2]}\n"], "source": "en", "target": "de"}
    found = served.post("/translate", body).json()["translatedText"]
    assert found == [expected[0], "", f"{expected[1]}\n\n  {expected[2]}\n"]


def test_html_keeps_its_tags(served: Running, sentences: list[str]) -> None:
    body = {"q": f"<p>{sentences[0]} <b>%s</b></p>", "source": "en", "target": "de", "format": "html"}
    found = served.post("/translate", body).json()["translatedText"]
    assert found.startswith("<p>") and found.endswith("</p>")
    assert found.count("%s") == found.count("<b>") == found.count("</b>") == 1


def test_our_own_api_has_scores_and_alignment_and_streams_the_same(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    body = {"text": f"{sentences[0]}\n{sentences[1]}", "source": "en", "target": "de", "n_best": 2, "alignment": True}
    answer = served.post("/v1/translate", body).json()["sentences"]
    assert [one["target"] for one in answer] == expected[:2]
    assert all(len(one["n_best"]) == 2 and 0 < one["confidence"] <= 1 for one in answer)
    assert all(one["details"]["words"] == one["target"].split() for one in answer)
    lines = served.post("/v1/translate", {**body, "stream": True}).iter_lines()
    assert list(map(json.loads, lines)) == answer


def test_runners_up_are_the_most_probable_other_tokens(served: Running, sentences: list[str]) -> None:
    body = {"text": sentences[0], "source": "en", "target": "de", "alignment": True}
    (told,) = served.post("/v1/translate", body).json()["sentences"]
    for token in told["details"]["tokens"]:
        names, shares = zip(*token["runners_up"], strict=True)
        assert len(names) == 4 and token["token"] not in names
        assert list(shares) == sorted(shares, reverse=True)
        assert token["probability"] + sum(shares) < 1.0001
    (first, *_) = told["details"]["tokens"]
    word, share = next(one for one in first["runners_up"] if one[0].isalpha())
    (other,) = served.post("/v1/translate", body | {"prefix": word}).json()["sentences"]
    assert other["details"]["tokens"][0]["probability"] == pytest.approx(share, abs=1e-4)


def test_a_file_is_translated_with_its_progress(served: Running, sentences: list[str], expected: list[str]) -> None:
    upload = {"file": ("a.txt", "\n\n".join(sentences).encode())}
    answer = requests.post(
        f"{served.url}/v1/translate_file", files=upload, data={"source": "en", "target": "de"}, timeout=60
    )
    lines = [json.loads(line) for line in answer.text.splitlines()]
    shares = [line["done"] for line in lines]
    assert shares == sorted(shares) and shares[0] >= 0 and shares[-1] == 1
    assert requests.get(lines[-1]["translatedFileUrl"], timeout=60).text == "\n\n".join(expected)
    upload = {"file": ("a.xlf", b"<xliff")}
    answer = requests.post(
        f"{served.url}/v1/translate_file", files=upload, data={"source": "en", "target": "de"}, timeout=60
    )
    assert "a.xlf" in json.loads(answer.text.splitlines()[-1])["error"]


def test_translations_that_a_file_has_stay_unless_they_are_to_be_replaced(served: Running) -> None:
    def translated(**form: str) -> str:
        catalogue = b'msgid "The dog"\nmsgstr "Mein Hund"\n'
        for path in ("/translate_file", "/v1/translate_file"):
            answer = requests.post(
                f"{served.url}{path}",
                files={"file": ("a.po", catalogue)},
                data={"source": "en", "target": "de"} | form,
                timeout=60,
            )
            address = json.loads(answer.text.splitlines()[-1])["translatedFileUrl"]
            texts.append(requests.get(address, timeout=60).text)
        return texts[-1]

    texts: list[str] = []
    translated()
    translated(retranslate="true")
    assert ["Mein Hund" in text for text in texts] == [True, True, False, False]


def test_text_is_tokenized_once(
    tiny_run: Path, sentences: list[str], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = Translator.load(tiny_run)
    translator.longest_source = 6  # so that some are translated in pieces
    pieces = [one.text for one in translator.translate(sentences)]
    assert pieces != expected
    read: list[str] = []
    tokenizer = translator.bundle.tokenizers.source
    encode_batch = tokenizer.encode_batch
    batcher = batching.Batcher(translator)
    try:
        futures = batcher.submit([Request(one) for one in [*sentences, " "]], Beam())
        assert [one.result(60).text for one in futures] == [*pieces, ""]
        translator.longest_source = 100
        monkeypatch.setattr(tokenizer, "encode_batch", lambda texts: read.extend(texts) or encode_batch(texts))
        futures = batcher.submit([Request(f" {one}") for one in sentences], Beam())
        assert [one.result(60).text for one in futures] == expected
        assert [text for text in read if text] == sentences  # prefixes, too, are tokenized, and blank here
    finally:
        batcher.close()


def test_documents_with_too_much_text_are_refused(serve: Serve, tiny_run: Path, sentences: list[str]) -> None:
    running = serve(tiny_run, max_document_characters=40)
    upload = {"file": ("a.txt", " ".join(sentences).encode())}
    for path in ("/translate_file", "/v1/translate_file"):
        answer = requests.post(running.url + path, files=upload, data={"source": "en", "target": "de"}, timeout=60)
        assert "at most 40 are taken" in answer.text


def test_a_paragraph_that_would_hold_up_the_server_is_refused(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run, max_characters=300)
    for page in (b"<p>" + b"A dog. " * 50, b"<p>" + b"a<wbr>" * 1001):
        answer = requests.post(
            f"{running.url}/translate_file", files={"file": ("a.html", page)}, data={"target": "de"}, timeout=60
        )
        assert answer.status_code == 413
        assert "line 1" in answer.json()["error"]


def test_the_characters_of_a_document_count_as_its_clients(serve: Serve, tiny_run: Path, sentences: list[str]) -> None:
    running = serve(tiny_run, characters_per_minute=50)
    upload = {"file": ("a.txt", "\n\n".join(sentences).encode())}
    form = {"source": "en", "target": "de"}
    assert requests.post(f"{running.url}/translate_file", files=upload, data=form, timeout=60).status_code == 200
    for path in ("/translate_file", "/v1/translate_file"):
        answer = requests.post(running.url + path, files=upload, data=form, timeout=60)
        assert answer.status_code == 429, answer.text
        assert int(answer.headers["retry-after"]) >= 1


def test_a_list_has_as_many_texts_as_a_text_sentences(served: Running) -> None:
    for form in ("text", "html"):
        body = {"q": ["a"] * 501, "source": "auto", "target": "de", "format": form}
        assert served.post("/translate", body).status_code == 413


@pytest.mark.parametrize(
    ("body", "status"),
    [({"target": "xx"}, 400), ({"text": "A dog. " * 600}, 413), ({"text": ["A dog. A cat."] * 300}, 413)],
)
def test_what_is_refused_is_refused_in_a_stream_too(served: Running, body: Any, status: int) -> None:
    answer = served.post("/v1/translate", {"text": "A dog.", "source": "en", "target": "de", "stream": True, **body})
    assert answer.status_code == status
    assert answer.json()["error"]


@pytest.mark.parametrize(("path", "name"), [("/translate", "q"), ("/v1/translate", "text")])
def test_bodies_that_are_too_large_or_no_unicode_are_refused(served: Running, path: str, name: str) -> None:
    for text, status in (("a" * 100_000, 413), ("\ud800 a", 400)):
        answer = served.post(path, {name: text, "source": "en", "target": "de"})
        assert answer.status_code == status
        assert answer.json()["error"]


def test_a_client_that_leaves_while_it_sends_is_no_mistake_of_the_server(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run)
    host, port = running.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as client:
        head = b"Host: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        client.sendall(b"POST /detect HTTP/1.1\r\n" + head + b"{")
    wait_until(lambda: 'path="/detect",status="' in requests.get(f"{running.url}/metrics", timeout=60).text)
    assert 'path="/detect",status="400"' in requests.get(f"{running.url}/metrics", timeout=60).text


def test_a_stream_takes_no_longer_than_any_request(tiny_run: Path, sentences: list[str]) -> None:
    running = Running(tiny_run, timeout=0.5)
    gate = threading.Event()
    batcher = running.server.models.all[0].batcher
    try:
        batcher.run(lambda: gate.wait(20))
        body = {"text": sentences[0], "source": "en", "target": "de", "stream": True}
        assert running.post("/v1/translate", body).status_code == 503
        running.wait_until_idle()
    finally:
        gate.set()
        running.end()


@pytest.mark.slow
def test_who_reads_a_stream_slowly_holds_nobody_up(serve: Serve, tiny_run: Path, sentences: list[str]) -> None:
    running = serve(tiny_run, max_characters=20_000)
    body = {"text": sentences * 20, "source": "en", "target": "de", "stream": True, "alignment": True, "n_best": 4}
    with requests.post(f"{running.url}/v1/translate", json=body, stream=True, timeout=60) as answer:
        lines = answer.iter_lines()
        next(lines)
        running.wait_until_idle()  # though most of the answer waits to be read
        assert len(list(lines)) == 20 * len(sentences) - 1


def test_the_language_of_a_document_is_detected_by_its_text(
    served: Running, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    docx = pytest.importorskip("docx")
    document, data = docx.Document(), io.BytesIO()
    document.add_paragraph(sentences[0])
    document.save(data)
    told: list[str] = []

    def find_source(self: Detector, text: str, sources: Sequence[str], *_: str) -> dict[str, Any]:
        told.append(text)
        return {"language": sources[0]}

    monkeypatch.setattr(Detector, "find_source", find_source)
    files = {"file": ("a.docx", data.getvalue())}
    assert requests.post(f"{served.url}/translate_file", files=files, data={"target": "de"}, timeout=60).ok
    assert told == [sentences[0]]


def test_a_file_is_translated_and_fetched_as_often_as_one_likes(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    files = {"file": ("../../etc/a b.txt", sentences[0].encode())}
    answer = requests.post(
        f"{served.url}/translate_file", files=files, data={"source": "en", "target": "de"}, timeout=60
    )
    url = answer.json()["translatedFileUrl"]
    first = requests.get(url, timeout=60)
    assert first.text.strip() == expected[0]
    assert 'filename="a b.de.txt"' in first.headers["content-disposition"]
    assert requests.get(url, timeout=60).content == first.content
    head = {"Range": "bytes=2-"}
    rest = requests.get(url, headers=head, timeout=60)
    assert (rest.status_code, rest.content) == (206, first.content[2:])
    assert requests.get(url, headers={"Range": "bytes=99999-"}, timeout=60).status_code == 416
    assert requests.head(url, timeout=60).headers["content-length"] == str(len(first.content))
    assert requests.get(f"{served.url}/download_file/other.txt", timeout=60).status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"q": "a", "source": "en"}, 400),
        ({"q": "a", "source": "en", "target": "xx"}, 400),
        ({"q": "a", "source": "en", "target": "de", "format": "pdf"}, 400),
        ({"q": "a", "source": "en", "target": "de", "alternatives": -1}, 400),
        ([1], 400),
    ],
)
def test_mistakes_are_reported_in_one_line(served: Running, body: Any, status: int) -> None:
    answer = served.post("/translate", body)
    assert answer.status_code == status
    assert isinstance(answer.json()["error"], str)


def test_a_request_that_cannot_be_followed_spoils_no_other(
    served: Running, sentences: list[str], expected: list[str]
) -> None:
    def ask(number: int) -> Any:
        glossary = [{"target": "x", "ban": True}, {"target": "x"}] if number % 3 == 0 else []
        body = {"text": sentences[number], "source": "en", "target": "de", "glossary": glossary}
        return served.post("/v1/translate", body)

    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(ask, range(6)))
    assert [one.status_code for one in answers] == [400, 200, 200, 400, 200, 200]
    assert [answers[n].json()["sentences"][0]["target"] for n in (1, 2, 4, 5)] == [expected[n] for n in (1, 2, 4, 5)]


@pytest.mark.slow
def test_models_are_replaced_while_requests_run(served: Running, sentences: list[str], expected: list[str]) -> None:
    def ask(number: int) -> str:
        if number == 5:
            served.server.models.reload()
        body = {"q": sentences[number % 12], "source": "en", "target": "de"}
        return served.post("/translate", body).json()["translatedText"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, range(24))) == [expected[n % 12] for n in range(24)]


def test_keys_are_needed_hashed_and_revoked(serve: Serve, tiny_run: Path, tmp_path: Path, sentences: list[str]) -> None:
    keys = Keys(tmp_path / "keys.sqlite")
    key, admin = keys.add("anna", requests_per_minute=2), keys.add("root", is_admin=True)
    assert key.encode() not in (tmp_path / "keys.sqlite").read_bytes()
    with pytest.raises(InputError, match="anna"):
        keys.add("anna")
    running = serve(tiny_run, keys=str(tmp_path / "keys.sqlite"))
    body = {"q": sentences[0], "source": "en", "target": "de"}
    assert running.post("/translate", body).status_code == 403
    statuses = [running.post("/translate", {**body, "api_key": key}).status_code for _ in range(3)]
    assert statuses == [200, 200, 429]
    assert running.post("/v1/admin/reload", headers={"Authorization": f"Bearer {key}"}).status_code == 403
    assert running.post("/v1/admin/reload", headers={"Authorization": f"Bearer {admin}"}).status_code == 200
    keys.revoke("anna")
    assert running.post("/translate", {**body, "api_key": key}).status_code == 403


def test_what_is_cancelled_is_never_searched(tiny_run: Path, sentences: list[str]) -> None:
    batcher = batching.Batcher(Translator.load(tiny_run))
    gate = threading.Event()
    batcher.run(gate.wait)
    dropped = batcher.submit([Request(one) for one in sentences], Beam())
    kept = batcher.submit([Request(sentences[0])], Beam())
    for future in dropped:
        future.cancel()
    gate.set()
    assert kept[0].result(60).text
    assert batcher.waiting == 0
    batcher.close()


def test_a_short_request_overtakes_a_long_one_that_came_before(
    tiny_run: Path, sentences: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "ROWS_AT_ONCE", 64)  # few sentences a batch
    translator = Translator.load(tiny_run)
    monkeypatch.setattr(
        translator, "translate_chunk", lambda texts, *_, **__: [Translation(one.text, []) for one in texts]
    )
    batcher = batching.Batcher(translator)
    gate = threading.Event()
    batcher.run(gate.wait)
    order: list[str] = []
    long = batcher.submit([Request(one) for one in 3 * sentences], Beam())
    short = batcher.submit([Request(sentences[0])], Beam())
    for name, futures in (("long", long), ("short", short)):
        for future in futures:
            future.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
    gate.wait(0.05)  # both wait for long, beside what the short one takes
    gate.set()
    assert [future.result(60).text for future in long] == 3 * sentences
    assert order.index("short") == 0 and len(order) == 37
    batcher.close()


def test_an_exported_model_answers_as_it_translates_and_refuses_what_it_cannot(
    serve: Serve, tiny_run: Path, tmp_path: Path, sentences: list[str]
) -> None:
    pytest.importorskip("ctranslate2")
    export_ctranslate2(tiny_run, tmp_path / "exported")
    running = serve(tmp_path / "exported")
    body = {"q": sentences, "source": "en", "target": "de"}
    found = running.post("/translate", body).json()["translatedText"]
    assert found == [one.text for one in Translator.load(tmp_path / "exported").translate(sentences)]
    body = {"text": sentences[0], "source": "en", "target": "de"}
    (told,) = running.post("/v1/translate", {**body, "alignment": True}).json()["sentences"]
    assert (told["target"], told["details"]) == (found[0], None)
    refused = running.post("/v1/translate", {**body, "groups": 2})
    assert refused.status_code == 400 and "exported models do not support diverse beams" in refused.json()["error"]


def test_an_address_in_use_is_reported_in_one_line_before_models_are_loaded(tiny_run: Path, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        command = [sys.executable, "-m", "transduce", "serve", str(tiny_run), "--port", port]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == f"transduce: cannot listen on 127.0.0.1, port {port}: address already in use\n"


def test_a_rate_fills_again_evenly() -> None:
    now = 0.0
    limit = RateLimit("requests", lambda: now)
    for _ in range(6):
        limit.take("a", 1, 6)
    with pytest.raises(RefusedError) as refused:
        limit.take("a", 1, 6)
    assert refused.value.status == 429 and refused.value.retry_after == pytest.approx(10)
    limit.take("b", 1, 6)
    now = 10.0
    limit.take("a", 1, 6)


def test_metrics_count_answers_and_batches(served: Running, sentences: list[str]) -> None:
    assert served.post("/translate", {"q": sentences[0], "source": "en", "target": "de"}).status_code == 200
    text = requests.get(f"{served.url}/metrics", timeout=60).text
    assert 'transduce_requests_total{path="/translate",status="200"}' in text
    assert "transduce_batch_sentences_count" in text


def test_a_client_that_goes_away_stops_costing(served: Running, sentences: list[str]) -> None:
    gate = threading.Event()
    batcher = served.server.models.all[0].batcher
    batcher.run(gate.wait)
    body = {"q": sentences, "source": "en", "target": "de"}
    with pytest.raises(requests.Timeout):
        requests.post(f"{served.url}/translate", json=body, timeout=0.5)
    served.wait_until_idle()
    gate.set()
    batcher.run(lambda: None).result(60)
    assert batcher.waiting == 0


@pytest.mark.slow
def test_sigterm_ends_the_server_after_what_has_begun(
    tiny_run: Path, sentences: list[str], expected: list[str]
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "transduce",
        "serve",
        str(tiny_run),
        "--port",
        str(port),
        "--max-characters",
        "99999",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server, ThreadPoolExecutor(1) as pool:
        try:
            assert server.stderr is not None
            next(line for line in server.stderr if "running on" in line)
            url = f"http://127.0.0.1:{port}"
            body = {"q": sentences * 40, "source": "en", "target": "de"}
            answer = pool.submit(requests.post, f"{url}/translate", json=body, timeout=60)
            while "transduce_requests_in_progress 1.0" not in requests.get(f"{url}/metrics", timeout=60).text:
                assert not answer.done(), answer.result().text
            server.send_signal(signal.SIGHUP)
            server.send_signal(signal.SIGTERM)
            assert answer.result().json()["translatedText"] == expected * 40
            rest = server.stderr.read()
            assert server.wait(60) == 0, rest
        finally:
            server.kill()
    assert sentences[0] not in rest
