"""Documents are translated by any function, without PyTorch and the models of this package."""

import subprocess
import sys
from pathlib import Path

import pytest

from docsegments.document import Languages
from docsegments.translating import document_translator
from docsegments.translating.document_translator import DocumentTranslator
from documents.office_files import docx_bytes
from transduce.base.errors import InputError
from transduce.inference import model_documents
from transduce.search.beam import Beam

SCRIPT = """
import sys
from importlib.abc import MetaPathFinder

class NoTorch(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError(f"{name} is imported")

sys.meta_path.insert(0, NoTorch())
from docsegments import DocumentTranslator, Languages

documents = DocumentTranslator(lambda texts: [text.upper() for text in texts], languages=Languages("en", "de"))
documents.translate_file(sys.argv[1], sys.argv[2])
print(*(name for name in sys.modules if name.startswith("transduce")))
"""


def test_a_document_is_translated_by_a_function_where_pytorch_cannot_be_imported(tmp_path: Path) -> None:
    docx = pytest.importorskip("docx")
    (tmp_path / "a.docx").write_bytes(docx_bytes())
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "a.docx"), str(tmp_path / "b.docx")]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    paragraphs = docx.Document(str(tmp_path / "b.docx")).paragraphs
    assert [paragraph.text for paragraph in paragraphs] == ["THE DOG SLEEPS.", "THE OLD DOG SEES {name}\nNOW."]
    assert loaded == []


def test_a_function_must_return_a_translation_of_each_text() -> None:
    with pytest.raises(InputError, match="returned 1 translations of 2 sentences"):
        DocumentTranslator(lambda texts: texts[:1]).translate(b"One. Two.", "a.html")


def test_a_line_end_of_a_translation_does_not_break_a_document() -> None:
    documents = DocumentTranslator(lambda texts: [f" {text}\n\nx\n" for text in texts])
    cue = b"1\n00:00:01,000 --> 00:00:02,000\nA dog\n"
    assert documents.translate(cue, "a.srt").data == cue.replace(b"dog", b"dog  x")


def test_a_function_takes_no_search_and_has_the_languages_that_are_named() -> None:
    languages = Languages("en", "de-AT")
    documents = model_documents.DocumentTranslator(list, languages=languages)
    assert isinstance(documents, document_translator.DocumentTranslator) and documents.languages == languages
    with pytest.raises(InputError, match="a search and a glossary go with a Translator alone"):
        model_documents.DocumentTranslator(list, Beam())
