"""A document that a server translates in a process of its own, and a glossary for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from docsegments.translating.sentence_translator import Tell
from transduce.apps.serving.documents.document_workers import Work
from transduce.apps.serving.documents.messages import Counted, File, OpenSegment, Read, Translate, WrittenFiles
from transduce.apps.serving.documents.process import Answers
from transduce.apps.serving.request_texts import WantedTokens
from transduce.inference.request import Request
from transduce.inference.sentence_model import with_terms
from transduce.text.glossary import Glossary


@dataclass(frozen=True)
class OpenDocument:
    """Documents in a process of their own, and what answers its questions."""

    work: Work
    answers: Answers
    segments: Sequence[OpenSegment] = ()
    """Segments of the documents that are to be translated; none before `read`."""

    async def read(self, files: Sequence[File], longest: int) -> Counted:
        """Reads files and counts their text, before `translate`; paragraphs have at most `longest` characters."""
        return await self.work.ask(self._order(files, longest), Counted)

    async def translate(self, retranslate: bool = False, tell: Tell | None = None) -> list[bytes]:
        """Translates the files that were read; with `retranslate`, replaces the translations that they have.

        `tell` is called in another thread, now and then, with the share that is done.
        """
        order = Translate(tell is not None, retranslate)
        return (await self.work.ask(order, WrittenFiles, replace(self.answers, tell=tell))).files

    async def translate_at_once(
        self, files: Sequence[File], splits_sentences: bool = True, before: Sequence[str] = ()
    ) -> list[bytes]:
        """Reads files of any length and translates them; `before` are sentences before each of them."""
        order = self._order(files, None, splits_sentences, before)
        return (await self.work.ask(order, WrittenFiles, self.answers)).files

    def _order(
        self, files: Sequence[File], longest: int | None, splits_sentences: bool = True, before: Sequence[str] = ()
    ) -> Read:
        sentences, languages = self.answers.sentences, self.answers.sentences.languages
        return Read(
            list(files),
            languages.source,
            languages.target,
            sentences.can_require,
            sentences.can_align,
            longest,
            splits_sentences,
            self.answers.memory is not None,
            getattr(sentences, "context", 0),
            getattr(sentences, "reads_both", False),
            list(before),
        )


@dataclass(frozen=True)
class ChargedTerms:
    """Adds a glossary's terms to requests for sentences of a document, on the server's side of its process."""

    glossary: Glossary
    wanted: WantedTokens
    charge: Callable[[int], None]
    """Counts characters of terms that apply, before they cost anything."""

    def __call__(self, request: Request) -> Request:
        """Returns the request with its terms; RefusedError (413) for too many of them."""
        demands = self.glossary.applying(request.text)
        if demands.required or demands.banned:
            self.charge(sum(map(len, (*demands.required, *demands.banned))))
            request = with_terms(request, demands)
            self.wanted.check(request)
        return request
