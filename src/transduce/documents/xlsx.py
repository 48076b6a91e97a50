"""Excel workbooks (XLSX): texts of cells, comments, drawings, charts, headers and footers; formulas and names stay."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from transduce.documents.archive import Archive
from transduce.documents.document import Document, Edit, Languages, TextFile, Unit, Untranslated
from transduce.documents.inline import written
from transduce.documents.layout import mark_layout
from transduce.documents.office import pack, read_part, read_properties, texts_of
from transduce.documents.packaging import Relation, main_part, relations_of
from transduce.documents.paragraphs import Paragraph
from transduce.documents.placeholders import hold
from transduce.documents.segment import Mark, Part, Segment
from transduce.documents.xlsx_rules import SheetRules, range_of, strings_in
from transduce.documents.xml import Element, Token, content_edit, element_of, escape, tokens_of

DRAWN = frozenset(["chart", "chartEx", "chartUserShapes", "diagramData", "diagramDrawing", "drawing"])
"""Relations of a sheet, and of what is drawn on it, to files with paragraphs."""
_HEADERS = frozenset(["oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter"])
_CODE = re.compile(r'&(?:&|"[^"]*+"|K[0-9A-Fa-f]{6}|K\d\d[+-]\d{3}|\d++|[A-JL-Za-z])|_x[0-9A-Fa-f]{4}_')
"""Codes of headers and footers, such as `&C` and `&P`, and characters by their numbers."""
_PROMPTS = ("promptTitle", "prompt", "errorTitle", "error", "tooltip")
_NAME = "it is the name of a table's column or of a pivot's field, which formulas use"
_COMPARED = "a formula, a filter or a rule compares cells with it"


def read_xlsx(data: bytes, name: str, wanted: Languages) -> Document:
    """The texts of a workbook. What formulas and filters compare cells with, and names of tables' columns, stay.

    Raises InputError for what is no such archive, or would be too large when it is unpacked.
    """
    archive = Archive(data, name, "Excel workbook")
    return _Reading(archive, main_part(archive)).document()


@dataclass(frozen=True)
class _Cell:
    """A cell with text of its own or of the workbook's table of strings."""

    where: str
    row: int
    column: int
    number: int | None
    """In the table of strings."""
    element: Element | None
    """Its own text (inlineStr)."""


@dataclass
class _Sheet:
    name: str
    path: str
    cells: list[_Cell] = field(default_factory=list)


