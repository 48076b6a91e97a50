"""Translated files that wait to be fetched, in memory."""

import re
import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import PurePath

from starlette.requests import Request as HTTPRequest
from starlette.responses import Response, StreamingResponse

from transduce.apps.serving.quotas import Holding, Quota, oldest
from transduce.apps.serving.refusals import RefusedError

KEPT_SECONDS = 600.0
PIECE = 65_536
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})\Z", re.ASCII)


@dataclass(frozen=True)
class KeptFile:
    """A translated file."""

    key: str
    data: bytes
    name: str
    until: float


class KeptFiles:
    """Translated files, kept for ten minutes, which may be fetched any number of times.

    A client has at most a quarter of the space; beyond that, its oldest file is dropped. If the space is full, the
    oldest file of the client with the most is dropped.
    """

    def __init__(self, most_bytes: int) -> None:
        self._kept: Quota[KeptFile] = Quota("bytes wait to be fetched", most_bytes, most_bytes // 4, oldest, oldest)
        self._kept.on_lost = lambda file: self._by_key.pop(file.key)
        self._by_key: dict[str, Holding[KeptFile]] = {}

    def __len__(self) -> int:
        return len(self._by_key)

    @property
    def total(self) -> int:
        """The number of bytes that are kept."""
        return self._kept.total

    def keep(self, data: bytes, name: str, client: str) -> str:
        """Keeps a file, and returns the key to fetch it with.

        Raises RefusedError for a file that is too large to keep (413), or for which no client can give up space (503).
        """
        now, most_each = time.monotonic(), self._kept.most_each
        if len(data) > most_each:
            raise RefusedError(413, f"The translated file has more than {most_each:,} bytes, and cannot be kept")
        for holding in [kept for kept in self._by_key.values() if kept.thing.until <= now]:
            self._kept.give_back(holding)
            del self._by_key[holding.thing.key]
        file = KeptFile(secrets.token_urlsafe(24) + PurePath(name).suffix, data, name, now + KEPT_SECONDS)
        self._by_key[file.key] = self._kept.take(client, file, len(data), 60.0)
        return file.key

    def find(self, key: str) -> KeptFile:
        """Returns a file that is kept; RefusedError (404) if it is gone."""
        holding = self._by_key.get(key)
        if holding is None or holding.thing.until < time.monotonic():
            raise RefusedError(404, "There is no such file; each is kept for ten minutes at most")
        return holding.thing


def download(http: HTTPRequest, file: KeptFile) -> Response:
    """Returns a response that streams a file, or the requested range of its bytes, as fast as the client reads."""
    size = len(file.data)
    begin, end, status = 0, size, 200
    head = {"Content-Disposition": f'attachment; filename="{file.name}"', "Accept-Ranges": "bytes"}
    if match := _RANGE.match(http.headers.get("range", "").replace(" ", "")):
        first, last = match.groups()
        if first:
            begin, end = int(first), min(size, int(last) + 1 if last else size)
        elif last:
            begin = max(0, size - int(last))
        if begin >= end:
            return Response(status_code=416, headers={"Content-Range": f"bytes */{size}"})
        if first or last:
            status, head["Content-Range"] = 206, f"bytes {begin}-{end - 1}/{size}"
    head["Content-Length"] = str(end - begin)

    async def pieces() -> AsyncIterator[bytes]:
        for start in range(begin, end, PIECE):
            yield file.data[start : min(start + PIECE, end)]

    return StreamingResponse(pieces(), status, head, "application/octet-stream")
