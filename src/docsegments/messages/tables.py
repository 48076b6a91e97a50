"""Tables (CSV, TSV): rows and columns; as documents, the texts of one column are translated there or into another."""

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Literal

from docsegments import language_codes
from docsegments.document import Document, Edit, Languages, TextFile, Unit
from docsegments.endings import ending_of
from docsegments.messages.message import message_segment
from docsegments.text.program_text import program_text
from docsegments.user_errors import InputError

DELIMITERS = ",;\t|"
SOURCE_NAMES = frozenset(["source", "source text", "source string", "src", "original", "text", "string", "message"])
TARGET_NAMES = frozenset(["target", "target text", "target string", "tgt", "translation", "translated"])
LONGEST_CELL = 2**24  # characters; a quotation mark that is never closed would include the rest of a file
FUZZY = "fuzzy"
"""The name of the column that marks unfinished translations in files of Weblate."""
_SEPARATOR = re.compile(rf'\ufeff?"?sep=([{DELIMITERS}])"?(?:\r\n|\r|\n|\Z)', re.IGNORECASE)
"""A first line that tells Excel which sign separates cells."""
_QUOTED = 'a quotation mark in a cell is written twice, in a cell in quotation marks ("a ""b"" c")'
_PLAIN_CELLS = {"\t": re.compile(r"[^\t\r\n]*+")}
_CELLS = {sign: re.compile(rf'"(?:[^"]++|"")*+"(?=[{sign}\r\n]|\Z)|[^{sign}\r\n]*+') for sign in DELIMITERS}
"""A cell, by the sign that separates cells."""


@dataclass(frozen=True)
class Columns:
    """Columns to translate, by names in the first row, or else by numbers from 1."""

    source: str = ""
    """Column of the texts (default: the source language's, `source` or `text`)."""
    target: str = ""
    """Column for translations (default: the target language's, `target` or `translation`; else the source's)."""


def read_csv(data: bytes, name: str, wanted: Languages, columns: Columns | None = None) -> Document:
    """Reads the texts of a column; InputError where it is not known which, or for what is not CSV."""
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
    """Cells with their spans, checked against those that the standard library reads."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        told = _SEPARATOR.match(file.text)
        self.delimiter = told[1] if told else delimiter_of(file.text, file.name)
        self._begin = told.end() if told else 0
        self.is_quoted = True
        """True if quotation marks about a cell do not belong to its text."""
        self.rows = self._read(_CELLS)
        line = self._line_read_otherwise()
        if line is not None and self.delimiter == "\t":
            self.is_quoted = False
            self.rows = self._read(_PLAIN_CELLS)
            line = self._line_read_otherwise()
        if line is not None:
            raise InputError(f"{file.name}: line {line}: its cells cannot be distinguished; {_QUOTED}")

    def _read(self, cells: Mapping[str, re.Pattern[str]]) -> list[list[tuple[int, int]]]:
        """Returns the spans of all cells."""
        file = self.file
        cell = cells[self.delimiter]
        end = re.compile(rf"{re.escape(self.delimiter)}|\r\n|\n|\r|\Z")
        rows: list[list[tuple[int, int]]] = []
        row: list[tuple[int, int]] = []
        offset = self._begin
        while offset < len(file.text) or row:
            match = cell.match(file.text, offset)
            assert match is not None  # it may be empty
            after = end.match(file.text, match.end())
            assert after is not None  # a cell extends to it
            row.append(match.span())
            offset = after.end()
            if after[0] != self.delimiter:
                rows.append([] if len(row) == 1 and not match[0] else row)
                row = []
        return rows

    def value(self, row: int, column: int) -> str:
        """Returns the text of a cell."""
        start, end = self.rows[row][column]
        raw = self.file.text[start:end]
        if not self.is_quoted:
            return raw
        return raw[1:-1].replace('""', '"') if raw[:1] == '"' and raw[-1:] == '"' and len(raw) > 1 else raw

    def values(self, row: int) -> list[str]:
        """Returns the texts of a row's cells."""
        return [self.value(row, column) for column in range(len(self.rows[row]))]

    def written(self, text: str, raw: str) -> str:
        """Writes a text as a cell, in quotation marks where it needs them or another cell has them."""
        if not self.is_quoted:
            return " ".join(text.split("\t"))
        needs = raw[:1] == '"' or not {self.delimiter, *'"\n\r'}.isdisjoint(text) or text != text.strip()
        return '"' + text.replace('"', '""') + '"' if needs else text

    def _line_read_otherwise(self) -> int | None:
        """Returns the line in which the standard library reads other cells; None if it reads the same."""
        csv.field_size_limit(max(csv.field_size_limit(), len(self.file.text) + 1))
        quoting: Literal[0, 3] = csv.QUOTE_MINIMAL if self.is_quoted else csv.QUOTE_NONE
        text = io.StringIO(self.file.text[self._begin :], newline="")
        reader = csv.reader(text, delimiter=self.delimiter, quoting=quoting)
        try:
            is_alike = all(row == self.values(number) for number, row in enumerate(reader))
        except (csv.Error, IndexError):
            is_alike = False
        return None if is_alike else reader.line_num + (self._begin > 0)


