"""Reads and writes pairs in Parquet files, with pyarrow."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from docsegments.extras import require
from transduce.base.errors import DataError, InputError
from transduce.corpora.corpus import SentencePair

ENDING = ".parquet"
ROWS_AT_ONCE = 4096
ROWS_OF_A_GROUP = 100_000


def column_names(path: str | Path) -> list[str]:
    """Returns the names of a file's columns; of a column of several fields, such as the `translation` of data sets on
    the Hugging Face Hub, those of its fields."""
    return [name for name, _ in _columns(path, _open(path))]


def read_parquet(path: str | Path, columns: Sequence[int | str] | None) -> Iterator[SentencePair]:
    """Yields the pairs of two columns, by default source and target, or of three with a document's; DataError, with the
    row, for one without text."""
    file = _open(path)
    there = _columns(path, file)
    names = [name for name, _ in there]
    chosen = []
    for column in columns or ("source", "target"):
        index = column - 1 if isinstance(column, int) else names.index(column) if column in names else -1
        if not 0 <= index < len(there):
            raise DataError(f"{path}: no column '{column}'; it has {', '.join(names)} (set data.columns)")
        chosen.append(there[index])
    if len(chosen) not in (2, 3):
        raise DataError(f"{path}: expected two columns, source and target, found {list(columns or ())}")
    row = 0
    with _naming(path):
        for batch in file.iter_batches(ROWS_AT_ONCE, columns=[full for _, full in chosen]):
            flat = _flattened(batch)
            for texts in zip(*(flat.column(full).to_pylist() for _, full in chosen), strict=True):
                row += 1
                for text, (name, _) in zip(texts, chosen, strict=True):
                    if not isinstance(text, str):
                        raise DataError(f"{path}: row {row:,} has no text in column '{name}'")
                yield SentencePair(*texts)


class ParquetWriter:
    """Writes pairs to a file with the columns source and target, compressed by Zstandard."""

    def __init__(self, path: Path) -> None:
        arrow, parquet = _pyarrow(path)
        self._schema = arrow.schema([("source", arrow.string()), ("target", arrow.string())])
        self._table = arrow.Table
        self._file = parquet.ParquetWriter(path, self._schema, compression="zstd")
        self._pairs: list[SentencePair] = []

    def write(self, pair: SentencePair) -> None:
        """Adds a pair."""
        self._pairs.append(pair)
        if len(self._pairs) == ROWS_OF_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Ends the file."""
        self._flush()
        self._file.close()

    def _flush(self) -> None:
        columns = {"source": [pair.source for pair in self._pairs], "target": [pair.target for pair in self._pairs]}
        self._file.write_table(self._table.from_pydict(columns, self._schema))
        self._pairs = []


def _open(path: str | Path) -> Any:
    _, parquet = _pyarrow(path)
    with _naming(path):
        return parquet.ParquetFile(path)


def _columns(path: str | Path, file: Any) -> list[tuple[str, str]]:
    """Returns the name of each column or field, and its full name."""
    of_all = []
    for field in file.schema_arrow:
        fields = [field.type.field(number) for number in range(field.type.num_fields)] if _is_struct(field) else []
        of_all += [(each.name, f"{field.name}.{each.name}") for each in fields] or [(field.name, field.name)]
    return of_all


def _is_struct(field: Any) -> bool:
    return str(field.type).startswith("struct<")


def _flattened(batch: Any) -> Any:
    arrow, _ = _pyarrow("")
    return arrow.Table.from_batches([batch]).flatten()


@contextmanager
def _naming(path: str | Path) -> Iterator[None]:
    """Turns pyarrow's errors for a file into DataError."""
    arrow, _ = _pyarrow(path)
    try:
        yield
    except (arrow.ArrowException, OSError) as error:
        raise DataError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from None


def _pyarrow(path: str | Path) -> tuple[Any, Any]:
    try:
        return require("pyarrow", "parquet"), require("pyarrow.parquet", "parquet")
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
