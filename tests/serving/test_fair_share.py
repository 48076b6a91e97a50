"""A greedy client gets what is left over; all others are served as if it were not there."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import requests
from running_server import Running, Serve, wait_until

from transduce.apps.serving.batching import Batcher
from transduce.apps.serving.clients import client_of
from transduce.apps.serving.fair_queue import FairQueue, QueuedJob, QueuedPiece, QueuedSentence
from transduce.apps.serving.kept_files import KeptFiles
from transduce.apps.serving.quotas import Quota, newest
from transduce.apps.serving.refusals import RefusedError
from transduce.inference.request import Request
from transduce.inference.translation import Translation
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

pytestmark = pytest.mark.slow

BODY = {"q": "A dog.", "source": "en", "target": "de"}


@pytest.fixture(scope="module")
def served(tiny_run: Path) -> Iterator[Running]:
    running = Running(tiny_run, max_waiting=8)
    yield running
    running.end()


class Gate:
    """Holds up a server's model."""

    def __init__(self, running: Running) -> None:
        self._open = threading.Event()
        self._batcher = running.server.models.all[0].batcher

    def __enter__(self) -> None:
        self._batcher.run(self._open.wait, "the gate")

    def __exit__(self, *_: object) -> None:
        self._open.set()


def job_of(client: str, count: int, arrived: float = 0.0, length: int = 10, **asked: Any) -> QueuedJob:
    job = QueuedJob(arrived, client, None, Beam())
    for _ in range(count):
        sentence = QueuedSentence(Request("a", **asked), Future(), lambda: None)
        sentence.pieces = [QueuedPiece(sentence, 0, sentence.request, [[1] * length], length, client)]
        job.waiting += sentence.pieces
    return job


def test_clients_have_equal_shares_of_the_model_whatever_they_ask_for() -> None:
    queue, had = FairQueue(), {"greedy": 0.0, "modest": 0.0}
    queue.add(job_of("greedy", 5000))
    for second in range(100):
        if not queue.sentences_of("modest"):
            queue.add(job_of("modest", 3, float(second)))
        _, batch = queue.next(float(second), 400)
        for piece in batch:
            had[piece.client] += 1 / len(batch)
            queue.charge(piece.client, 1 / len(batch))
    assert had["modest"] >= 0.9 * had["greedy"] > 0


def test_who_comes_new_is_in_the_next_batch() -> None:
    queue = FairQueue()
    queue.add(job_of("greedy", 500))
    for n in range(20):
        _, batch = queue.next(float(n), 400)
        queue.charge("greedy", 1.0)
        assert {piece.client for piece in batch} == {"greedy"}
    for client in ("b", "c"):
        queue.add(job_of(client, 1, 20.0))
    _, batch = queue.next(20.0, 400)
    assert {"b", "c"} <= {piece.client for piece in batch}


def test_a_search_that_may_fail_is_shared_with_nobody() -> None:
    queue = FairQueue()
    for client in ("a", "b"):
        queue.add(job_of(client, 2, required=("x",)))
        queue.add(job_of(client, 2))
    batches = []
    while not queue.is_empty:
        batches.append(queue.next(0.0, 4000)[1])
    for batch in batches:
        clients = {piece.client for piece in batch}
        assert len(clients) == 1 or not any(piece.is_constrained for piece in batch)
    assert sum(map(len, batches)) == 8


def test_what_is_given_up_is_forgotten() -> None:
    queue = FairQueue()
    job = job_of("a", 600)
    queue.add(job)
    for piece in job.waiting[:599]:
        piece.sentence.future.cancel()
    queue.drop(job)
    assert queue.sentences == queue.sentences_of("a") == 1
    job.waiting[0].sentence.future.cancel()
    assert queue.next(0.0, 400) == (None, [])
    assert queue.is_empty


def test_a_long_sentence_is_searched_piece_by_piece_and_given_as_if_at_once(tiny_run: Path) -> None:
    translator = Translator.load(tiny_run)
    translator.longest_source = 6
    batcher = Batcher(translator)
    sizes: list[int] = []
    translate_chunk = translator.translate_chunk

    def watched(texts: Any, *others: Any, **more: Any) -> list[Translation]:
        sizes.append(sum(len(one) for line in more["encoded"] for one in line))
        return translate_chunk(texts, *others, **more)

    text = "the dog sees a cat and " * 400
    request = Request(text, "ein Hund", banned=("Katze",))
    search = Beam(n_best=2)
    expected = translate_chunk([request], search, with_details=True)
    translator.translate_chunk = watched  # type: ignore[method-assign]
    try:
        (found,) = batcher.submit([request], search, with_details=True)
        assert [found.result(60)] == expected
        assert len(sizes) > 1 and max(sizes) <= 3072 // 4
    finally:
        batcher.close()


