"""CSV: the texts of one column, translated in their place or into another column; all other cells stay."""

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

from transduce.documents import languages
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit
from transduce.documents.message_files import message_segment, text_of
from transduce.documents.segment import Segment
from transduce.documents.tables import (
    SOURCE_NAMES,
    TARGET_NAMES,
    delimiter_of,
    find_column,
    known_column,
    plain_name,
    shown_names,
)
from transduce.errors import InputError

FUZZY = "fuzzy"
"""The name of a column that says, in files of Weblate, that a translation is not finished."""
_PLAIN_CELLS = {"\t": re.compile(r"[^\t\r\n]*+")}
_CELLS = {
    ",": re.compile(r'"(?:[^"]++|"")*+"(?=[,\r\n]|\Z)|[^,\r\n]*+'),
    ";": re.compile(r'"(?:[^"]++|"")*+"(?=[;\r\n]|\Z)|[^;\r\n]*+'),
    "\t": re.compile(r'"(?:[^"]++|"")*+"(?=[\t\r\n]|\Z)|[^\t\r\n]*+'),
    "|": re.compile(r'"(?:[^"]++|"")*+"(?=[|\r\n]|\Z)|[^|\r\n]*+'),
}
"""A cell, by the sign that separates cells."""


@dataclass(frozen=True)
class Columns:
    """Which columns are translated, by their names in the first row, or by their numbers from 1 where no name is so."""

    source: str = ""
    """Default: the one called by the source language, `source` or `text`."""
    target: str = ""
    """Into which translations are written (default: the one called by the target language, `target` or
    `translation`; else that of the source)."""


def read_csv(data: bytes, name: str, wanted: Languages, columns: Columns | None = None) -> Document:
    """The texts of a column; InputError where it is not known which, or for what is no CSV."""
    file = TextFile.read(data, name)
    if "\0" in file.text:
        raise InputError(f"{name}: is no CSV; it holds zero bytes")
    table = _Table(file)
    chosen = _choose(table, columns or Columns(), wanted)
    units = [
        _unit(table, row, chosen)
        for row in range(chosen.first_row, len(table.rows))
        if len(table.rows[row]) > chosen.source and table.value(row, chosen.source).strip()
    ]
    added = _renamed(table, chosen, wanted)
    return Document(units, lambda edits: file.save([*edits, *added] if edits else edits))


@dataclass(frozen=True)
class _Chosen:
    source: int
    target: int
    first_row: int
    fuzzy: int | None = None

    @property
    def is_bilingual(self) -> bool:
        return self.source != self.target


