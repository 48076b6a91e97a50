"""Excel workbooks (XLSX): texts of cells, comments, drawings, charts, headers and footers; formulas and names stay."""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from docsegments.document import Document, Languages, TextFile, Unit, Untranslated
from docsegments.office.archive import Archive, Relation
from docsegments.office.office_parts import attributes_of, read_part, read_properties, texts_of
from docsegments.office.paragraphs import Paragraph
from docsegments.segment import Mark, Part, Segment, divided_by
from docsegments.text.layout import mark_layout
from docsegments.text.placeholders import hold
from docsegments.xml import Element, Token, element_of, elements_in, escape, prefixed, text_unit, tokens_of

DRAWN = frozenset(["chart", "chartEx", "chartUserShapes", "diagramData", "diagramDrawing", "drawing"])
"""Relations of a sheet, and of its drawings, to files with paragraphs."""
_SHEETS = frozenset(["worksheet", "chartsheet", "dialogsheet"])
_HEADERS = frozenset(["oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"])
_CODE = re.compile(r'&(?:&|"[^"]*+"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d++|[A-JL-Za-z])|_x[0-9A-Fa-f]{4}_')
"""Codes of headers and footers, such as `&C` and `&P`, and characters by their numbers."""
_NAME = "it is the name of a table's column or of a pivot's field, which formulas use"
_COMPARED = "a formula, a filter or a rule compares cells with it"


def read_xlsx(data: bytes, name: str, wanted: Languages) -> Document:
    """Reads the texts of a workbook. Texts that formulas and filters compare with, and names of columns, stay.

    Raises InputError for what is not such an archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "Excel workbook", wanted)
    return _Workbook(archive).document()


@dataclass(frozen=True)
class _Cell:
    """A cell with text of its own or of the workbook's table of strings."""

    where: str
    row: int
    column: int
    number: int | None
    """Index in the table of strings."""
    element: Element | None
    """The cell's own text (inlineStr)."""


@dataclass
class _Sheet:
    name: str
    path: str
    cells: list[_Cell] = field(default_factory=list)