def test_one_client_has_half_the_places_and_gives_way_beyond(served: Running) -> None:
    def ask(source: str) -> int:
        status, headers, _ = served.post_from(source, "/translate", BODY)
        assert status != 429 or int(headers["retry-after"]) >= 1
        return status

    with ThreadPoolExecutor(20) as pool, Gate(served):
        greedy = [pool.submit(ask, f"127.0.0.{2 + n % 2}") for n in range(8)]
        wait_until(lambda: served.server.admission.requests.total == 8)
        assert ask("127.0.0.2") == 429  # more than half
        modest = [pool.submit(ask, "127.0.0.4") for _ in range(2)]
        wait_until(lambda: sum(one.done() for one in greedy) == 2)
        assert served.server.admission.requests.total == 8 and not any(one.done() for one in modest)
    assert sorted(one.result() for one in greedy) == [200] * 6 + [429] * 2
    assert [one.result() for one in modest] == [200] * 2


def test_who_gives_way_in_a_stream_gets_an_error_there(served: Running) -> None:
    body = {"text": "A dog.", "source": "en", "target": "de", "stream": True}
    with ThreadPoolExecutor(20) as pool, Gate(served):
        greedy = [pool.submit(served.post_from, f"127.0.0.{2 + n % 2}", "/v1/translate", body) for n in range(8)]
        wait_until(lambda: served.server.admission.requests.total == 8)
        modest = pool.submit(served.post_from, "127.0.0.4", "/translate", BODY)
        wait_until(lambda: any(one.done() for one in greedy))
    assert modest.result()[0] == 200
    assert sorted(one.result()[0] for one in greedy) == [200] * 7 + [429]


def test_waiting_sentences_of_a_client_are_limited(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run, max_sentences=4)
    with ThreadPoolExecutor(20) as pool, Gate(running):
        many = {**BODY, "q": ["A dog."] * 4}
        greedy = [pool.submit(running.post_from, "127.0.0.2", "/translate", many) for _ in range(10)]
        wait_until(lambda: running.server.models.all[0].batcher.waiting_of("127.0.0.2") == 40)
        assert running.post_from("127.0.0.2", "/translate", many)[0] == 429
        modest = pool.submit(running.post_from, "127.0.0.3", "/translate", many)
        wait_until(lambda: running.server.models.all[0].batcher.waiting_of("127.0.0.3") == 4)
    assert [one.result()[0] for one in [*greedy, modest]] == [200] * 11


@pytest.mark.parametrize(
    "asked",
    [
        {"text": ["A dog."] * 300, "prefix": "ein Hund " * 200},
        {"text": "A dog.", "prefix": "ein Hund " * 200},
        {"text": "A dog.", "glossary": [{"target": f"Hund {n}" * 20} for n in range(200)]},
        {"text": ["A dog."] * 300, "glossary": [{"source": "dog", "target": f"Hund {n}"} for n in range(200)]},
        {
            "text": ["A dog."] * 300,
            "glossary": [{"source": "dog", "target": f"H {n}", "ban": True} for n in range(200)],
        },
        {"text": "A dog.", "glossary": [{"target": f"Hund {n}"} for n in range(100)]},
    ],
    ids=["list", "long", "terms", "matching-terms", "bans", "many-terms"],
)
def test_prefixes_and_terms_are_counted_before_they_cost_anything(served: Running, asked: dict[str, Any]) -> None:
    searched = served.server.models.all[0].batcher.translator
    before = searched.translate_chunk
    searched.translate_chunk = None  # type: ignore[method-assign,assignment]
    try:
        answer = served.post("/v1/translate", {"source": "en", "target": "de", **asked})
    finally:
        searched.translate_chunk = before  # type: ignore[method-assign]
    assert answer.status_code == 413 and answer.json()["error"]


def test_prefixes_and_terms_count_for_the_minute(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run, characters_per_minute=100)
    body = {"text": ["A dog."] * 2, "source": "en", "target": "de"}
    for more, left in (({"prefix": "ein Hund"}, 72), ({"glossary": [{"source": "dog", "target": "Katze"}]}, 42)):
        assert running.post("/v1/translate", body | more).status_code == 200
        assert f"{running.server.admission._characters._buckets['127.0.0.1'].level:.0f}" in {
            str(left),
            str(left + 1),
        }


@pytest.mark.parametrize("error", [SystemExit(), MemoryError()])
def test_a_batcher_that_fails_begins_anew_and_says_so(serve: Serve, tiny_run: Path, error: BaseException) -> None:
    running = serve(tiny_run)
    batcher = running.server.models.all[0].batcher
    next_batch = batcher._next_batch

    def fail() -> Any:
        batcher._next_batch = next_batch  # type: ignore[method-assign]
        raise error

    batcher._next_batch = fail  # type: ignore[method-assign]
    assert running.post("/translate", BODY).status_code == 200
    health = requests.get(f"{running.url}/health", timeout=60)
    assert (health.status_code, health.json()["models"][0]["restarts"]) == (200, 1)
    assert "transduce_batcher_restarts_total 1.0" in requests.get(f"{running.url}/metrics", timeout=60).text


