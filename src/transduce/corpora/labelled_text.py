"""Reads labelled text: each line of a file, or each sentence, is an example."""

import functools
import hashlib
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from docsegments.messages.tables import rows_of
from transduce.base.errors import DataError
from transduce.base.files import sha256
from transduce.corpora.lines import file_kind, read_lines, read_objects

T = TypeVar("T")
Column = int | str
"""A column's number, from 1, its name in a header line, or a key of JSON objects."""

SEED = 1
ENOUGH = 20  # lines after which a label that only the first line has is a header's


@dataclass(frozen=True)
class ExampleCorpus(Generic[T]):
    """Examples that are read anew at each iteration; see TextCorpus."""

    name: str
    """The origin of the examples, for messages."""
    read: Callable[[], Iterator[T]]
    """Starts a new pass; raises DataError for unreadable data."""
    content: Callable[[], str]
    """A hash that changes when the examples do."""

    def __iter__(self) -> Iterator[T]:
        return self.read()

    @staticmethod
    def joined(name: str, corpora: Sequence["ExampleCorpus[T]"]) -> "ExampleCorpus[T]":
        """Joins several corpora, one after another."""
        if len(corpora) == 1:
            return corpora[0]
        return ExampleCorpus(name, lambda: chain.from_iterable(corpora), lambda: _hash([c.content() for c in corpora]))

    def drawn(self, share: float, key: Callable[[T], str]) -> tuple["ExampleCorpus[T]", "ExampleCorpus[T]"]:
        """Splits off a share of the examples, drawn at random, the same each time; returns the rest, and that share.

        Examples of the same key stay in one part. Reading raises DataError where all have the same.
        """

        @functools.cache
        def drawn_keys() -> frozenset[str]:
            keys = sorted(set(map(key, self)))
            if len(keys) == 1:
                raise DataError(f"{self.name}: all its examples are of one text; name others to validate on")
            random.Random(SEED).shuffle(keys)
            return frozenset(keys[: min(max(round(share * len(keys)), 1), len(keys) - 1)])

        def part(is_drawn: bool) -> Iterator[T]:
            return (example for example in self if (key(example) in drawn_keys()) is is_drawn)

        return (
            ExampleCorpus(self.name, lambda: part(False), lambda: _hash([self.content(), f"but {share} of texts"])),
            ExampleCorpus(
                f"{share:.0%} of {self.name}", lambda: part(True), lambda: _hash([self.content(), f"{share} of texts"])
            ),
        )


@dataclass(frozen=True)
class LabelledText:
    """A text, or a pair of texts, and its label."""

    first: str
    second: str | None
    """The second text; None for a single text."""
    label: str
    """The label: a class, or a number as it is written."""
    place: str
    """The file and line of the example."""

    @property
    def texts(self) -> tuple[str, str | None]:
        """The text and the second one, or None."""
        return self.first, self.second


@dataclass(frozen=True)
class LabelColumns:
    """The columns of texts and labels in a file; None for a table's first columns, or the usual keys of JSON."""

    text: Column | None = None
    second: Column | None = None
    """The column of second texts; None for single texts."""
    label: Column | None = None


def labelled_file(path: str | Path, columns: LabelColumns, any_name: bool = False) -> Iterator[LabelledText]:
    """Yields the examples of a .tsv file, with a header line if columns are names, or of a .jsonl file.

    Raises DataError, with the line, for ragged columns, a blank text or label, or a file of another kind (unless it is
    known to be a table).
    """
    kind = file_kind(path)
    if kind == ".jsonl":
        return _of_objects(path, columns)
    if kind == ".tsv" or any_name:
        return _of_table(path, columns)
    raise DataError(f"{path}: labelled texts must be in a .tsv or .jsonl file (or .gz, .xz, .zst of these)")


def usual_columns(path: str | Path, pair: bool) -> LabelColumns:
    """Returns the default columns of texts and labels: a table's first ones, or "text", "second" and "label"."""
    return LabelColumns(second=("second" if file_kind(path) == ".jsonl" else 2) if pair else None)


