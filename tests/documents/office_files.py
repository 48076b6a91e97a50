"""Office documents as other libraries write them, with a little of all that they may hold."""

import io

import pytest


def docx_bytes() -> bytes:
    """A Word document."""
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_heading("The dog sleeps.", 1)
    paragraph = document.add_paragraph("The ")
    paragraph.add_run("old").bold = True
    paragraph.add_run(" dog sees ")
    paragraph.add_run("{name}")
    paragraph.add_run().add_break()
    paragraph.add_run("Now.")
    document.add_table(1, 2).cell(0, 1).text = "The child & I"
    document.sections[0].header.paragraphs[0].text = "The head"
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()


def pptx_bytes() -> bytes:
    """A presentation."""
    pptx = pytest.importorskip("pptx")
    presentation = pptx.Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "The dog sleeps."
    paragraph = slide.placeholders[1].text_frame.paragraphs[0]
    for text in ("The ", "old", " cat sees {name}"):
        paragraph.add_run().text = text
    paragraph.runs[1].font.bold = True
    slide.notes_slide.notes_text_frame.text = "The notes & I"
    data = io.BytesIO()
    presentation.save(data)
    return data.getvalue()


def xlsx_bytes() -> bytes:
    """A workbook."""
    xlsxwriter = pytest.importorskip("xlsxwriter")
    data = io.BytesIO()
    workbook = xlsxwriter.Workbook(data)
    sheet = workbook.add_worksheet("The sheet")
    bold = workbook.add_format({"bold": True})
    sheet.write("A1", "The dog & I")
    sheet.write_rich_string("A2", "The ", bold, "old", " cat")
    sheet.write("A3", 5)
    sheet.write_formula("A4", '=IF(A5="the man","1","2")')
    sheet.write("A5", "The man")
    sheet.set_header("&CThe &P of &N")
    workbook.close()
    return data.getvalue()


def odt_bytes() -> bytes:
    """An OpenDocument text."""
    text = pytest.importorskip("odf.text")
    document = pytest.importorskip("odf.opendocument").OpenDocumentText()
    document.text.addElement(text.H(outlinelevel=1, text="The dog sleeps."))
    paragraph = text.P(text="The ")
    paragraph.addElement(text.Span(text="old"))
    paragraph.addText(" cat sees {name}")
    paragraph.addElement(text.LineBreak())
    paragraph.addText("Now & then.")
    document.text.addElement(paragraph)
    data = io.BytesIO()
    document.save(data)
    return data.getvalue()