def test_who_waits_for_a_batch_whose_thread_dies_gets_an_error(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run)
    translator = running.server.models.all[0].translator
    translate_chunk = translator.translate_chunk

    def die(*_: Any, **__: Any) -> Any:
        translator.translate_chunk = translate_chunk  # type: ignore[method-assign]
        raise SystemExit

    translator.translate_chunk = die  # type: ignore[method-assign]
    answer = running.post("/translate", BODY)
    assert answer.status_code == 503 and int(answer.headers["retry-after"]) >= 1
    assert running.post("/translate", BODY).status_code == 200


def test_a_batch_without_end_is_reported(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run, timeout=0.2)
    with Gate(running):
        wait_until(lambda: requests.get(f"{running.url}/health", timeout=60).status_code == 503)
        assert requests.get(f"{running.url}/health", timeout=60).json()["status"] == "stuck"
    wait_until(lambda: requests.get(f"{running.url}/health", timeout=60).status_code == 200)


def test_files_of_a_client_make_room_for_its_own_and_for_those_of_others() -> None:
    files = KeptFiles(1000)
    names = [files.keep(bytes(100), "a.txt", "greedy") for _ in range(9)]
    assert files.total == 200  # a quarter, in whole files
    assert files.find(names[-1]).data == bytes(100)
    for name in names[:-2]:
        with pytest.raises(RefusedError):
            files.find(name)
    kept = [files.keep(bytes(200), "a.txt", client) for client in ("b", "c", "d", "e")]
    assert files.total == 1000
    files.keep(bytes(100), "a.txt", "f")
    assert files.total == 1000 and files.find(kept[-1])
    with pytest.raises(RefusedError):
        files.find(names[-2])
    with pytest.raises(RefusedError) as refused:
        files.keep(bytes(200), "a.txt", "f")  # as much as anybody has
    assert refused.value.status == 503
    files.keep(bytes(100), "a.txt", "g")
    with pytest.raises(RefusedError) as refused:
        files.keep(bytes(251), "a.txt", "h")
    assert refused.value.status == 413


def test_kept_files_go_after_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    files = KeptFiles(1000)
    name = files.keep(b"a", "a.txt", "a")
    now = time.monotonic()
    monkeypatch.setattr("transduce.apps.serving.kept_files.time.monotonic", lambda: now + 601)
    with pytest.raises(RefusedError) as refused:
        files.find(name)
    assert refused.value.status == 404
    files.keep(b"b", "a.txt", "b")
    assert files.total == 1


def test_uploads_that_are_never_fetched_cost_their_client_alone(serve: Serve, tiny_run: Path) -> None:
    running = serve(tiny_run, max_kept_bytes=2000)
    upload = {"file": ("a.txt", b"A dog.\n\n" * 20)}
    form = {"source": "en", "target": "de"}
    urls = []
    for _ in range(8):
        answer = requests.post(f"{running.url}/translate_file", files=upload, data=form, timeout=60)
        assert answer.status_code == 200, answer.text
        urls.append(answer.json()["translatedFileUrl"])
    statuses = [requests.get(url, timeout=60).status_code for url in urls]
    assert statuses[-1] == 200 and statuses[0] == 404


def test_who_has_most_gives_way_to_who_has_less() -> None:
    quota: Quota[int] = Quota("things are held", 4, 3, others=newest)
    lost: list[int] = []
    quota.on_lost = lost.append
    for n in range(3):
        quota.take("greedy", n)
    with pytest.raises(RefusedError, match="3 of your things are held") as refused:
        quota.take("greedy", 3)
    assert refused.value.status == 429
    for client in "bcd":
        quota.take(client, 7)
    assert lost == [2, 1] and quota.total == 4
    with pytest.raises(RefusedError, match="Too many things") as refused:  # each has one
        quota.take("e", 8)
    assert refused.value.status == 503 and quota.total == 4


def test_what_cannot_be_given_up_is_refused_beyond_an_equal_share() -> None:
    quota: Quota[None] = Quota("bytes are held", 16, 8)
    body = quota.take("greedy", None, 10)  # one of any size
    assert quota.take("b", None, 5)
    with pytest.raises(RefusedError):
        quota.grow(body, 1)
    with pytest.raises(RefusedError):
        quota.take("b", None, 3)
    assert quota.give_back(body) and not quota.give_back(body)
    assert quota.total == 5 and quota.take("b", None, 3)


@pytest.mark.parametrize(
    ("address", "client"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("::1", "::1"),
        ("no address", "unknown"),
        ("", "unknown"),
    ],
)
def test_an_address_counts_as_the_client_who_has_it(address: str, client: str) -> None:
    assert client_of(address) == client
