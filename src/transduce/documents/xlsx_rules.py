"""What texts of a workbook's cells other parts of it rely on: formulas, filters, names of tables' columns."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from transduce.documents.archive import Archive
from transduce.documents.document import TextFile
from transduce.documents.packaging import Relation
from transduce.documents.xml import Token, tokens_of

_STRING = re.compile(r'"((?:[^"]++|"")*+)"')
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")

MOST_COLUMNS = 26**3 + 26**2 + 26
"""More than any sheet has, by three letters."""

Range = tuple[int, int, int, int]
"""First row, first column, last row and last column, from 1."""


class SheetRules:
    """Texts that must stay, since something else in the workbook names them."""

    def __init__(self) -> None:
        self.compared: set[str] = set()
        """Texts that formulas, filters and rules compare cells with, without regard to case."""
        self.names: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        """The first and last columns of cells that name columns of tables, by the files of their sheets and rows."""
        self._whole: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def compares(self, text: str) -> bool:
        """Whether something compares cells with a text."""
        return text.strip().casefold() in self.compared

    def names_column(self, sheet: str, row: int, column: int) -> bool:
        """Whether a cell of a sheet, by its file, is the name of a column."""
        spans = self._spans(sheet, row)
        number = bisect_right(spans, (column, MOST_COLUMNS)) - 1
        return number >= 0 and column <= spans[number][1]

    def _spans(self, sheet: str, row: int) -> list[tuple[int, int]]:
        """The columns that are named in a row; those that overlap are one."""
        if (spans := self._whole.get((sheet, row))) is None:
            spans = []
            for first, last in sorted(self.names.get((sheet, row), ())):
                if spans and first <= spans[-1][1] + 1:
                    spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
                else:
                    spans.append((first, last))
            self._whole[sheet, row] = spans
        return spans

    def add_formula(self, formula: str) -> None:
        """Note the strings of a formula, and of a list of choices that is one string."""
        self.compared |= set(strings_in(formula))

    def add_attributes(self, token: Token) -> None:
        """Note what a filter or a rule for formats compares cells with."""
        if token.name in ("filter", "customFilter"):
            self.compared.add(token.attributes.get("val", "").strip("*?").strip().casefold())
        elif token.name == "cfRule" and "text" in token.attributes:
            self.compared.add(token.attributes["text"].strip().casefold())
        self.compared.discard("")

    def add_table(self, file: TextFile, sheet: str) -> None:
        """Note the cells with the names of a table's columns."""
        for token in tokens_of(file):
            if token.kind != "start":
                continue
            if token.name == "table" and token.attributes.get("headerRowCount") != "0":
                cells = range_of(token.attributes.get("ref", ""))
                if cells is not None:
                    self.names[sheet, cells[0]].append((cells[1], cells[3]))
            elif token.name in ("filter", "customFilter"):
                self.add_attributes(token)

    def read_pivots(self, archive: Archive, related: Sequence[Relation], sheets: Mapping[str, str]) -> None:
        """Note the cells with the names of the fields of pivot tables.

        Args:
            archive: the workbook.
            related: the files that it refers to.
            sheets: the files of sheets by their names.
        """
        for relation in related:
            if relation.kind != "pivotCacheDefinition":
                continue
            for token in tokens_of(archive.xml(relation.path)):
                path = sheets.get(token.attributes.get("sheet", ""))
                cells = range_of(token.attributes.get("ref", "")) if token.name == "worksheetSource" else None
                if path is not None and cells is not None:
                    self.names[path, cells[0]].append((cells[1], cells[3]))


def strings_in(formula: str) -> Iterator[str]:
    """The strings of a formula, and what commas part in them, in small letters."""
    for found in _STRING.finditer(formula):
        text = found[1].replace('""', '"').casefold()
        yield from filter(None, (piece.strip().strip("*?").strip() for piece in [text, *text.split(",")]))


def range_of(reference: str) -> Range | None:
    """The cells that a reference such as `A1:C10` names; None for others."""
    found = _RANGE.fullmatch(reference)
    if found is None:
        return None
    first, last = (int(found[2]), _column(found[1])), (int(found[4] or found[2]), _column(found[3] or found[1]))
    return (*first, *last)


def _column(letters: str) -> int:
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return column