def _choose(table: _Table, columns: Columns, wanted: Languages) -> _Chosen:
    names = table.values(0) if table.rows else []
    keys = [plain_name(name) for name in names]
    asked, other = (None if not name else _asked(table, name, names) for name in (columns.source, columns.target))
    source = asked[0] if asked else known_column(names, wanted.source, SOURCE_NAMES)
    if source is None:
        raise InputError(
            f"{table.file.name}: which column is to be translated is not known; its first row is {shown_names(names)}; "
            "name the column (source_column)"
        )
    is_numbered = bool(asked and asked[1]) and (other is None or other[1])
    target = other[0] if other else None if is_numbered else known_column(names, wanted.target, TARGET_NAMES)
    fuzzy = keys.index(FUZZY) if FUZZY in keys and not is_numbered else None
    return _Chosen(source, source if target is None else target, 0 if is_numbered else 1, fuzzy)


def _asked(table: _Table, asked: str, names: Sequence[str]) -> tuple[int, bool]:
    """Returns the column that is asked for, and whether by its number."""
    if (column := find_column(names, asked)) is None:
        raise InputError(f"{table.file.name}: no column {asked!r}; its first row is {shown_names(names)}")
    return column


def _unit(table: _Table, row: int, chosen: _Chosen) -> Unit:
    cells = table.rows[row]
    source = cells[chosen.source]
    is_lacking = chosen.target >= len(cells)
    span = (cells[-1][1], cells[-1][1]) if is_lacking else cells[chosen.target]
    before = table.delimiter * (chosen.target - len(cells) + 1)
    raw = table.file.text[slice(*span)] or table.file.text[slice(*source)]
    target = table.value(row, chosen.target) if chosen.is_bilingual and not is_lacking else ""
    fuzzy = table.value(row, chosen.fuzzy) if chosen.fuzzy is not None and chosen.fuzzy < len(cells) else ""
    text = message_segment(table.value(row, chosen.source))
    has_id = 0 not in (chosen.source, chosen.target) and chosen.first_row

    return table.file.unit(
        *span,
        text,
        lambda text: before + table.written(text, raw),
        program_text(text),
        where=table.file.where(source[0]),
        is_bilingual=chosen.is_bilingual,
        target=message_segment(target) if target.strip() else None,
        is_draft=fuzzy.strip().casefold() in ("true", "yes", "1"),
        id=table.value(row, 0) if has_id else "",
    )


def _renamed(table: _Table, chosen: _Chosen, wanted: Languages) -> list[Edit]:
    """Returns the edit that renames a translated column from the source language to the target language."""
    if chosen.is_bilingual or not chosen.first_row or not wanted.target or not wanted.source:
        return []
    name = table.value(0, chosen.source)
    if not language_codes.is_code(name.strip()) or not language_codes.is_same(name, wanted.source):
        return []
    span = table.rows[0][chosen.source]
    return [table.file.edit(*span, table.written(wanted.target, table.file.text[slice(*span)]))]


