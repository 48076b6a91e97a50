"""Files that are compressed, by the ending of their name: read, and written."""

import gzip
import io
import lzma
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any, BinaryIO, cast

import zstandard

from transduce.base.errors import DataError

PACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),
    ".xz": partial(lzma.open, mode="wb"),
    ".zst": partial(zstandard.open, mode="wb"),
}
"""Functions that open a compressed file inside an open one."""

COMPRESSED = tuple(PACKERS)
DAMAGED = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError, zstandard.ZstdError)


def open_compressed(path: Path) -> IO[bytes]:
    """Opens the decompressed bytes of a file; DataError for one that cannot be opened."""
    try:
        if path.suffix in COMPRESSED and path.is_file() and not path.stat().st_size:
            raise DataError(f"{path}: damaged: a compressed file cannot be empty (0 bytes)")
        match path.suffix:
            case ".gz":
                return cast(IO[bytes], gzip.open(path))
            case ".xz":
                return lzma.open(path)
            case ".zst":
                return io.BufferedReader(_Zstandard(path.open("rb")))
            case _:
                return path.open("rb")
    except OSError as error:
        raise DataError(f"{path}: cannot be opened ({error.strerror})") from None


def bytes_in(path: str | Path) -> bytes:
    """Returns the decompressed bytes of a file; DataError for one that is damaged."""
    try:
        with open_compressed(Path(path)) as stream:
            return stream.read()
    except DAMAGED as error:
        raise DataError(f"{path}: damaged ({error}); it may have been cut off") from None


def name_without_compression(path: str | Path) -> str:
    """Returns a file's name without the ending of its compression."""
    name = str(path)
    return name[: -len(Path(path).suffix)] if Path(path).suffix in COMPRESSED else name


class _Zstandard(io.RawIOBase):
    """Decompressed bytes; the library's own reader takes a file that was cut off for a whole one."""

    def __init__(self, compressed: BinaryIO) -> None:
        self._compressed = compressed
        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._is_within = False
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._is_within = zstandard.ZstdDecompressor().decompressobj(), False
            data = data or self._compressed.read(io.DEFAULT_BUFFER_SIZE)
            if not data:
                if self._is_within:
                    raise EOFError("it ends within a frame")
                return 0
            self._is_within = True
            self._ready = memoryview(self._frame.decompress(data))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def close(self) -> None:
        self._compressed.close()
        super().close()
