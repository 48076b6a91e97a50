"""Compression of files by the ending of their name."""

import gzip
import lzma
from collections.abc import Callable
from functools import partial
from typing import IO, Any

import zstandard

PACKERS: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": lambda raw: gzip.GzipFile("", "wb", fileobj=raw, mtime=0),
    ".xz": partial(lzma.open, mode="wb"),
    ".zst": partial(zstandard.open, mode="wb"),
}
"""Functions that open a compressed file inside an open one."""