class _Reading:
    def __init__(self, archive: Archive, main: str) -> None:
        self.archive, self.main = archive, main
        self.related = relations_of(archive, main)
        self.units: list[Unit] = []
        self.left: list[Untranslated] = []
        self.rules = SheetRules()
        self.kept: set[str] = set()
        """Texts of cells that stay, in small letters."""
        self.sheets = list(self._sheets())

    def document(self) -> Document:
        """All texts, those of cells first."""
        for sheet in self.sheets:
            self._read_sheet(sheet)
        self.rules.read_pivots(self.archive, self.related, {sheet.name: sheet.path for sheet in self.sheets})
        self._read_strings()
        for sheet in self.sheets:
            for cell in sheet.cells:
                if cell.element is not None and self.rules.names_column(sheet.path, cell.row, cell.column):
                    self._keep(cell.element, cell.where, _NAME)
                elif cell.element is not None:
                    self._add_text(self.archive.xml(sheet.path), sheet.path, cell.element, cell.where)
            self._read_related(sheet)
        self.units += read_properties(self.archive)
        return Document(self.units, lambda edits: pack(self.archive, edits), self.left)

    def _sheets(self) -> Iterator[_Sheet]:
        paths = {one.id: one.path for one in self.related if one.kind in ("worksheet", "chartsheet", "dialogsheet")}
        file = self.archive.xml(self.main)
        for token in tokens_of(file):
            if token.kind == "start" and token.name == "sheet":
                name = token.attributes.get("name", "")
                number = next((value for key, value in token.attributes.items() if key.endswith(":id")), "")
                if any(map(str.isalpha, name)):
                    self.left.append(Untranslated(self.main, name, "it is the name of a sheet, which formulas use"))
                if number in paths:
                    yield _Sheet(name, paths[number])
        self.rules.compared |= {one for text in _elements(file, ("definedName",)) for one in strings_in(_text(text))}

    def _read_sheet(self, sheet: _Sheet) -> None:
        """Find the cells with text, what formulas compare with, and the texts of headers and prompts."""
        file = self.archive.xml(sheet.path)
        tokens = tokens_of(file)
        for token in tokens:
            if token.kind != "start":
                continue
            if token.name == "c":
                self._read_cell(file, sheet, element_of(token, tokens))
            elif token.name in _HEADERS:
                self._read_header(file, sheet, element_of(token, tokens))
            elif token.name in ("formula", "formula1", "formula2", "f"):
                self.rules.add_formula(_text(element_of(token, tokens)))
            else:
                self.rules.add_attributes(token)
                where = f"line {file.line_of(token.start)} of {sheet.path}"
                self.left += [
                    Untranslated(where, token.attributes[key], "it is a prompt that is an attribute")
                    for key in _PROMPTS
                    if any(map(str.isalpha, token.attributes.get(key, "")))
                ]
        for relation in relations_of(self.archive, sheet.path):
            if relation.kind == "table":
                self.rules.add_table(self.archive.xml(relation.path), sheet.path)

    def _read_cell(self, file: TextFile, sheet: _Sheet, cell: Element) -> None:
        kind, reference = cell.attributes.get("t", "n"), cell.attributes.get("r", "")
        where = f"cell {reference} of {sheet.name}"
        value, formula, own = cell.find("v"), cell.find("f"), cell.find("is")
        if formula is not None:
            self.rules.add_formula(_text(formula))
        row, column, *_ = range_of(reference) or (0, 0)
        if kind == "s" and value is not None and _text(value).strip().isdecimal():
            sheet.cells.append(_Cell(where, row, column, int(_text(value).strip()[:9]), None))
        elif kind == "inlineStr" and own is not None:
            sheet.cells.append(_Cell(where, row, column, None, own))
        elif kind == "str" and value is not None and any(map(str.isalpha, _text(value))):
            self.left.append(Untranslated(where, _text(value), "a formula gives it, which computes it anew"))

    def _read_strings(self) -> None:
        path = next((one.path for one in self.related if one.kind == "sharedStrings"), None)
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
        for number, element in enumerate(_elements(file, ("si",))):
            where = first.get(number, f"string {number + 1} of {path}")
            if number in names:
                self._keep(element, where, _NAME)
            else:
                self._add_text(file, path, element, where)

    def _add_text(self, file: TextFile, path: str, element: Element, where: str) -> None:
        """A text of a cell or a comment, in one or in several runs."""
        if self.rules.compares(_plain(element)):
            self._keep(element, where, _COMPARED)
            return
        text = element.find("t")
        if text is None:
            paragraph = Paragraph(element, file, path, "sheet")
            if paragraph.segment.text.strip():
                self.units.append(Unit(paragraph.segment, paragraph.write, where))
            readings = paragraph.left
        else:
            if _text(text).strip():
                self.units.append(Unit(_segment(_text(text)), _writer(text, file, path), where))
            readings = [_plain(child) for child in element.elements if child.name == "rPh"]
        self.left += [Untranslated(where, one, "it says how the text is read") for one in readings]

    def _keep(self, element: Element, where: str, reason: str) -> None:
        text = _plain(element)
        if any(map(str.isalpha, text)):
            self.kept.add(text.strip().casefold())
            self.left.append(Untranslated(where, text, reason))

    def _read_header(self, file: TextFile, sheet: _Sheet, element: Element) -> None:
        text = _text(element)
        if any(map(str.isalpha, _CODE.sub("", text))):
            where = f"line {file.line_of(element.start)} of {sheet.path}"
            self.units.append(Unit(_segment(text, is_header=True), _header_writer(element, file, sheet.path), where))

    def _read_related(self, sheet: _Sheet) -> None:
        """Comments of a sheet, and what is drawn on it."""
        seen: set[str] = set()
        waiting = relations_of(self.archive, sheet.path)
        for relation in waiting:
            if relation.path in seen:
                continue
            seen.add(relation.path)
            if relation.kind == "comments":
                file = self.archive.xml(relation.path)
                for comment in _elements(file, ("comment",)):
                    where = f"comment on {comment.attributes.get('ref', '')} of {sheet.name}"
                    for text in (child for child in comment.elements if child.name == "text"):
                        self._add_text(file, relation.path, text, where)
            elif relation.kind == "threadedComment":
                self.units += texts_of(self.archive.xml(relation.path), relation.path, ("text",))
            elif relation.kind in DRAWN:
                self._read_drawn(relation)
                waiting += relations_of(self.archive, relation.path)

    def _read_drawn(self, relation: Relation) -> None:
        units, left = read_part(self.archive, relation.path, notes=())
        for unit in units:
            if unit.source.text.strip().casefold() in self.kept:  # a chart's copy of a cell
                self.left.append(Untranslated(unit.where, unit.source.text, "a cell with this text stays as it is"))
            else:
                self.units.append(unit)
        self.left += [one for one in left if any(map(str.isalpha, one.text))]


def _elements(file: TextFile, names: Sequence[str]) -> Iterator[Element]:
    tokens = tokens_of(file)
    for token in tokens:
        if token.kind == "start" and token.name in names:
            yield element_of(token, tokens)


def _text(element: Element) -> str:
    return "".join(child.value for child in element.content if isinstance(child, Token) and child.kind == "text")


def _plain(element: Element) -> str:
    """What a text in one or several runs says."""
    if element.name == "t":
        return _text(element)
    return "".join(_plain(child) for child in element.elements if child.name in ("r", "t"))


def _segment(text: str, is_header: bool = False) -> Segment:
    """A text in which codes are marks: those of headers break it where another part of the page begins."""
    parts: list[Part] = []
    done = 0
    for found in _CODE.finditer(text):
        if not is_header and found[0][0] == "&":
            continue
        parts.append(text[done : found.start()])
        done = found.end()
        if found[0] == "&&":
            parts.append("&")
            continue
        is_part = found[0] in ("&L", "&C", "&R")
        parts.append(Mark(escape(found[0]), shown=" " if is_part or found[0][0] == "_" else "", breaks=is_part))
    parts.append(text[done:])
    return Segment.of(mark_layout(hold(parts, escape), escape))


def _writer(element: Element, file: TextFile, path: str) -> Callable[[Segment], list[Edit]]:
    def write(segment: Segment) -> list[Edit]:
        edit = content_edit(element, file, written(segment))
        return [Edit(edit.start, edit.end, edit.text, path)]

    return write


def _header_writer(element: Element, file: TextFile, path: str) -> Callable[[Segment], list[Edit]]:
    def write(segment: Segment) -> list[Edit]:
        parts = (part.raw if isinstance(part, Mark) else escape(part.replace("&", "&&")) for part in segment.parts)
        edit = content_edit(element, file, "".join(parts))
        return [Edit(edit.start, edit.end, edit.text, path)]

    return write
