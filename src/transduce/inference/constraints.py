"""Constraints of requests, as a target vocabulary writes them, and the pieces that a line is searched in."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain

from transduce.base.errors import InputError
from transduce.inference.request import Request
from transduce.search.required_phrases import Phrase, WordEdges
from transduce.search.rules import Banned
from transduce.text.glossary import comparable
from transduce.text.phrase_encoder import PhraseEncoder, holds
from transduce.text.tokenizer import Tokenizer
from transduce.text.typed import TypedTextEncoder


@dataclass(frozen=True)
class Piece:
    """Text that is translated at once, as a search needs it."""

    source: list[int]
    prefix: list[int]
    required: list[Phrase]
    banned: list[Banned]
    begin: int | None = None
    """The decoder's first input, where this is the token of a language; None for the token that begins all outputs."""
    context: int = 0
    """The tokens of the source that are context, which do not count for the length of the output."""
    text: str = ""
    """The text of the source."""
    keeps_numbers: tuple[str, str] | None = None
    """The codes of both languages, if the output is to have the numbers of the text."""


def required_of_pieces(request: Request, texts: Sequence[str]) -> list[list[str]]:
    """Returns the required phrases of each piece of a line, given their texts: the phrases whose terms it has, or that
    it has themselves; the last piece has the phrases that belong to none."""
    required: list[list[str]] = [[] for _ in texts]
    compared = [comparable(text) for text in texts]
    for phrase in request.required:
        terms = [term.written or term.source for term in request.terms if term.target == phrase]
        for sought in (terms, [phrase]):
            words = [comparable(each) for each in sought if each]
            if places := [i for i, text in enumerate(compared) if any(holds(text, each) for each in words)]:
                break
        for i in places or range(len(texts))[-1:]:
            required[i].append(phrase)
    return required


def divided(request: Request, texts: Sequence[str]) -> list[Request]:
    """Returns a request for each piece of a line, given their texts: bans are for all, the prefix is for the first."""
    required = required_of_pieces(request, texts)
    parts = [replace(request, text=text, required=tuple(own)) for text, own in zip(texts, required, strict=True)]
    return [part if i == 0 else replace(part, prefix="") for i, part in enumerate(parts)]


class Constraints:
    """Turns the words of requests' constraints into target tokens."""

    def __init__(self, tokenizer: Tokenizer, source: Tokenizer | None = None) -> None:
        self.tokenizer = tokenizer
        self.source = source
        self.wording = PhraseEncoder(tokenizer)

    @cached_property
    def edges(self) -> WordEdges:
        """The word boundaries of the target vocabulary: where words may begin and end."""
        return WordEdges(self.wording.continues, self.wording.precedes_no_letter)

    @cached_property
    def typed(self) -> TypedTextEncoder:
        """The encoder of texts that are being typed."""
        return TypedTextEncoder(self.wording)

    def pieces(
        self,
        request: Request,
        sources: Sequence[list[int]],
        begin: int | None = None,
        parts: Sequence[Request] | None = None,
        keeps_numbers: tuple[str, str] | None = None,
    ) -> list[Piece]:
        """Returns a piece for each source piece: bans are for all, the prefix for the first; `parts` are the requests
        of each piece (default: the request), and `keeps_numbers` the codes of the languages, if numbers are to be kept.

        Raises InputError for constraints that contradict each other, or a prefix that the vocabulary cannot write.
        """
        self._check(request)
        prefix = self.tokenizer.encode(request.prefix)
        phrases = {phrase: self.phrase(request, phrase) for phrase in request.required}
        banned = [self.ban(phrase) for phrase in request.banned]
        return [
            Piece(
                source,
                prefix if i == 0 else [],
                [p for each in part.required if (p := phrases[each]).forms],
                banned,
                begin,
                0 if self.source is None else len(source) - len(self.source.without_context(source)),
                part.text,
                keeps_numbers,
            )
            for i, (source, part) in enumerate(zip(sources, parts or [request] * len(sources), strict=True))
        ]

    def phrase(self, request: Request, phrase: str) -> Phrase:
        """Returns a required phrase with all that may stand in its place; it has no forms if the vocabulary cannot
        write any."""
        phrase, *others = request.allowed(phrase)
        allowed = [phrase, *(form for form in others if not self.found_in(form, request.banned))]
        sources = [term.written or term.source for term in request.terms if term.target == phrase]
        return replace(self.one_of(allowed), sources=tuple(filter(None, sources)))

    def one_of(self, texts: Sequence[str]) -> Phrase:
        """Returns a phrase that any of the texts meets; it has no forms if the vocabulary cannot write any."""
        forms = [of_text for text in texts if (of_text := self.wording.forms(text))]
        shortest = min((max(map(len, of_text)) for of_text in forms), default=None)
        spelled = tuple(self.wording.normal(text) or text for text in texts)
        return Phrase(tuple(dict.fromkeys(chain(*forms))), spelled, shortest)

    def ban(self, phrase: str) -> Banned:
        """Returns a banned phrase."""
        return Banned(self.wording.normal(phrase) or phrase, self.wording.closing(phrase))

    def met_by(self, request: Request, phrase: str, text: str) -> str | None:
        """Returns the phrase, or the form in its place, that is in an output; None if there is none."""
        return next(iter(self.found_in(text, request.allowed(phrase))), None)

    def found_in(self, text: str, phrases: Sequence[str]) -> list[str]:
        """Returns the phrases that occur in an output as whole words, in outputs' spelling."""
        return [phrase for phrase in phrases if holds(text, self.wording.normal(phrase) or phrase)]

    def _check(self, request: Request) -> None:
        if not all(phrase.strip() for phrase in (*request.required, *request.banned)):
            raise InputError(f"{request.text[:60]!r}: a required or banned phrase is blank")
        if request.prefix and self.wording.normal(request.prefix) is None:
            raise InputError(
                f"prefix {request.prefix!r}: the model's vocabulary lacks some of its words; choose others"
            )
        for kind, texts in (("prefix", [request.prefix]), ("required phrase", request.required)):
            for text in texts:
                for banned in self.found_in(self.wording.normal(text) or text, request.banned) if text else ():
                    raise InputError(
                        f"{request.text[:60]!r}: the {kind} {text!r} holds the banned {banned!r}; drop one of them"
                    )


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of target tokens, and facts about them that a search needs."""

    begin: int
    end: int
    never: Sequence[int]
    """Tokens that are never written: padding, beginning and languages, except one that is the end token too."""
    unknown: Sequence[int]
    """Tokens that are written only if allowed: the unknown token, unless it is the end token too."""
    decode: Callable[[Sequence[int]], str]
    """The text of tokens."""
    edges: Callable[[], WordEdges]
    """Returns where words begin and end; computed on request."""

    @staticmethod
    def of(tokenizer: Tokenizer, edges: Callable[[], WordEdges]) -> "Vocabulary":
        """Returns the vocabulary of all tokens of a tokenizer."""
        never = {tokenizer.pad, tokenizer.bos, *tokenizer.marks.values()} - {tokenizer.eos}
        unknown = {tokenizer.unknown} - {tokenizer.eos}
        return Vocabulary(tokenizer.bos, tokenizer.eos, sorted(never), sorted(unknown), tokenizer.decode, edges)
