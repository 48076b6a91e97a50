"""A request: one line to translate, with its constraints; needs no PyTorch, so documents' processes can use it."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from transduce.corpora.context_settings import ContextConfig, reads_both
from transduce.corpora.corpus import SentencePair, running_texts
from transduce.text.terms import Term


@dataclass(frozen=True)
class Request:
    """A line to translate, and constraints on its translation; a blank line's translation stays blank."""

    text: str
    prefix: str = ""
    """Whole words that the translation begins with."""
    required: tuple[str, ...] = ()
    """Words or phrases that the translation must hold; of a line that is split, the pieces that have their terms."""
    banned: tuple[str, ...] = ()
    """Words or phrases that the translation must not hold."""
    terms: tuple[Term, ...] = ()
    """Terms of the line. One whose target is required is met by any of its forms."""
    before: tuple[str, ...] = ()
    """The texts before it in its document, the nearest last, for a model that reads context; for one that reads both
    sides, each may have its translation after it."""

    def allowed(self, phrase: str) -> tuple[str, ...]:
        """Returns the phrases that meet a required one: itself first, then other forms of terms."""
        forms = (form for term in self.terms if term.target == phrase for form in term.forms)
        return tuple(dict.fromkeys([phrase, *forms]))


class Earlier:
    """The texts of a document so far, as many as a model reads before the next one; a blank text ends a document."""

    def __init__(self, context: ContextConfig | None, texts: Sequence[str] = ()) -> None:
        """Begins a document, or goes on after texts, among which translations may be."""
        self._held = deque[str](texts, maxlen=0 if context is None else max(context.before, len(texts)))
        self._document = ""

    def before(self, text: str, document: str = "") -> tuple[str, ...]:
        """Returns the texts before the next one, the nearest last."""
        if document != self._document or not text.strip():
            self._held.clear()
            self._document = document
        held = tuple(self._held)
        if text.strip():
            self._held.append(text)
        return held


def with_drafts(
    requests: Sequence[Request],
    context: ContextConfig | None,
    translate: Callable[[Sequence[Request]], Sequence[str]],
) -> Sequence[Request]:
    """Returns requests for a model that reads both sides: each text before that is another's source, and has no
    translation after it, gets that of a first search, `translate`, which reads the sources alone."""
    sources = {request.text for request in requests}
    drafts: dict[str, str] = {}
    if reads_both(context) and any(sources.intersection(each.before) for each in requests):
        drafts = dict(zip((request.text for request in requests), translate(requests), strict=True))

    def drafted(request: Request) -> Iterator[str]:
        for text, following in pairwise((*request.before, request.text)):
            yield from (text, drafts[text]) if text in drafts and following in sources else (text,)

    return [replace(request, before=tuple(drafted(request))) for request in requests] if drafts else requests


def in_context(pairs: Iterable[SentencePair], context: ContextConfig | None) -> list[Request]:
    """Returns a request for each source, with the sources before it in its document that a model reads."""
    read = list(pairs)
    return sources_in_context([pair.source for pair in read], context, running_texts(read))


def sources_in_context(
    sources: Sequence[str], context: ContextConfig | None, documents: Sequence[str] = ()
) -> list[Request]:
    """Returns a request for each source as `in_context` does; without documents, all are from one."""
    earlier = Earlier(context)
    both = zip(sources, documents or [""] * len(sources), strict=True)
    return [Request(source, before=earlier.before(source, document)) for source, document in both]