class _Workbook:
    def __init__(self, archive: Archive) -> None:
        self.archive, self.main = archive, archive.main_part
        self.related = archive.relations_of(self.main)
        self.units: list[Unit] = []
        self.left: list[Untranslated] = []
        self.rules = SheetRules()
        self.kept: set[str] = set()
        """Texts of cells that stay, in small letters."""
        self.sheets = list(self._sheets())

    def document(self) -> Document:
        """Returns all texts, those of cells first."""
        for sheet in self.sheets:
            self._read_sheet(sheet)
        self.rules.read_pivots(self.archive, self.related, {sheet.name: sheet.path for sheet in self.sheets})
        self._read_strings()
        for sheet in self.sheets:
            for cell in sheet.cells:
                if cell.element is not None and self.rules.names_column(sheet.path, cell.row, cell.column):
                    self._keep(cell.element, cell.where, _NAME)
                elif cell.element is not None:
                    self._add_text(self.archive.xml(sheet.path), cell.element, cell.where)
            self._read_related(sheet)
        self.units += read_properties(self.archive)
        return Document(self.units, self.archive.pack, self.left)

    def _sheets(self) -> Iterator[_Sheet]:
        paths = {relation.id: relation.path for relation in self.related if relation.kind in _SHEETS}
        file = self.archive.xml(self.main)
        for element in elements_in(file, "sheet", "definedName"):
            if element.name == "definedName":
                self.rules.add_formula(element.own_text)
                continue
            name, number = element.attributes.get("name", ""), prefixed(element.attributes, "id")
            if any(map(str.isalpha, name)):
                self.left.append(Untranslated(self.main, name, "it is the name of a sheet, which formulas use"))
            if number in paths:
                yield _Sheet(name, paths[number])

    def _read_sheet(self, sheet: _Sheet) -> None:
        """Reads the cells with text, the texts that formulas compare with, and the texts of headers and prompts."""
        file = self.archive.xml(sheet.path)
        tokens = tokens_of(file)
        for token in tokens:
            if token.kind != "start":
                continue
            if token.name == "c":
                self._read_cell(file, sheet, element_of(token, tokens))
            elif token.name in _HEADERS:
                self._read_header(file, element_of(token, tokens))
            elif token.name in ("formula", "formula1", "formula2", "f"):
                self.rules.add_formula(element_of(token, tokens).own_text)
            else:
                self.rules.add_attributes(token)
        self.left += attributes_of(file)
        for relation in self.archive.relations_of(sheet.path):
            if relation.kind == "table":
                self.rules.add_table(self.archive.xml(relation.path), sheet.path)

    def _read_cell(self, file: TextFile, sheet: _Sheet, cell: Element) -> None:
        kind, reference = cell.attributes.get("t", "n"), cell.attributes.get("r", "")
        where = f"cell {reference} of {sheet.name}"
        value, formula, inline = cell.find("v"), cell.find("f"), cell.find("is")
        text = "" if value is None else value.own_text
        if formula is not None:
            self.rules.add_formula(formula.own_text)
        row, column, *_ = range_of(reference) or (0, 0)
        if kind == "s" and text.strip().isdecimal():
            sheet.cells.append(_Cell(where, row, column, int(text.strip()[:9]), None))
        elif kind == "inlineStr" and inline is not None:
            sheet.cells.append(_Cell(where, row, column, None, inline))
        elif kind == "str" and any(map(str.isalpha, text)):
            self.left.append(Untranslated(where, text, "a formula gives it, which computes it anew"))

    def _read_strings(self) -> None:
        path = next((relation.path for relation in self.related if relation.kind == "sharedStrings"), None)
        if path is None:
            return
        first: dict[int, str] = {}
        names: set[int] = set()
        for sheet in self.sheets:
            for cell in sheet.cells:
                if cell.number is not None:
                    first.setdefault(cell.number, cell.where)
                    if self.rules.names_column(sheet.path, cell.row, cell.column):
                        names.add(cell.number)
        file = self.archive.xml(path)
        for number, element in enumerate(elements_in(file, "si")):
            where = first.get(number, f"string {number + 1} of {path}")
            if number in names:
                self._keep(element, where, _NAME)
            else:
                self._add_text(file, element, where)

    def _add_text(self, file: TextFile, element: Element, where: str) -> None:
        """Adds a text of a cell or a comment, in one or in several runs."""
        if self.rules.compares(_plain(element)):
            self._keep(element, where, _COMPARED)
            return
        text = element.find("t")
        if text is None:
            paragraph = Paragraph(element, file, "sheet")
            if paragraph.segment.text.strip():
                self.units.append(Unit(paragraph.segment, paragraph.write, where))
            readings = paragraph.left
        else:
            if text.own_text.strip():
                self.units.append(text_unit(text, file, _segment(text.own_text), where=where))
            readings = [_plain(child) for child in element.elements if child.name == "rPh"]
        self.left += [Untranslated(where, reading, "it says how the text is read") for reading in readings]

    def _keep(self, element: Element, where: str, reason: str) -> None:
        text = _plain(element)
        if any(map(str.isalpha, text)):
            self.kept.add(text.strip().casefold())
            self.left.append(Untranslated(where, text, reason))

    def _read_header(self, file: TextFile, element: Element) -> None:
        if any(map(str.isalpha, _CODE.sub("", element.own_text))):
            source = _segment(element.own_text, is_header=True)
            self.units.append(text_unit(element, file, source, lambda text: escape(text.replace("&", "&&"))))

    def _read_related(self, sheet: _Sheet) -> None:
        """Reads the comments and drawings of a sheet."""
        seen: set[str] = set()
        waiting = self.archive.relations_of(sheet.path)
        for relation in waiting:
            if relation.path in seen:
                continue
            seen.add(relation.path)
            if relation.kind == "comments":
                file = self.archive.xml(relation.path)
                for comment in elements_in(file, "comment"):
                    where = f"comment on {comment.attributes.get('ref', '')} of {sheet.name}"
                    for text in (child for child in comment.elements if child.name == "text"):
                        self._add_text(file, text, where)
            elif relation.kind == "threadedComment":
                self.units += texts_of(self.archive.xml(relation.path), ("text",))
            elif relation.kind in DRAWN:
                self._read_drawn(relation)
                waiting += self.archive.relations_of(relation.path)

    def _read_drawn(self, relation: Relation) -> None:
        units, left = read_part(self.archive, relation.path, notes=())
        for unit in units:
            if unit.source.text.strip().casefold() in self.kept:  # a chart's copy of a cell
                self.left.append(Untranslated(unit.where, unit.source.text, "a cell with this text stays as it is"))
            else:
                self.units.append(unit)
        self.left += [other for other in left if any(map(str.isalpha, other.text))]


def _plain(element: Element) -> str:
    """Returns the text of a cell in one or several runs."""
    if element.name == "t":
        return element.own_text
    return "".join(_plain(child) for child in element.elements if child.name in ("r", "t"))


