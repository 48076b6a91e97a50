"""Modules that the fork server of documents loads first, so that a forked process imports and compiles nothing."""

import gc
from contextlib import suppress

from docsegments.document import Languages
from docsegments.document_formats import FORMATS, read_document
from docsegments.translating.document_translator import DocumentTranslator
from transduce.apps.serving.documents import worker as worker

SAMPLES = {"strings": b'"a" = "b";'}
"""Texts of formats whose reader imports its library for them alone."""


def preload() -> None:
    """Reads a text by each format, for its imports, and translates a page, for the patterns that it compiles."""
    for kind in FORMATS:
        with suppress(Exception):  # few formats can read the text, and no error may keep processes from starting
            read_document(SAMPLES.get(kind, b"x"), "x", kind=kind)
    with suppress(Exception):
        documents = DocumentTranslator(list, languages=Languages("de", "en"))
        documents.translate_html("<p>Ein <b>Hund</b> sieht {name}.</p><p>Und &amp; <code>x</code>!")
    gc.collect()
    gc.freeze()  # memory that all processes share stays shared if none of them looks through it


preload()