class _Table:
    """Cells with their places, as the standard library reads them too."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        self.delimiter = delimiter_of(file.text, file.name)
        self.is_quoted = True
        """Whether quotation marks about a cell are no part of it."""
        self._other_line = 0
        self.rows = self._read(_CELLS)
        if not self._is_read_alike() and self.delimiter == "\t":
            self.is_quoted = False
            self.rows = self._read(_PLAIN_CELLS)
        if not self._is_read_alike():
            self._refuse()

    def _read(self, cells: Mapping[str, re.Pattern[str]]) -> list[list[tuple[int, int]]]:
        """The places of all cells."""
        file = self.file
        cell = cells[self.delimiter]
        end = re.compile(rf"{re.escape(self.delimiter)}|\r\n|\n|\r|\Z")
        rows: list[list[tuple[int, int]]] = []
        row: list[tuple[int, int]] = []
        place = 0
        while place < len(file.text) or row:
            found = cell.match(file.text, place)
            assert found is not None  # it may be empty
            after = end.match(file.text, found.end())
            assert after is not None  # a cell goes on to there
            row.append(found.span())
            place = after.end()
            if after[0] != self.delimiter:
                rows.append([] if len(row) == 1 and not found[0] else row)
                row = []
        return rows

    def value(self, row: int, column: int) -> str:
        """What a cell says."""
        start, end = self.rows[row][column]
        raw = self.file.text[start:end]
        if not self.is_quoted:
            return raw
        return raw[1:-1].replace('""', '"') if raw[:1] == '"' and raw[-1:] == '"' and len(raw) > 1 else raw

    def names(self) -> list[str]:
        """The cells of the first row."""
        return [self.value(0, column) for column in range(len(self.rows[0]))] if self.rows else []

    def written(self, text: str, raw: str) -> str:
        """A text as a cell, in quotation marks where it needs them or where another cell has them."""
        if not self.is_quoted:
            return " ".join(text.split("\t"))
        needs = (
            raw[:1] == '"' or any(sign in text for sign in (self.delimiter, '"', "\n", "\r")) or text != text.strip()
        )
        return '"' + text.replace('"', '""') + '"' if needs else text

    def _is_read_alike(self) -> bool:
        """Whether the standard library reads the same cells."""
        csv.field_size_limit(max(csv.field_size_limit(), len(self.file.text) + 1))
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if self.is_quoted else csv.QUOTE_NONE
        reader = csv.reader(io.StringIO(self.file.text, newline=""), delimiter=self.delimiter, quoting=quoting)
        try:
            for number, row in enumerate(reader):
                if row != [self.value(number, column) for column in range(len(self.rows[number]))]:
                    self._other_line = reader.line_num
                    return False
        except (csv.Error, IndexError):
            self._other_line = reader.line_num
            return False
        return True

    def _refuse(self) -> NoReturn:
        raise InputError(
            f"{self.file.name}: line {self._other_line}: its cells cannot be told apart; a quotation mark in a cell is "
            'written twice, in a cell in quotation marks ("a ""b"" c")'
        )


def _choose(table: _Table, columns: Columns, wanted: Languages) -> _Chosen:
    names = table.names()
    keys = [plain_name(name) for name in names]
    is_numbered = False
    source: int | None
    if columns.source:
        source, is_numbered = _asked(table, columns.source, names)
    else:
        source = known_column(names, wanted.source, SOURCE_NAMES)
    if source is None:
        raise InputError(
            f"{table.file.name}: which column is to be translated is not known; its first row is {shown_names(names)}; "
            "name the column (source_column)"
        )
    target: int | None
    if columns.target:
        target, is_also_numbered = _asked(table, columns.target, names)
        is_numbered = is_numbered and is_also_numbered
    else:
        target = None if is_numbered else known_column(names, wanted.target, TARGET_NAMES)
    fuzzy = keys.index(FUZZY) if FUZZY in keys and not is_numbered else None
    return _Chosen(source, source if target is None else target, 0 if is_numbered else 1, fuzzy)


def _asked(table: _Table, asked: str, names: Sequence[str]) -> tuple[int, bool]:
    """A column that is asked for, and whether by its number."""
    if (found := find_column(names, asked)) is None:
        raise InputError(f"{table.file.name}: no column {asked!r}; its first row is {shown_names(names)}")
    return found


def _unit(table: _Table, row: int, chosen: _Chosen) -> Unit:
    cells = table.rows[row]
    start, end = cells[chosen.source]
    raw = table.file.text[start:end]
    target = table.value(row, chosen.target) if chosen.is_bilingual and chosen.target < len(cells) else ""
    is_fuzzy = chosen.fuzzy is not None and chosen.fuzzy < len(cells) and _is_yes(table.value(row, chosen.fuzzy))

    def write(segment: Segment) -> list[Edit]:
        written = text_of(segment)
        if chosen.target < len(cells):
            place = cells[chosen.target]
            return [Edit(*place, table.written(written, table.file.text[slice(*place)] or raw))]
        lacking = table.delimiter * (chosen.target - len(cells) + 1)
        last = cells[-1][1]
        return [Edit(last, last, lacking + table.written(written, raw))]

    return Unit(
        message_segment(table.value(row, chosen.source)),
        write,
        f"line {table.file.line_of(start)}",
        is_bilingual=chosen.is_bilingual,
        target=message_segment(target) if target.strip() else None,
        is_draft=is_fuzzy,
        id=_id(table, row, chosen),
    )


def _is_yes(value: str) -> bool:
    return value.strip().casefold() in ("true", "yes", "1")


def _id(table: _Table, row: int, chosen: _Chosen) -> str:
    """The first cell, where it is none of those that are translated."""
    return table.value(row, 0) if 0 not in (chosen.source, chosen.target) and chosen.first_row else ""


def _renamed(table: _Table, chosen: _Chosen, wanted: Languages) -> list[Edit]:
    """The edit that calls a column by the target language which is called by the source language, where translations
    take the place of what they are made of."""
    if chosen.is_bilingual or not chosen.first_row or not wanted.target or not wanted.source:
        return []
    name = table.value(0, chosen.source)
    if not languages.is_code(name.strip()) or not languages.is_same(name, wanted.source):
        return []
    place = table.rows[0][chosen.source]
    return [Edit(*place, table.written(wanted.target, table.file.text[slice(*place)]))]
