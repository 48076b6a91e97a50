"""Copies of training pairs, written as people type: in capitals, without a full stop, with typing errors."""

import operator
import random
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import accumulate

import msgspec

from docsegments.orthography.characters import characters
from transduce.base.config import Settings
from transduce.base.ranges import Share
from transduce.corpora.corpus import SentencePair

_SIGNS_THAT_END_A_SENTENCE = ".!?…。！？।؟۔"
LETTERS_A_TYPO = 40
"""The letters of a text for each typing error in it."""


class Noise(Settings, frozen=True):
    """Copies of training pairs that are written as people type, beside the pairs themselves.

    Each share is that of the pairs which get a copy; a pair gets one at most, the same in every epoch. Pairs that a way
    of typing leaves as they are, such as those of scripts without capitals, get none.
    """

    capitals: Share = 0.0
    """Both sides in capitals."""
    titles: Share = 0.0
    """The source as a title in English: Each Word with a Capital."""
    lowercase: Share = 0.0
    """The source in lower case."""
    unpunctuated: Share = 0.0
    """Both sides without the sign that ends the sentence."""
    typos: Share = 0.0
    """The source with typing errors."""

    def _check_together(self) -> None:
        if sum(self.shares.values()) > 1:
            raise ValueError(f"{', '.join(self.shares)}: the shares must add up to 1 at the most")

    @property
    def shares(self) -> dict[str, float]:
        """The share of the pairs that are copied, by the way of typing."""
        return {name: share for name, share in msgspec.structs.asdict(self).items() if share}

    @property
    def content(self) -> str:
        """A text that changes if the copies may change."""
        return f"noise 2 {msgspec.json.encode(self).decode()}"

    def copies(self, pair: SentencePair) -> Iterator[SentencePair]:
        """Yields the copy of a pair, if it gets one, which depends on the pair alone."""
        drawn = zlib.crc32(f"{pair.source}\0{pair.target}".encode("utf-8", "surrogatepass")) / 2**32
        shares = self.shares
        for name, upto in zip(shares, accumulate(shares.values()), strict=True):
            if drawn < upto:
                copy = WAYS_OF_TYPING[name](pair)
                if copy.source != pair.source:
                    yield copy
                return


def in_capitals(pair: SentencePair) -> SentencePair:
    """Returns a pair in capitals."""
    return SentencePair(pair.source.upper(), pair.target.upper())


def as_title(pair: SentencePair) -> SentencePair:
    """Returns a pair with a capital at the beginning of each word of the source."""
    return SentencePair(re.sub(r"(?<!\S)\w", lambda first: first[0].upper(), pair.source), pair.target)


def in_lower_case(pair: SentencePair) -> SentencePair:
    """Returns a pair with its source in lower case."""
    return SentencePair(pair.source.lower(), pair.target)


def unpunctuated(pair: SentencePair) -> SentencePair:
    """Returns a pair without the sign at its end, where both sides have one."""
    sides = [side.rstrip() for side in (pair.source, pair.target)]
    bare = [side.rstrip(_SIGNS_THAT_END_A_SENTENCE) for side in sides]
    if all(bare) and all(map(operator.ne, sides, bare)):
        return SentencePair(*(side.rstrip() for side in bare))
    return pair


def mistyped(pair: SentencePair) -> SentencePair:
    """Returns a pair with typing errors in its source: one in about forty letters, and one at least.

    Each leaves out, doubles or exchanges characters within a word, or writes another of the text in the place of one.
    They depend on the text alone.
    """
    written = [pair.source[start:end] for start, end in characters(pair.source)]
    places = [at for at in range(1, len(written)) if written[at].isalpha() and written[at - 1].isalpha()]
    draw = random.Random(pair.source)
    letters = [written[at] for at in places]
    for at in sorted(draw.sample(places, min(len(places), 1 + len(places) // LETTERS_A_TYPO)), reverse=True):
        match draw.randrange(4):
            case 0:
                del written[at]
            case 1:
                written.insert(at, written[at])
            case 2 if written[at - 1] != written[at]:
                written[at - 1 : at + 1] = written[at], written[at - 1]
            case _:
                others = [letter for letter in letters if letter != written[at]]
                written[at : at + 1] = draw.sample(others, min(len(others), 1))
    return SentencePair("".join(written), pair.target)


WAYS_OF_TYPING: dict[str, Callable[[SentencePair], SentencePair]] = {
    "capitals": in_capitals,
    "titles": as_title,
    "lowercase": in_lower_case,
    "unpunctuated": unpunctuated,
    "typos": mistyped,
}
"""The function for each setting of Noise."""
