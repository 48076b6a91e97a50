"""Excel workbooks: all that a reader sees is translated or named in the log, and nothing else changes."""

import io
import zipfile
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from documents.theorem import in_capitals

xlsxwriter = pytest.importorskip("xlsxwriter")
openpyxl = pytest.importorskip("openpyxl")
etree = pytest.importorskip("lxml.etree")


class Writer:
    """Writes workbooks by chance."""

    def __init__(self, random: Random, words: Callable[[], str]) -> None:
        self.random, self.words = random, words

    def document(self) -> bytes:
        data = io.BytesIO()
        in_memory = {"in_memory": True, "constant_memory": self.random.random() < 0.3}
        workbook = xlsxwriter.Workbook(data, in_memory)
        bold = workbook.add_format({"bold": True})
        for number in range(self.random.randint(1, 2)):
            sheet = workbook.add_worksheet(f"The sheet {number}")
            for row in range(self.random.randint(1, 5)):
                sheet.write_string(row, 0, self.words())
                if self.random.random() < 0.5:
                    sheet.write_rich_string(row, 1, "the ", bold, self.words(), f" {self.words()}")
                sheet.write_number(row, 2, row)
            sheet.write_string(8, 0, "the yes")
            sheet.write_formula(8, 1, '=IF(A9="the yes","the good","the bad")', None, "the good")
            if self.random.random() < 0.5:
                sheet.add_table(10, 0, 12, 1, {"columns": [{"header": "the age"}, {"header": "the name"}]})
                sheet.write_string(11, 1, self.words())
            if self.random.random() < 0.5:
                sheet.write_comment(0, 0, self.words(), {"author": "the author"})
            if self.random.random() < 0.5:
                sheet.set_header('&L&"Arial,Bold"the head&Rthe &P of &N')
                sheet.set_footer("the foot")
            if self.random.random() < 0.5:
                chart = workbook.add_chart({"type": "column"})
                chart.add_series({"values": [sheet.name, 0, 2, 2, 2], "name": "the series"})
                chart.set_title({"name": "the title"})
                sheet.insert_chart("E1", chart)
            if self.random.random() < 0.3:
                sheet.insert_textbox("E9", self.words())
        workbook.set_properties({"title": "the title of it"})
        workbook.close()
        return data.getvalue()


def shown(data: bytes) -> list[str]:
    workbook = openpyxl.load_workbook(io.BytesIO(data), rich_text=False)
    texts = [workbook.properties.title or ""]
    for sheet in workbook:
        texts.append(sheet.title)
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, str) and cell.data_type != "f":
                    texts.append(cell.value)
                if cell.comment is not None:
                    texts.append(cell.comment.text)
        for part in (sheet.oddHeader.left, sheet.oddHeader.right, sheet.oddFooter.center):
            texts.append((part.text or "").replace("&P", "").replace("&N", ""))
    return texts + drawn(data)


def drawn(data: bytes) -> list[str]:
    texts = []
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for path in sorted(packed.namelist()):
            if path.startswith(("xl/charts/", "xl/drawings/drawing")) and path.endswith(".xml"):
                for paragraph in etree.fromstring(packed.read(path)).iter("{*}p"):
                    texts.append("".join(text.text or "" for text in paragraph.iter("{*}t")))
    return texts


def skeleton(data: bytes) -> Any:
    """All files, but for runs and texts; formulas and names too."""
    found: Counter[Any] = Counter()
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for path in packed.namelist():
            content = packed.read(path)
            if not path.endswith((".xml", ".rels", ".vml")):
                found[path, content] += 1
                continue
            for element in etree.fromstring(content).iter():
                name = etree.QName(element).localname if isinstance(element.tag, str) else "comment"
                around = tuple(etree.QName(one).localname for one in element.iterancestors())
                if name in ("r", "t", "rPr", "title", "oddHeader", "oddFooter") or "rPr" in around:
                    continue
                text = "" if name == "v" and "cache" in str(around).lower() else (element.text or "").strip()
                found[path, name, around, tuple(sorted(element.attrib.items())), text] += 1
        return found, packed.namelist()


def test_what_formulas_use_stays_and_is_named() -> None:
    data = io.BytesIO()
    workbook = xlsxwriter.Workbook(data)
    sheet = workbook.add_worksheet("Dogs")
    sheet.write_column("A1", ["the dog", "open", "closed", "Low", "the cat"])
    sheet.write_formula("B1", '=COUNTIF(A1:A9,"open")&IF(A3="Closed","the x","y")', None, "a result")
    sheet.data_validation("C1", {"validate": "list", "source": ["low", "high"], "input_message": "Choose one"})
    sheet.add_table("D1:E3", {"columns": [{"header": "the age"}, {"header": "the name"}]})
    workbook.close()
    translated = in_capitals(data.getvalue(), "a.xlsx")
    assert [one.source for one in translated.segments if one.origin == "untranslated"] == [
        "Dogs", "a result", "Choose one", "open", "closed", "Low", "the age", "the name",
    ]  # fmt: skip
    cells = openpyxl.load_workbook(io.BytesIO(translated.data))["Dogs"]
    assert [row[0].value for row in cells["A1:A5"]] == ["THE DOG", "open", "closed", "Low", "THE CAT"]
    assert translated.segments[0].where == "cell A1 of Dogs"


def test_rich_texts_keep_their_formats() -> None:
    data = io.BytesIO()
    workbook = xlsxwriter.Workbook(data)
    bold = workbook.add_format({"bold": True})
    workbook.add_worksheet().write_rich_string("A1", "the ", bold, "old\ndog", " runs")
    workbook.close()
    sheet = openpyxl.load_workbook(io.BytesIO(in_capitals(data.getvalue(), "a.xlsx").data), rich_text=True).active
    parts = [(str(part), bool(getattr(getattr(part, "font", None), "b", False))) for part in sheet["A1"].value]
    assert "".join(text for text, _ in parts) == "THE OLD\nDOG RUNS"
    assert "".join(text for text, is_bold in parts if is_bold).split() == ["OLD", "DOG"]