def labelled_corpus(path: str | Path, columns: LabelColumns, any_name: bool = False) -> ExampleCorpus[LabelledText]:
    """Returns the examples of a labelled file as a corpus."""
    return file_corpus(path, lambda: labelled_file(path, columns, any_name), repr(columns))


def file_corpus(path: str | Path, read: Callable[[], Iterator[T]], also: str = "") -> ExampleCorpus[T]:
    """Returns the examples of a file, read by a function; raises DataError if there is no such file."""
    if not Path(path).is_file():
        raise DataError(f"{path}: " + ("a folder; expected a file" if Path(path).is_dir() else "no such file"))

    @functools.cache
    def content() -> str:
        return _hash([sha256(Path(path)), also])

    return ExampleCorpus(str(path), read, content)


def _of_table(path: str | Path, columns: LabelColumns) -> Iterator[LabelledText]:
    asked = [columns.text, *([columns.second] if columns.second is not None else []), columns.label]
    has_header = any(isinstance(column, str) for column in asked)
    numbers: list[int] = []
    width = 0
    first_label, others, count = "", 0, 0
    for number, cells in rows_of(read_lines(path), str(path), "\t"):
        if not any(cell.strip() for cell in cells):
            continue
        if not numbers:
            numbers, width = _numbers(path, asked, cells), len(cells)
            if has_header:
                continue
        if len(cells) != width:
            raise DataError(
                f"{path}: line {number} has {len(cells)} columns, but line 1 has {width} (tabs separate them)"
            )
        *texts, label = (cells[column - 1].strip() for column in numbers)
        yield _example(f"{path}: line {number}", texts, label)
        first_label, others, count = first_label or label, others + (count > 0 and label == first_label), count + 1
    if not has_header and count > ENOUGH and not others and not _is_number(first_label):
        raise DataError(
            f"{path}: line 1 seems to be a header, since its label, {first_label!r}, stands nowhere else; name the "
            "columns in [data], as in text = 'sentence', label = 'label'"
        )


def _numbers(path: str | Path, asked: Sequence[Column | None], header: list[str]) -> list[int]:
    numbers = []
    for default, column in enumerate(asked, 1):
        if isinstance(column, str) and column not in header:
            raise DataError(f"{path}: no column '{column}' in its header; it has {', '.join(header)}")
        chosen = header.index(column) + 1 if isinstance(column, str) else default if column is None else column
        if not 1 <= chosen <= len(header):
            raise DataError(
                f"{path}: line 1 has {len(header)} column{'s' * (len(header) > 1)}, but column {chosen} is asked for "
                "(tabs separate them)"
            )
        numbers.append(chosen)
    return numbers


def _of_objects(path: str | Path, columns: LabelColumns) -> Iterator[LabelledText]:
    texts = [str(columns.text or "text"), *([str(columns.second)] if columns.second is not None else [])]
    label = str(columns.label or "label")
    for number, row in read_objects(path):
        where = f"{path}: line {number}"
        for key in texts:
            if key in row and not isinstance(row[key], str):
                value = msgspec.json.encode(row[key]).decode()
                raise DataError(f"{where} has {value[:60]} under '{key}'; expected a text in quotation marks")
            if key not in row:
                raise DataError(f"{where} has no text under '{key}'; it has {', '.join(row)} (set data.text)")
        label_value = row.get(label)
        if not isinstance(label_value, str | int | float):
            raise DataError(f"{where} has no label under '{label}'; it has {', '.join(row)} (set data.label)")
        yield _example(where, [row[key].strip() for key in texts], str(label_value).strip())


def _example(where: str, texts: Sequence[str], label: str) -> LabelledText:
    if not all(texts):
        raise DataError(f"{where}: its text is blank")
    if not label:
        raise DataError(f"{where}: its label is blank")
    return LabelledText(texts[0], texts[1] if len(texts) > 1 else None, label, where)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _hash(parts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
