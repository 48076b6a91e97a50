"""A bad document costs only itself: its process has limits, is killed in time, and takes nothing from others."""

import ast
import asyncio
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import hostile_documents
import pytest
import requests
from running_server import Running, Serve, wait_until

import docsegments
from transduce.apps.serving.documents import preloaded, worker
from transduce.apps.serving.documents.document_workers import DocumentWorkers
from transduce.apps.serving.documents.messages import Counted, File, Read, ReadSample, Sampled, Translate, WrittenFiles
from transduce.apps.serving.documents.process import Answers, DocumentProcess, ProcessFailedError
from transduce.apps.serving.documents.worker import ProcessLimits
from transduce.apps.serving.refusals import RefusedError
from transduce.base.errors import InputError
from transduce.inference.model_documents import DocumentTranslator
from transduce.inference.sentence_model import SentenceModel
from transduce.inference.translator import Translator
from transduce.search.beam import Beam

FORM = {"source": "en", "target": "de"}
LIMITS = ProcessLimits(256 * 2**20, 20)
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs the process table of Linux")


@pytest.fixture
def obedient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Documents do to their processes what hostile_documents says."""
    monkeypatch.setattr(worker, "work", hostile_documents.work)


@pytest.fixture(scope="module")
def sentence(corpus: Path) -> str:
    return (corpus / "test.en").read_text(encoding="utf-8").splitlines()[0]


@pytest.fixture(scope="module")
def expected(tiny_run: Path, sentence: str) -> str:
    return Translator.load(tiny_run).translate(sentence).text


@pytest.fixture
def served(tiny_run: Path, obedient: None) -> Iterator[Running]:
    running = Running(tiny_run, document_memory=256, timeout=20)
    yield running
    running.end()


def upload(served: Running, text: str | bytes, name: str = "a.txt", **others: Any) -> requests.Response:
    files = {"file": (name, text if isinstance(text, bytes) else text.encode())}
    return requests.post(f"{served.url}/translate_file", **({"files": files, "data": FORM, "timeout": 60} | others))


def bomb() -> bytes:
    """A Word document of half a mebibyte that unpacks to 100."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("word/document.xml", "w") as file:
        file.write(b'<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p>')
        for number in range(2**20 // 7):
            file.write(b"<w:r/>" * 100 + b" " * (number % 97))
        file.write(b"</w:p></w:body></w:document>")
    return data.getvalue()


def processes_below(*parents: int) -> set[int]:
    """The processes that descend from some."""
    parent_of = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parent_of[int(folder.name)] = int(fields[1])
    found = set(parents)
    while more := {process for process, parent in parent_of.items() if parent in found} - found:
        found |= more
    return found - set(parents)


def test_a_word_document_that_unpacks_to_100_mebibytes_is_refused_for_its_memory(served: Running) -> None:
    data = bomb()
    assert len(data) < 2**20
    answer = upload(served, data, "a.docx")
    assert answer.status_code == 413
    assert answer.json()["error"] == "This document needs more than the 256 MiB of memory allowed; divide it"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("eats memory", 413, "more than the 256 MiB of memory"),
        ("kills its process", 503, "has ended"),
        ("makes a mistake", 500, "mistake"),
        ("says what it must not", 500, "mistake"),
    ],
)
def test_what_a_document_does_to_its_process_costs_only_itself(
    served: Running, sentence: str, expected: str, text: str, status: int, words: str
) -> None:
    for path in ("/translate_file", "/v1/translate_file"):
        answer = requests.post(served.url + path, files={"file": ("a.txt", text)}, data=FORM, timeout=60)
        assert answer.status_code == status
        assert words in answer.json()["error"]
    address = upload(served, sentence).json()["translatedFileUrl"]
    assert requests.get(address, timeout=60).text == expected


def test_a_mistake_is_reported_without_the_document(obedient: None) -> None:
    process = DocumentProcess(LIMITS)
    with pytest.raises(ProcessFailedError) as told:
        process.ask(ReadSample(File(b"makes a mistake", "a.txt", "text"), "de"), Sampled)
    process.release()
    assert "IndexError" in str(told.value) and "hostile_documents.py" in str(told.value)
    assert "in the middle of makes" not in str(told.value)


