"""Demands on an output of phrases: how it begins, what it must hold, and what it must not."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from transduce.phrases.stack_decoder import Span
from transduce.phrases.table import Option, Phrase

Options = Mapping[Span, Sequence[Option]]
"""Translations of the phrases of a sentence, by their places."""


@dataclass(frozen=True)
class Required:
    """A phrase that an output must hold."""

    sources: Sequence[str]
    """Terms that it translates; wherever the source has one, nothing else translates it."""
    texts: Sequence[str]
    """The phrase, and others that may stand in its place."""


@dataclass(frozen=True)
class Demands:
    """Demands on the translation of one sentence."""

    prefix: str = ""
    """Whole words that it begins with."""
    required: Sequence[Required] = ()
    banned: Sequence[str] = ()
    """Words or phrases that it must not hold."""
    is_whole: bool = False
    """True if nothing comes after the prefix, which has words: it is a given translation."""


NO_DEMANDS: Final = Demands()


def requiring(options: Options, length: int, required: Iterable[tuple[Sequence[Span], Sequence[Phrase]]]) -> Options:
    """Returns the options of a sentence under which each output holds all required phrases.

    A phrase is locked to the places of its terms, or else to words that it is known to translate; one without either
    is the only translation of an additional word at the end.

    Args:
        options: translations of the sentence's phrases.
        length: words of the sentence.
        required: for each phrase, the places of its terms, and the phrase and others that may stand in its place.
    """
    locked: set[int] = set()
    options = dict(options)
    for terms, phrases in required:
        known = [span for span, found in options.items() if any(_has(each.target, phrases) for each in found)]
        spans = _apart(terms, locked) or _apart(sorted(known, key=lambda span: span[1] - span[0]), locked)[:1]
        if not spans:
            spans, length = [(length, length + 1)], length + 1
        for begin, end in spans:
            locked |= {*range(begin, end)}
            for span in [span for span in options if span[0] < end and begin < span[1]]:
                is_around = span[0] <= begin and end <= span[1]
                options[span] = [each for each in options[span] if is_around and _has(each.target, phrases)]
            if not options.get((begin, end)):
                options[begin, end] = [Option(each, (0.0,) * 4 + (float(len(each)), 1.0, 0.0)) for each in phrases]
    return {span: found for span, found in options.items() if found}


def without_banned(options: Options, is_banned: Callable[[Phrase], bool]) -> Options:
    """Returns the options that hold nothing banned; a word that has no others is left out of outputs."""
    left = {span: [each for each in found if not is_banned(each.target)] for span, found in options.items()}
    nothing = [Option((), (0.0,) * 5 + (1.0, -1.0))]
    return {span: found or nothing for span, found in left.items() if found or span[1] - span[0] == 1}


def places_of(words: Sequence[str], sought: Sequence[str]) -> list[Span]:
    """Returns the places of words among others."""
    size = len(sought)
    return [(at, at + size) for at in range(len(words) - size + 1) if size and [*words[at : at + size]] == [*sought]]


def _has(target: Phrase, phrases: Sequence[Phrase]) -> bool:
    return any(target[at : at + len(each)] == each for each in phrases for at in range(len(target) - len(each) + 1))


def _apart(spans: Sequence[Span], locked: set[int]) -> list[Span]:
    """Returns spans that neither have locked words nor each other's."""
    apart: list[Span] = []
    taken = set(locked)
    for begin, end in spans:
        if taken.isdisjoint(range(begin, end)):
            apart.append((begin, end))
            taken |= {*range(begin, end)}
    return apart
