"""As much of the Hugging Face hub as downloads need, on this machine, with the faults that a test asks for."""

import hashlib
import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

LARGE = 1000
"""Bytes from which a file is in another store, to which the hub redirects."""


@dataclass
class HubServer:
    """Models by their names; each has files, and commits by its revisions."""

    address: str = ""
    models: dict[str, dict[str, bytes]] = field(default_factory=dict)
    revisions: dict[str, str] = field(default_factory=lambda: {"main": "a" * 40, "v1": "a" * 40})
    gated: set[str] = field(default_factory=set)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)
    """Method, path and range of each request."""
    drops: list[int] = field(default_factory=list)
    """After how many bytes the next connections for large files break."""
    status: int = 200

    @property
    def store(self) -> str:
        """The address of large files, which is on another host, as the hub's is."""
        return f"{self.address.replace('127.0.0.1', 'localhost')}/store"

    def answer(self, http: http.server.BaseHTTPRequestHandler) -> None:
        path = http.path.partition("?")[0]
        self.requests.append((http.command, path, http.headers.get("Range")))
        parts = path.strip("/").split("/")
        if self.status != 200:
            return self._send(http, self.status, b"{}")
        if parts[0] == "store":
            return self._send_large(http, self.models["/".join(parts[1:3])][parts[3]])
        is_api = parts[:2] == ["api", "models"]
        name = "/".join(parts[2:4] if is_api else parts[:2])
        if name not in self.models:
            return self._send(http, 401, b"{}", {"X-Error-Code": "RepoNotFound"})
        revision = parts[5] if is_api and len(parts) > 5 else parts[3] if not is_api else "main"
        commit = revision if revision in self.revisions.values() else self.revisions.get(revision)
        if commit is None:
            return self._send(http, 404, b"{}", {"X-Error-Code": "RevisionNotFound"})
        if is_api:
            return self._send(http, 200, json.dumps(self._facts(name, commit)).encode())
        if name in self.gated:
            return self._send(http, 403, b"{}", {"X-Error-Code": "GatedRepo"})
        content = self.models[name].get("/".join(parts[4:]))
        if content is None:
            return self._send(http, 404, b"{}", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": commit})
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(content).hexdigest()}"'}
        if len(content) < LARGE:
            return self._send(http, 200, content, headers)
        headers |= {"X-Linked-ETag": f'"{hashlib.sha256(content).hexdigest()}"', "X-Linked-Size": str(len(content))}
        return self._send(http, 302, b"", headers | {"Location": f"{self.store}/{name}/{parts[4]}"})

    def _facts(self, name: str, commit: str) -> dict[str, Any]:
        files = [
            {
                "rfilename": file,
                "size": len(content),
                "blobId": hashlib.sha1(content).hexdigest(),
                **({"lfs": self._lfs(content)} if len(content) >= LARGE else {}),
            }
            for file, content in self.models[name].items()
        ]
        return {
            "id": name,
            "modelId": name,
            "sha": commit,
            "siblings": files,
            "cardData": {"license": "cc-by-4.0"},
            "tags": [],
        }

    def _lfs(self, content: bytes) -> dict[str, Any]:
        return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}

    def _send_large(self, http: http.server.BaseHTTPRequestHandler, content: bytes) -> None:
        wanted = http.headers.get("Range")
        start = int(wanted.removeprefix("bytes=").partition("-")[0]) if wanted else 0
        http.send_response(206 if start else 200)
        http.send_header("Content-Length", str(len(content) - start))
        http.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        if start:
            http.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        http.end_headers()
        if http.command == "GET":
            stop = start + self.drops.pop(0) if self.drops else len(content)
            http.wfile.write(content[start:stop])

    def _send(
        self,
        http: http.server.BaseHTTPRequestHandler,
        status: int,
        content: bytes,
        headers: dict[str, str] | None = None,
    ) -> None:
        http.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **(headers or {})}.items():
            http.send_header(name, value)
        http.end_headers()
        if http.command == "GET":
            http.wfile.write(content)


@contextmanager
def running_hub() -> Iterator[HubServer]:
    """Serves until the block ends."""
    hub = HubServer()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            hub.answer(self)

        def do_HEAD(self) -> None:
            hub.answer(self)

        def log_message(self, *_: object) -> None: ...

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        hub.address = f"http://127.0.0.1:{server.server_address[1]}"
        yield hub
        server.shutdown()
