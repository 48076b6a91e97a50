"""Sentences of documents whose translations must hold a glossary's terms."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from transduce.inference.documents.sentence_translator import (
    Links,
    Progress,
    SentenceTranslator,
    TranslatedSentence,
)
from transduce.inference.request import Request
from transduce.serving.texts import WantedTokens
from transduce.text.glossary import Glossary


class SentencesWithTerms:
    """A SentenceTranslator that also requires the terms of a glossary.

    The glossary stays on this side of a document's process, which is small.
    """

    def __init__(
        self,
        sentences: SentenceTranslator,
        glossary: Glossary,
        wanted: WantedTokens,
        charge: Callable[[int], None],
    ) -> None:
        """Wraps a translator; `charge` counts characters of terms that apply, before they cost anything."""
        self.languages = sentences.languages
        self.can_require = sentences.can_require
        self.can_align = sentences.can_align
        self._sentences, self._glossary, self._wanted, self._charge = sentences, glossary, wanted, charge

    def examine(self, sentences: Sequence[str], texts: Sequence[str]) -> tuple[list[list[str]], list[bool]]:
        """See SentenceTranslator."""
        return self._sentences.examine(sentences, texts)

    def translate(self, requests: Sequence[Request], progress: Progress | None = None) -> list[TranslatedSentence]:
        """See SentenceTranslator; RefusedError (413) for a sentence with too many terms."""
        asked = []
        for request in requests:
            required, banned, terms = self._glossary.applying(request.text)
            if required or banned:
                self._charge(sum(map(len, (*required, *banned))))
                required = tuple(dict.fromkeys([*request.required, *required]))
                banned, terms = (*request.banned, *banned), (*request.terms, *terms)
                request = replace(request, required=required, banned=banned, terms=terms)
                self._wanted.check(request)
            asked.append(request)
        return self._sentences.translate(asked, progress)

    def align(self, pairs: Sequence[tuple[str, str]]) -> list[Links | None]:
        """See SentenceTranslator."""
        return self._sentences.align(pairs)