def _segment(text: str, is_header: bool = False) -> Segment:
    """Returns a text with marks for codes; a code of a header breaks the text where another part of the page begins."""
    parts: list[Part] = []
    for piece in divided_by(_CODE, text):
        code = piece if isinstance(piece, str) else piece[0]
        if isinstance(piece, str) or (code[0] == "&" and not is_header):
            parts.append(code)
        elif code == "&&":
            parts.append("&")
        else:
            is_part = code in ("&L", "&C", "&R")
            parts.append(Mark(escape(code), shown=" " if is_part or code[0] == "_" else "", breaks=is_part))
    return Segment.of(mark_layout(hold(parts, escape), escape))


_STRING = re.compile(r'"((?:[^"]++|"")*+)"')
_RANGE = re.compile(r"\$?([A-Z]{1,3})\$?(\d{1,7})(?::\$?([A-Z]{1,3})\$?(\d{1,7}))?")

MOST_COLUMNS = 26**3 + 26**2 + 26
"""Columns with names of up to three letters, more than any sheet has."""

Range = tuple[int, int, int, int]
"""First row, first column, last row and last column, from 1."""


class SheetRules:
    """Texts that must stay, since something else in the workbook refers to them."""

    def __init__(self) -> None:
        self.compared: set[str] = set()
        """Texts that formulas, filters and rules compare cells with, without regard to case."""
        self.names: defaultdict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
        """The first and last columns of cells that name columns of tables, by the files of their sheets and rows."""
        self._whole: dict[tuple[str, int], list[tuple[int, int]]] = {}

    def compares(self, text: str) -> bool:
        """Returns True if a formula or a rule of the workbook compares cells with a text."""
        return text.strip().casefold() in self.compared

    def names_column(self, sheet: str, row: int, column: int) -> bool:
        """Returns True if a cell, by the file of its sheet, is the name of a table column."""
        if (spans := self._whole.get((sheet, row))) is None:
            spans = self._whole[sheet, row] = []  # overlapping ones joined
            for first, last in sorted(self.names.get((sheet, row), ())):
                if spans and first <= spans[-1][1] + 1:
                    spans[-1] = (spans[-1][0], max(last, spans[-1][1]))
                else:
                    spans.append((first, last))
        number = bisect_right(spans, (column, MOST_COLUMNS)) - 1
        return number >= 0 and column <= spans[number][1]

    def add_formula(self, formula: str) -> None:
        """Notes the strings of a formula, and of a list of choices that is one string."""
        self.compared |= set(strings_in(formula))

    def add_attributes(self, token: Token) -> None:
        """Notes the texts that a filter or a rule for formats compares cells with."""
        if token.name in ("filter", "customFilter"):
            self.compared.add(token.attributes.get("val", "").strip("*?").strip().casefold())
        elif token.name == "cfRule" and "text" in token.attributes:
            self.compared.add(token.attributes["text"].strip().casefold())
        self.compared.discard("")

    def add_table(self, file: TextFile, sheet: str) -> None:
        """Notes the cells with the names of a table's columns."""
        for token in tokens_of(file):
            if token.name == "table" and token.attributes.get("headerRowCount") != "0":
                self._add_names(sheet, token)
            elif token.name in ("filter", "customFilter"):
                self.add_attributes(token)

    def read_pivots(self, archive: Archive, related: Sequence[Relation], sheets: Mapping[str, str]) -> None:
        """Notes the cells with the names of the fields of pivot tables.

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
                if path is not None and token.name == "worksheetSource":
                    self._add_names(path, token)

    def _add_names(self, sheet: str, token: Token) -> None:
        if (cells := range_of(token.attributes.get("ref", ""))) is not None:
            self.names[sheet, cells[0]].append((cells[1], cells[3]))


def strings_in(formula: str) -> Iterator[str]:
    """Yields the strings of a formula, and the parts of them between commas, in small letters."""
    for match in _STRING.finditer(formula):
        text = match[1].replace('""', '"').casefold()
        yield from filter(None, (piece.strip().strip("*?").strip() for piece in [text, *text.split(",")]))


def range_of(reference: str) -> Range | None:
    """Returns the cells that a reference such as `A1:C10` names; None for others."""
    match = _RANGE.fullmatch(reference)
    if match is None:
        return None
    first, last = (int(match[2]), _column(match[1])), (int(match[4] or match[2]), _column(match[3] or match[1]))
    return (*first, *last)


def _column(letters: str) -> int:
    column = 0
    for letter in letters:
        column = 26 * column + ord(letter) - ord("A") + 1
    return column
