"""A web server of the tests' own, whose connections fail as those of the world do."""

import hashlib
import http.server
from pathlib import Path


class FileServer:
    """Files of a folder served on this machine, with the faults that a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str | None]] = []
        """Name and range of each request."""
        self.drops: list[int] = []
        """After how many bytes the next connections break."""
        self.failures: list[int] = []
        """HTTP statuses that the next requests end with."""
        self.knows_ranges = True
        self.address = ""

    def answer(self, request: http.server.BaseHTTPRequestHandler) -> None:
        path, wanted = self.folder / request.path.lstrip("/"), request.headers.get("Range")
        self.asked.append((request.path.lstrip("/"), wanted))
        status = self.failures.pop(0) if self.failures else 200 if path.is_file() else 404
        if status != 200:
            return request.send_error(status)
        content = path.read_bytes()
        tag = f'"{hashlib.sha256(content).hexdigest()[:8]}"'
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and self.knows_ranges else 0
        if request.headers.get("If-Range", tag) != tag:
            start = 0
        if start >= len(content) > 0:
            return request.send_error(416)
        request.send_response(206 if start else 200)
        request.send_header("Content-Length", str(len(content) - start))
        request.send_header("ETag", tag)
        if start:
            request.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        request.end_headers()
        stop = start + self.drops.pop(0) if self.drops else len(content)
        request.wfile.write(content[start:stop])
        return None