@pytest.mark.slow
def test_a_document_has_a_limit_of_processor_time(obedient: None) -> None:
    process = DocumentProcess(ProcessLimits(256 * 2**20, 1))
    with pytest.raises(RefusedError, match="1 seconds of processor time") as refused:
        process.ask(ReadSample(File(b"loops", "a.txt", "text"), "de"), Sampled)
    process.release()
    assert refused.value.status == 413


@pytest.mark.slow
@needs_proc
def test_eight_that_loop_hold_up_nobody_and_end_when_their_clients_go(
    served: Running, sentence: str, expected: str
) -> None:
    before = processes_below(os.getpid())
    body = requests.Request("POST", served.url, files={"file": ("a.txt", "loops")}, data=FORM).prepare()
    head = "".join(f"{name}: {value}\r\n" for name, value in body.headers.items())
    assert isinstance(body.body, bytes)
    with ExitStack() as clients:
        for _ in range(8):
            address = served.url.removeprefix("http://").split(":")
            client = clients.enter_context(socket.create_connection((address[0], int(address[1])), timeout=60))
            client.sendall(f"POST /translate_file HTTP/1.1\r\nHost: localhost\r\n{head}\r\n".encode() + body.body)
        wait_until(lambda: served.server.admission.requests.total == 8)
        wait_until(lambda: served.server.documents.busy == 4)  # half of the processes are one client's at most
        for _ in range(20):
            assert requests.get(f"{served.url}/health", timeout=5).ok
            answer = served.post("/translate", {"q": sentence, **FORM})
            assert answer.json()["translatedText"] == expected
        page = served.post("/translate", {"q": f"<p>{sentence}", **FORM, "format": "html"})
        assert page.json()["translatedText"] == f"<p>{expected}"
        wait_until(lambda: served.server.documents.busy == 4)
    served.wait_until_idle()
    wait_until(lambda: served.server.documents.busy == 0)
    wait_until(lambda: len(processes_below(os.getpid()) - before) <= 3)  # those that wait for the next documents
    assert upload(served, sentence).ok


def test_a_document_that_takes_too_long_is_ended_with_its_process(
    serve: Serve, tiny_run: Path, obedient: None, sentence: str
) -> None:
    running = serve(tiny_run, timeout=1)
    answer = running.post("/translate", {"q": "loops", **FORM, "format": "html"})
    assert answer.status_code in (413, 503)
    wait_until(lambda: running.server.documents.busy == 0)
    assert running.post("/translate", {"q": sentence, **FORM, "format": "html"}).ok


