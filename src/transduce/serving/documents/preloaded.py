"""Modules that the fork server of documents loads first, so that a forked process imports and compiles nothing."""

import gc
from collections.abc import Sequence
from contextlib import suppress

from transduce.documents.document import Languages
from transduce.documents.formats import FORMATS, read_document
from transduce.inference.documents.sentence_translator import Links, Progress, SentenceRequest, TranslatedSentence
from transduce.inference.documents.translate import DocumentTranslator
from transduce.serving.documents import worker as worker

SAMPLES = {"strings": b'"a" = "b";'}
"""Texts of formats whose reader imports its library for them alone."""


class _Echo:
    """A SentenceTranslator that changes nothing."""

    languages = Languages("de", "en")
    can_require = can_align = True

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        return [[sentence] for sentence in sentences], [False] * len(texts)

    def translate(
        self, requests: Sequence[SentenceRequest], progress: Progress | None = None
    ) -> list[TranslatedSentence]:
        return [TranslatedSentence(request.text) for request in requests]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        return [{(0, 0)} for _ in pairs]


def preload() -> None:
    """Reads a text by each format, for its imports, and translates a page, for the patterns that it compiles."""
    for kind in FORMATS:
        with suppress(Exception):  # few formats can read the text, and no error may keep processes from starting
            read_document(SAMPLES.get(kind, b"x"), "x", kind=kind)
    with suppress(Exception):
        DocumentTranslator(_Echo()).translate_html("<p>Ein <b>Hund</b> sieht {name}.</p><p>Und &amp; <code>x</code>!")
    gc.collect()
    gc.freeze()  # memory that all processes share stays shared if none of them looks through it


preload()
