"""Writes pairs to files: two line-aligned ones, or one of pairs, which appear when they are complete."""

import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, cast

import msgspec

from transduce.base.errors import DataError
from transduce.base.files import sync
from transduce.corpora import parquet
from transduce.corpora.compression import PACKERS
from transduce.corpora.corpus import SentencePair
from transduce.corpora.lines import file_kind

WRITTEN = (".tsv", ".jsonl", parquet.ENDING)
"""The endings of files of pairs that can be written; .tsv and .jsonl also compressed."""
_ONE_LINE = str.maketrans(dict.fromkeys("\n\r", " "))
ONE_CELL = str.maketrans(dict.fromkeys("\n\r\t", " "))


def is_written(ending: str) -> bool:
    """Returns True for the ending of a file of pairs that can be written."""
    return file_kind(f"x{ending}").lower() in WRITTEN


def check_written(path: Path) -> None:
    """Raises DataError for a file of pairs of a kind that cannot be written."""
    kind = file_kind(path).lower()
    if kind not in WRITTEN or (kind == parquet.ENDING and path.suffix in PACKERS):
        raise DataError(f"{path}: pairs are written as {', '.join(WRITTEN)} (the first two also .gz, .xz and .zst)")


def write_pairs(paths: Sequence[Path], pairs: Iterable[SentencePair]) -> int:
    """Writes a file of pairs, or two line-aligned files; returns the number of pairs.

    Files get their names when all is written. In lines and cells, line ends and tabs of a text become spaces. Documents
    are a key, or a third cell; in line-aligned files blank lines are between them.
    """
    partial = [path.with_name(f".{uuid.uuid4().hex[:8]}.{path.name}") for path in paths]
    count = 0
    try:
        with ExitStack() as stack:
            write = _opened(partial, stack)
            for pair in pairs:
                write(pair)
                count += 1
        for file in partial:
            sync(file)
        for file, path in zip(reversed(partial), reversed(paths), strict=True):  # the first is there when all are
            file.rename(path)
        for folder in {path.parent for path in paths}:
            sync(folder)
    finally:
        for file in partial:
            file.unlink(missing_ok=True)
    return count


def _opened(paths: Sequence[Path], stack: ExitStack) -> Callable[[SentencePair], object]:
    if len(paths) == 2:
        source, target = (_packed(path, stack) for path in paths)
        last: list[SentencePair] = []

        def to_both(pair: SentencePair) -> None:
            if last and last[0].document != pair.document and (pair.source.strip() or pair.target.strip()):
                source.write(b"\n")  # where the blank line is gone that was there
                target.write(b"\n")
            last[:] = [pair]
            source.write(pair.source.translate(_ONE_LINE).encode() + b"\n")
            target.write(pair.target.translate(_ONE_LINE).encode() + b"\n")

        return to_both
    (path,) = paths
    kind = file_kind(path).lower()
    if kind == parquet.ENDING:
        writer = parquet.ParquetWriter(path)
        stack.callback(writer.close)
        return writer.write
    file = _packed(path, stack)
    if kind == ".jsonl":
        return lambda pair: file.write(msgspec.json.encode(_named(pair)) + b"\n")
    return lambda pair: file.write(
        "\t".join(cell.translate(ONE_CELL) for cell in _named(pair).values()).encode() + b"\n"
    )


def _named(pair: SentencePair) -> dict[str, str]:
    """Returns the texts of a pair by what they are, with the name of the document if it has one."""
    return {"source": pair.source, "target": pair.target} | ({"document": pair.document} if pair.document else {})


def _packed(path: Path, stack: ExitStack) -> IO[bytes]:
    raw: Any = stack.enter_context(path.open("wb"))
    if path.suffix in PACKERS:
        return cast(IO[bytes], stack.enter_context(PACKERS[path.suffix](raw)))
    return cast(IO[bytes], raw)