@pytest.mark.slow
@needs_proc
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_no_process_outlives_its_server(tiny_run: Path, number: signal.Signals) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = (
        "import sys; import hostile_documents; from transduce.apps.serving.documents import worker; "
        "worker.work = hostile_documents.work; from transduce.apps.cli.main import main; main()"
    )
    command = [sys.executable, "-c", program, "serve", str(tiny_run), "--port", str(port)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as server:
        try:
            assert server.stderr is not None
            next(line for line in server.stderr if "running on" in line)
            url = f"http://127.0.0.1:{port}"

            def ask() -> None:
                with suppress(requests.RequestException):
                    requests.post(f"{url}/translate_file", files={"file": ("a.txt", "loops")}, data=FORM, timeout=60)

            with ThreadPoolExecutor(2) as pool:
                asked = [pool.submit(ask) for _ in range(2)]
                busy = "transduce_document_processes 2.0"
                wait_until(lambda: busy in requests.get(f"{url}/metrics", timeout=60).text)
                wait_until(lambda: len(processes_below(server.pid)) >= 4)  # two loop, and two have started them
                below = processes_below(server.pid)
                while server.poll() is None:  # the second time SIGTERM does not wait for what has begun
                    server.send_signal(number)
                    time.sleep(0.1)
                for one in asked:
                    one.result(60)
            wait_until(lambda: not any(Path(f"/proc/{process}").exists() for process in below))
        finally:
            server.kill()


PAGES = [
    "<p>{0} <b>{0}</b></p>",
    "",
    "Only {0}",
    " \n ",
    '<ul><li>{0}<li><a href="x">{0}</a> {{name}} &amp; <code>x</code></ul>',
]


def test_pages_are_those_of_documents_translated_in_one_process(serve: Serve, tiny_run: Path, sentence: str) -> None:
    running = serve(tiny_run)
    pages = [page.format(sentence) for page in PAGES]
    answer = running.post("/translate", {"q": pages, **FORM, "format": "html"})
    own = DocumentTranslator(Translator.load(tiny_run), Beam(size=running.server.settings.beam_size))
    assert answer.json()["translatedText"] == [own.translate_html(page) for page in pages]


FILES = {
    "a.po": 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\nmsgid "{0} %s"\nmsgstr ""\n',
    "a.md": "# {0}\n\n- {0} **{0}**\n",
    "a.srt": "1\n00:00:01,000 --> 00:00:02,000\n{0}\n",
    "a.tmx": '<tmx version="1.4"><header srclang="en"/><body><tu><tuv xml:lang="en"><seg>{0}</seg></tuv></tu></body>'
    "</tmx>",
    "a.html": "<p>{0}<p>{0} x &amp; y",
}


@pytest.mark.parametrize("name", FILES)
def test_files_are_those_of_documents_translated_in_one_process(tiny_run: Path, sentence: str, name: str) -> None:
    translator = Translator.load(tiny_run)
    data = FILES[name].format(sentence).encode()
    here = DocumentTranslator(translator, Beam()).translate(data, name)
    model = SentenceModel(translator, Beam())
    process, shares = DocumentProcess(LIMITS), list[float]()
    order = Read([File(data, name), File(data, name)], "en", "de", model.can_require, model.can_align, 1000)
    counted = process.ask(order, Counted)
    written = process.ask(Translate(True), WrittenFiles, Answers(model, shares.append))
    process.release()
    assert written.files == [here.data, here.data]
    assert counted.characters == 2 * sum(len(one.source) for one in here.segments)
    assert shares == sorted(shares) and shares[-1] == pytest.approx(1)


def test_a_document_is_refused_in_the_words_of_its_reader() -> None:
    process = DocumentProcess(LIMITS)
    with pytest.raises(InputError, match=r"a\.xlf"):
        process.ask(ReadSample(File(b"<xliff", "a.xlf"), "de"), Sampled)
    process.release()


def test_where_a_paragraph_is_too_large_is_said() -> None:
    process = DocumentProcess(LIMITS)
    order = Read([File(b"<p>a\n<p>The <b>dog</b>", "a.html")], "en", "de", True, True, 5)
    assert process.ask(order, Counted).too_large == "line 2"
    process.release()


@needs_proc
def test_a_process_has_no_file_but_its_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "work", hostile_documents.report)
    process = DocumentProcess(LIMITS)
    told = process.ask(ReadSample(File(b"", ""), ""), Sampled).text
    process.release()
    assert ast.literal_eval(told) == {
        "nowhere": [0, 1, 2],
        "elsewhere": 1,
        "memory": LIMITS.memory,
        "seconds": 1 + LIMITS.processor_seconds,  # those used so far, rounded up
        "written": 0,
        "core": 0,
    }