def rows_of(lines: Iterable[str], name: str, delimiters: str = DELIMITERS) -> Iterator[tuple[int, list[str]]]:
    """Yields the cells of each row of a table, with the number of its last line, from 1.

    A byte order mark is not a part of the first cell. A first line such as `sep=;` names the sign that separates cells.

    Cells between tabs are read as they are; with other signs, cells in quotation marks may hold the sign, line ends and
    doubled quotation marks.

    Args:
        lines: the lines of the file, without their ends.
        name: the file's name, for messages, and for the sign that separates cells if the first line does not show it.
        delimiters: the signs that may separate cells.

    Raises InputError where cells cannot be distinguished.
    """
    rest, before = iter(lines), 0
    first = next(rest, None)
    if told := _SEPARATOR.match(first or ""):
        first, before = next(rest, None), 1
    if first is None:
        return
    rest = chain([first.removeprefix("\ufeff")], rest)
    delimiter = told[1] if told else delimiter_of(first, name, delimiters)
    if delimiter == "\t":
        yield from ((number, line.split("\t")) for number, line in enumerate(rest, 1 + before))
        return
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    reader = csv.reader((f"{line}\n" for line in rest), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield reader.line_num + before, row
    except csv.Error as error:
        line = reader.line_num + before
        raise InputError(f"{name}: line {line}: its cells cannot be distinguished ({error}); {_QUOTED}") from None


def rows_in_direction(
    rows: Iterable[tuple[int, list[str]]], name: str, source: str = "", target: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """Yields the rows of a table of sources and targets, without those that are in another direction.

    A row of four cells may name its languages in the last two, as in DeepL's tables; these two cells are left out.

    Raises InputError where rows are in several directions, and no two-letter codes say which are wanted.
    """
    rest = iter(rows)
    first = list(islice(rest, 2))
    has_header = len(first) == 2 and len(first[1][1]) == 4 and not _languages_of(first[1][1])
    wanted = (source, target) if _are_codes(source, target) else None
    for number, cells in chain(first, rest):
        named = None if has_header else _languages_of(cells)
        if named is None:
            yield number, cells
            continue
        if all(map(language_codes.is_same, named, wanted or named)):
            yield number, cells[:2]
            wanted = wanted or named
        elif not _are_codes(source, target):
            raise InputError(f"{name}: line {number} is from {named[0]} to {named[1]}, others are not; divide the file")


def _languages_of(cells: Sequence[str]) -> tuple[str, str] | None:
    """Returns the languages in the third and fourth of four cells; None for another row."""
    return (cells[2], cells[3]) if len(cells) == 4 and _are_codes(*cells[2:]) else None


def _are_codes(*codes: str) -> bool:
    return all(language_codes.primary(code) in language_codes.TWO_LETTERS for code in codes)


def delimiter_of(text: str, name: str, delimiters: str = DELIMITERS) -> str:
    """Returns the sign that separates cells: the most frequent one in the first row outside quotation marks."""
    if ending_of(name) in (".tsv", ".tab"):
        return "\t"
    first = re.match(r'(?:"(?:[^"]++|"")*+"|[^"\r\n]++|")*+', text)
    row = re.sub(r'"(?:[^"]++|"")*+"', "", first[0] if first else "")
    return max(delimiters, key=row.count)


def find_column(names: Sequence[str], asked: str) -> tuple[int, bool] | None:
    """Returns the column of a name in the first row, or else of a number from 1; True if it was the number."""
    folded = [name.strip().casefold() for name in names]
    if asked in names or asked.strip().casefold() in folded:
        return (names.index(asked) if asked in names else folded.index(asked.strip().casefold())), False
    if asked.isascii() and asked.isdecimal() and 1 <= int(asked[:9]) <= max(len(names), 1):
        return int(asked) - 1, True
    return None


def known_column(names: Sequence[str], language: str, known: frozenset[str]) -> int | None:
    """Returns the column called by a language, or by a name that is known."""
    if language and (index := language_codes.find([(name, n) for n, name in enumerate(names)], language)) is not None:
        return index
    return next((n for n, name in enumerate(names) if plain_name(name) in known), None)


def plain_name(name: str) -> str:
    """Returns a column's name in small letters, its words separated by blanks."""
    return " ".join(re.split(r"[\s_-]+", name.strip().casefold()))


def shown_names(names: Sequence[str]) -> str:
    """Returns a first row, for messages."""
    return ", ".join(repr(name[:40]) for name in names[:12])
