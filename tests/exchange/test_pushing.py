"""What would be uploaded to the hub is shown; only what is agreed to is uploaded, whole and once."""

import base64
import http.server
import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from transduce.apps.cli.main import app, run
from transduce.apps.exchange.huggingface.pushing import plan_upload
from transduce.base.errors import InputError

CONTENT = {"config.json": b"{}\n", "model.safetensors": bytes(range(256)) * 9, "more/vocab.txt": b"a\nb\n"}
CARD = b"---\nlicense: mit\n---\n\n# A model\n"


@dataclass
class Hub:
    """As much of the hub as an upload needs."""

    address: str = ""
    requests: list[tuple[str, str]] = field(default_factory=list)
    tokens: set[str | None] = field(default_factory=set)
    files: dict[str, bytes] = field(default_factory=dict)
    created: list[dict[str, Any]] = field(default_factory=list)
    status: int = 200

    def answer(self, path: str, body: bytes) -> dict[str, Any]:
        if path == "/api/repos/create":
            self.created.append(json.loads(body))
            return {"url": f"{self.address}/ada/captions", "id": "1", "name": "ada/captions"}
        if path.endswith("/preupload/main"):
            files = json.loads(body)["files"]
            return {"files": [{"path": one["path"], "uploadMode": "regular", "shouldIgnore": False} for one in files]}
        if path.endswith("/commit/main"):
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    self.files[entry["value"]["path"]] = base64.b64decode(entry["value"]["content"])
            return {"commitUrl": f"{self.address}/ada/captions/commit/1", "commitOid": "1", "success": True}
        return {"errors": [], "warnings": []}  # of the card's YAML


@pytest.fixture
def hub() -> Iterator[Hub]:
    found = Hub()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            found.requests.append(("POST", self.path))
            found.tokens.add(self.headers.get("Authorization"))
            self._send(found.answer(self.path, body) if found.status == 200 else {"error": "no"})

        def do_GET(self) -> None:
            found.requests.append(("GET", self.path))
            self._send({"error": "no"})

        def _send(self, tree: dict[str, Any]) -> None:
            data = json.dumps(tree).encode()
            self.send_response(found.status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        found.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield found
        server.shutdown()
        thread.join()


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    for name, content in CONTENT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    (folder / ".secret").write_text("not for others")
    (folder / ".cache").mkdir()
    (folder / ".cache" / "x").write_text("not for others")
    return folder


Push = Callable[..., tuple[int, str, str]]


@pytest.fixture
def push(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Push:
    """Runs the verb: exit status, standard output, standard error."""
    pytest.importorskip("huggingface_hub")
    for name, value in {
        "HF_ENDPOINT": hub.address,
        "HF_HOME": str(tmp_path / "home"),
        "HF_TOKEN": "hf_ofatest",
        "NO_PROXY": "127.0.0.1",
        "no_proxy": "127.0.0.1",
    }.items():
        monkeypatch.setenv(name, value)

    def call(*arguments: object) -> tuple[int, str, str]:
        status = run(lambda: app(["push", *map(str, arguments)]))
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return call


def test_nothing_is_sent_before_it_is_agreed_to(push: Push, hub: Hub, model: Path) -> None:
    status, output, errors = push(model, "ada/captions")
    assert (status, errors, hub.requests) == (0, "", [])
    lines = output.splitlines()
    assert lines[:3] == ["    3  config.json", "2,304  model.safetensors", "    4  more/vocab.txt"]
    assert "2,311 bytes in 3 files, for ada/captions" in lines
    assert "no licence is named" in output and "nothing is uploaded" in lines[-1]
    (model / "README.md").write_bytes(CARD)
    assert "licence" not in push(model, "ada/captions")[1]


def test_all_files_but_hidden_ones_are_uploaded_in_one_commit(push: Push, hub: Hub, model: Path) -> None:
    (model / "README.md").write_bytes(CARD)
    status, output, errors = push(model, "ada/captions", "--yes", "--private", "--json")
    assert (status, errors) == (0, "")
    assert json.loads(output)["uploaded"] == f"{hub.address}/ada/captions"
    assert hub.files == CONTENT | {"README.md": CARD}
    assert [path for _, path in hub.requests].count("/api/models/ada/captions/commit/main") == 1
    assert hub.tokens == {"Bearer hf_ofatest"}
    (created,) = hub.created
    assert created["name"] == "captions" and created["organization"] == "ada"
    assert created.get("private") is True or created.get("visibility") == "private"


@pytest.mark.parametrize(("status", "told"), [(401, "hf auth login"), (403, "hf auth login"), (400, "answered 400")])
def test_what_the_hub_refuses_is_one_line(status: int, told: str, push: Push, hub: Hub, model: Path) -> None:
    hub.status = status
    exit_status, _, errors = push(model, "ada/captions", "--yes")
    assert exit_status == 2
    assert errors.count("\n") == 1 and "ada/captions is not uploaded" in errors and told in errors
    assert hub.files == {}


@pytest.mark.parametrize(
    "name",
    [
        *("captions", "ada/", "/captions", "ada/cap tions", "ada/a--b", "ada/b/c", "ada/" + "x" * 99),
        *("ada/modèl", "ada/x.", "ada/x-", "ada/x.git"),
    ],
)
def test_a_name_that_the_hub_does_not_take_is_refused(name: str, model: Path) -> None:
    with pytest.raises(InputError, match="expected OWNER/NAME"):
        plan_upload(model, name)


def test_links_and_what_is_no_model_are_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("a secret")
    (model / "notes.txt").symlink_to(tmp_path / "outside")
    with pytest.raises(InputError, match=r"notes\.txt is a link"):
        plan_upload(model, "ada/captions")
    with pytest.raises(InputError, match="is not a model: it has neither"):
        plan_upload(tmp_path, "ada/captions")
    with pytest.raises(InputError, match=rf"name {tmp_path / 'model'}"):
        plan_upload(tmp_path, "ada/captions")
