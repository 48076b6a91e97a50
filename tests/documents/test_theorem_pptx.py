"""PowerPoint presentations: all that a reader sees is translated or named in the log, and nothing else changes."""

import io
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from documents.theorem import in_capitals

pptx = pytest.importorskip("pptx")
etree = pytest.importorskip("lxml.etree")


class Writer:
    """Writes presentations by chance."""

    def __init__(self, random: Random, words: Callable[[], str]) -> None:
        self.random, self.words = random, words

    def fill(self, frame: Any, has_links: bool = True) -> None:
        for number in range(self.random.randint(1, 3)):
            paragraph = frame.paragraphs[0] if number == 0 else frame.add_paragraph()
            for _ in range(self.random.randint(0, 4)):
                run = paragraph.add_run()
                run.text = self.words()
                run.font.bold = self.random.choice([None, None, True])
                if has_links and self.random.random() < 0.1:
                    run.hyperlink.address = "http://a.example/the_dog"
                if self.random.random() < 0.2:
                    paragraph.add_line_break()

    def document(self) -> bytes:
        presentation = pptx.Presentation()
        for _ in range(self.random.randint(1, 2)):
            slide = presentation.slides.add_slide(presentation.slide_layouts[self.random.choice([1, 3, 6])])
            for shape in slide.placeholders:
                self.fill(shape.text_frame)
            box = slide.shapes.add_textbox(0, 0, 9, 9)
            self.fill(box.text_frame)
            if self.random.random() < 0.5:
                table = slide.shapes.add_table(2, 2, 0, 0, 9, 9).table
                for cell in table.iter_cells():
                    self.fill(cell.text_frame)
            if self.random.random() < 0.5:
                self.fill(slide.shapes.add_group_shape().shapes.add_textbox(0, 0, 9, 9).text_frame)
            if self.random.random() < 0.4:
                self.fill(slide.notes_slide.notes_text_frame)
            if self.random.random() < 0.4:
                self.chart(slide)
        data = io.BytesIO()
        presentation.core_properties.title = self.random.choice(["", "the dog sees"])
        presentation.save(data)
        return data.getvalue()

    def chart(self, slide: Any) -> None:
        from pptx.chart.data import CategoryChartData
        from pptx.enum.chart import XL_CHART_TYPE

        table = CategoryChartData()
        table.categories = ["the dog", "a cat"]
        table.add_series("the men", (1, 2))
        chart = slide.shapes.add_chart(XL_CHART_TYPE.COLUMN_CLUSTERED, 0, 0, 9, 9, table).chart
        self.fill(chart.chart_title.text_frame, has_links=False)


def frames(shapes: Any) -> Iterator[Any]:
    for shape in shapes:
        if shape.shape_type == 6:
            yield from frames(shape.shapes)
        elif shape.has_text_frame:
            yield shape.text_frame
        elif getattr(shape, "has_table", False) and shape.has_table:
            yield from (cell.text_frame for cell in shape.table.iter_cells())
        elif getattr(shape, "has_chart", False) and shape.has_chart:
            yield shape.chart


def shown(data: bytes) -> list[str]:
    presentation = pptx.Presentation(io.BytesIO(data))
    texts = [presentation.core_properties.title]
    for slide in presentation.slides:
        for frame in frames(slide.shapes):
            if hasattr(frame, "paragraphs"):
                texts += [paragraph.text.replace("\x0b", " ") for paragraph in frame.paragraphs]
            else:
                texts += [paragraph.text.replace("\x0b", " ") for paragraph in frame.chart_title.text_frame.paragraphs]
                texts += [*frame.plots[0].categories, *(series.name for series in frame.plots[0].series)]
        if slide.has_notes_slide:
            texts += [paragraph.text for paragraph in slide.notes_slide.notes_text_frame.paragraphs]
    return texts


def skeleton(data: bytes) -> Any:
    """All files but for runs and texts of paragraphs, which are written anew."""
    found: Counter[Any] = Counter()
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        for path in packed.namelist():
            content = packed.read(path)
            if not path.endswith((".xml", ".rels")):
                found[path, content] += 1
                continue
            for element, name, around in elements(etree.fromstring(content)):
                if name in ("r", "t", "rPr", "v", "title") or "rPr" in around:
                    continue
                attributes = tuple(sorted((key, value) for key, value in element.attrib.items() if key != "lang"))
                found[path, name, around, attributes, (element.text or "").strip()] += 1
        return found, packed.namelist()


def elements(element: Any, around: tuple[str, ...] = ()) -> Iterator[tuple[Any, str, tuple[str, ...]]]:
    """Each element with its name and the names of those around it, the innermost first."""
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "comment"
    yield element, name, around
    for child in element:
        yield from elements(child, (name, *around))


def test_prompts_of_the_design_stay_and_its_own_texts_do_not() -> None:
    presentation = pptx.Presentation()
    layout = presentation.slide_layouts[6]
    presentation.slides.add_slide(layout)
    data = io.BytesIO()
    presentation.save(data)
    own = (
        '<p:sp><p:nvSpPr><p:cNvPr id="99" name="x"/><p:cNvSpPr/><p:nvPr/></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>'
        "<a:p><a:r><a:t>the dog</a:t></a:r></a:p></p:txBody></p:sp></p:spTree>"
    )
    changed = io.BytesIO()
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(changed, "w") as new:
        for path in old.namelist():
            content = old.read(path)
            if path == "ppt/slideLayouts/slideLayout7.xml":
                content = content.replace(b"</p:spTree>", own.encode())
            new.writestr(path, content)
    with zipfile.ZipFile(io.BytesIO(in_capitals(changed.getvalue(), "a.pptx").data)) as packed:
        text = packed.read("ppt/slideLayouts/slideLayout7.xml").decode()
        master = packed.read("ppt/slideMasters/slideMaster1.xml").decode()
    assert "THE DOG" in text
    assert "Click to edit Master title style" in master
