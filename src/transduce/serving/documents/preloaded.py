"""What the fork server of documents has ready, so that a process that it forks imports nothing and compiles nothing."""

import gc
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module

from transduce.documents.document import Languages
from transduce.documents.formats import FORMATS
from transduce.errors import InputError
from transduce.inference.documents.sentence_translator import Links, Progress, TranslatedSentence
from transduce.inference.documents.translate import DocumentTranslator
from transduce.inference.request import Request
from transduce.serving.documents import worker

LIBRARIES = ("justhtml", "markdown_it", "openstep_plist", "polib", "pysubs2", "yaml")


class _Echo:
    """A SentenceTranslator that changes nothing."""

    languages = Languages("de", "en")
    can_require = can_align = True

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        return [[sentence] for sentence in sentences], [False] * len(texts)

    def translate(self, requests: Sequence[Request], progress: Progress | None = None) -> list[TranslatedSentence]:
        return [TranslatedSentence(request.text) for request in requests]

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        return [{(0, 0)} for _ in pairs]


def preload() -> None:
    """Import what reads documents, and compile the patterns that a page needs."""
    for module in (
        worker.__name__,
        *LIBRARIES,
        *(f"transduce.documents.{one.place.partition(':')[0]}" for one in FORMATS.values()),
    ):
        with suppress(ImportError):  # one that is not installed is named when a document needs it
            import_module(module)
    with suppress(InputError):
        DocumentTranslator(_Echo()).translate_html("<p>Ein <b>Hund</b> sieht {name}.</p><p>Und &amp; <code>x</code>!")
    gc.collect()
    gc.freeze()  # memory that all processes share stays shared if none of them looks through it


preload()