def test_no_process_to_be_had_is_said(served: Running, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    served.server.documents.close()

    def start(self: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with monkeypatch.context() as patched:
        patched.setattr("multiprocessing.context.ForkServerProcess.start", start)
        answer = upload(served, sentence)
    assert answer.status_code == 503 and "no process left" in answer.json()["error"]
    assert int(answer.headers["retry-after"]) >= 1
    assert upload(served, sentence).ok


def test_processes_are_shared_out_among_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = DocumentWorkers(4, LIMITS, 8)
    begun: list[str] = []

    async def check() -> None:
        async def begin(client: str, is_upload: bool) -> Any:
            turn = await workers.begin(client, is_upload)
            begun.append(client)
            return turn

        tasks = []
        for client, is_upload in [("a", True)] * 3 + [("b", True)] * 2 + [("c", False)]:
            tasks.append(asyncio.ensure_future(begin(client, is_upload)))
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert begun == ["a", "a", "b", "c"]  # half of them for a, three quarters for uploads
        assert workers.busy == 4 and workers._waiting.total == 2
        tasks[0].result()()
        await asyncio.sleep(0.01)
        assert begun[4:] == ["a"]
        tasks[1].result()()
        tasks[2].result()()
        await asyncio.sleep(0.01)
        assert begun[5:] == ["b"]
        for client in "deeffgghhi":
            tasks.append(asyncio.ensure_future(begin(client, True)))
        await asyncio.sleep(0.01)
        assert begun[6:] == ["d"]
        with pytest.raises(RefusedError, match="2 of your documents wait") as refused:
            await begin("e", False)
        assert refused.value.status == 429
        with pytest.raises(RefusedError, match="Too many documents wait") as refused:
            await begin("j", False)
        assert refused.value.status == 503
        for task in tasks:
            task.cancel()
        await asyncio.sleep(0.01)
        assert workers._waiting.total == 0

    asyncio.run(check())


def test_short_texts_of_one_client_have_one_process_and_uploads_their_own(obedient: None) -> None:
    workers = DocumentWorkers(4, LIMITS, 100)

    async def process_of(client: str, is_upload: bool, text: str) -> object:
        async with workers.work(client, is_upload) as work:
            with suppress(RefusedError):
                await work.ask(ReadSample(File(text.encode(), "a.txt", "text"), "de"), Sampled)
            process = work.process
        while workers.busy:
            await asyncio.sleep(0.01)
        return process

    async def check() -> None:
        first = await process_of("a", False, "A dog.")
        assert await process_of("a", False, "A dog.") is first
        others = [
            await process_of("b", False, "A dog."),
            await process_of("a", True, "A dog."),
            await process_of("a", True, "A dog."),
        ]
        assert len({id(one) for one in [first, *others]}) == 4
        assert await process_of("a", False, "eats memory") is first
        second = await process_of("a", False, "A dog.")
        assert second is not first
        assert await process_of("a", False, "A dog.") is second

    workers.start()
    try:
        asyncio.run(check())
    finally:
        workers.close()


@pytest.mark.slow
def test_each_order_has_the_processor_time_of_a_new_process(obedient: None) -> None:
    process = DocumentProcess(ProcessLimits(256 * 2**20, 1))
    for _ in range(3):
        process.ask(ReadSample(File(b"works for half a second", "a.txt", "text"), "de"), Sampled)
    with pytest.raises(RefusedError, match="processor time"):
        process.ask(ReadSample(File(b"loops", "a.txt", "text"), "de"), Sampled)
    process.release()


def test_one_client_leaves_some_processes_to_others() -> None:
    workers = DocumentWorkers(8, LIMITS, 100)

    async def check() -> list[bool]:
        begun = [asyncio.ensure_future(workers.begin("a", False)) for _ in range(9)]
        begun += [asyncio.ensure_future(workers.begin("b", False)) for _ in range(2)]
        await asyncio.sleep(0.01)
        return [task.done() for task in begun]

    assert asyncio.run(check()) == [True] * 6 + [False] * 3 + [True] * 2


def test_processes_of_documents_need_neither_pytorch_nor_a_web_server() -> None:
    program = f"import sys, {preloaded.__name__}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert not {"torch", "numpy", "tokenizers", "starlette", "fastapi"} & set(loaded)
    wanted = {
        name.partition(".")[0]
        for file in Path(docsegments.__path__[0]).glob("*.py")
        for name in re.findall(r'require\("([\w.]+)"\)', file.read_text(encoding="utf-8"))
        if file.name != "memory.py"  # memories are for the command line
    }
    assert wanted <= set(loaded)
