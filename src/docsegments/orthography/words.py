"""Finds words of a text in any script, and whether a text holds a phrase as whole words."""

import math
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from docsegments.budget import check
from docsegments.orthography.characters import SPELLED, UNSPACED, Span, characters, is_extending, is_within_character

_KATAKANA = re.compile("[\u30a1-\u30ff\u31f0-\u31ff\uff66-\uff9f]")
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb]")
_PARTICLES = (
    "은 는 이 가 을 를 의 에 에서 에게 에게서 께 께서 한테 한테서 로 으로 로서 으로서 로써 으로써 와 과 하고 "
    "랑 이랑 도 만 까지 부터 마다 조차 마저 밖에 보다 처럼 같이 만큼 대로 나 이나 라도 이라도 든지 이든지 들 뿐 "
    "야 이야 이다 입니다 이에요 예요 였다 이었다 인 이고 이며"
)
_PARTICLE = "(?:" + "|".join(sorted(_PARTICLES.split(), key=len, reverse=True)) + ")"
_TIBETAN = "[\u0f40-\u0fbc]"
_LETTERS_OF_A_WORD = (
    (re.compile(f"(?!{SPELLED.pattern}){UNSPACED.pattern}"), 1.7),
    (SPELLED, 4.5),
    (re.compile(_TIBETAN), 4.5),
)
"""Letters of scripts without spaces, and how many of them usually make a word, vowels and tones counted."""
_UNSPACED_LETTERS = re.compile(f"{UNSPACED.pattern}|{_TIBETAN}")
KOREAN_ENDING = re.compile(rf"{_PARTICLE}{{1,3}}(?![\uac00-\ud7a3])")
"""Particles that Korean writes onto a noun, up to the end of the word: 개는 and 개들에게 hold 개, 개나리 does not."""


def is_word_boundary(text: str, offset: int) -> bool:
    """Returns True if a word may end or begin at the offset: beside a character that is not a letter, between any two
    characters of a script without spaces, between katakana and other letters, before Korean particles; never within a
    character as readers see it."""
    if not 0 < offset < len(text):
        return True
    if is_within_character(text, offset):
        return False
    base = offset - 1
    while base and is_extending(text[base]):
        base -= 1
    kind = _kind(text[base])
    if not kind or kind != _kind(text[offset]):
        return True
    return kind == "Hangul" and KOREAN_ENDING.match(text, offset) is not None


def holds(text: str, phrase: str) -> bool:
    """Returns True if the phrase is in the text as whole words, letter by letter."""
    start = text.find(phrase)
    while start >= 0:
        if is_word_boundary(text, start) and is_word_boundary(text, start + len(phrase)):
            return True
        start = text.find(phrase, start + 1)
    return False


class PhraseIndex:
    """Phrases that are sought in texts all at once: the time grows with the text, not with their number."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._phrases = sorted(set(phrases))
        self._stems: list[int] = []
        """The number of the longest other phrase that each phrase begins with; -1 for none."""
        stems: list[int] = []
        for number, phrase in enumerate(self._phrases):
            while stems and not phrase.startswith(self._phrases[stems[-1]]):
                stems.pop()
            self._stems.append(stems[-1] if stems else -1)
            stems.append(number)
        self._longest = max(map(len, self._phrases), default=0)

    def held_by(self, text: str) -> set[str]:
        """Returns the phrases that `holds` finds in a text; BudgetError if that is to end."""
        held: set[int] = set()
        stems = self._stems.copy()  # phrases that were found are left out
        boundaries = {offset for offset in range(len(text) + 1) if is_word_boundary(text, offset)}
        for start in boundaries if self._phrases else ():
            check()
            rest = text[start : start + self._longest]
            number = bisect_right(self._phrases, rest) - 1  # all that the rest begins with are this one or its stems
            walked = []
            while number >= 0:
                phrase = self._phrases[number]
                if start + len(phrase) in boundaries and rest.startswith(phrase):
                    held.add(number)
                walked.append(number)
                number = stems[number]
            for other in reversed(walked):  # later walks pass what was found
                stems[other] = number
                number = number if other in held else other
        return {self._phrases[number] for number in held}


def has_words(text: str) -> bool:
    """Returns True for a text with a letter: numbers, signs and emoji alone say the same in every language."""
    return any(map(str.isalpha, text))


def words(text: str) -> list[Span]:
    """Returns the spans of words: runs between white space, but in runs with letters of a script without spaces each
    such letter, each run of others, and punctuation with the word before it, or after it where it opens something."""
    spans: list[Span] = []
    for run in re.finditer(r"\S+", text):
        if UNSPACED.search(run[0]) is None:
            spans.append(run.span())
        else:
            spans += [(run.start() + begin, run.start() + end) for begin, end in _divided(run[0])]
    return spans


def count_words(text: str) -> int:
    """Returns the number of words between white space; in scripts that write words without spaces, the number that so
    many letters usually make."""
    made = [len(letters.findall(text)) / of_a_word for letters, of_a_word in _LETTERS_OF_A_WORD]
    if not any(made):
        return len(text.split())
    others = _UNSPACED_LETTERS.sub(" ", text).split()
    return sum(any(map(str.isalnum, word)) for word in others) + math.ceil(sum(made))


def words_between(starts: Sequence[int], start: int, stop: int) -> range:
    """Returns the numbers of the words, by their starts, that the characters of a span belong to; at least one."""
    last = max(bisect_right(starts, max(stop - 1, 0)) - 1, 0)
    return range(min(max(bisect_right(starts, start) - 1, 0), last), last + 1)


def word_texts(text: str) -> list[str]:
    """Returns the words of a text."""
    return text.split() if UNSPACED.search(text) is None else [text[begin:end] for begin, end in words(text)]


@lru_cache(1 << 16)
def without_signs(word: str) -> str:
    """Returns a word without the signs before and after it; "" if it is nothing else."""
    letters = [place for place, character in enumerate(word) if character.isalnum() or is_extending(character)]
    return word[letters[0] : letters[-1] + 1] if letters else ""


def _divided(run: str) -> Iterator[Span]:
    begin = end = 0
    before = "opening"  # the kind of the character before
    for start, stop in characters(run):
        first = run[start]
        kind = _kind(first) or ("letter" if UNSPACED.match(first) else _sign(first))
        is_of_word = kind == before and kind not in ("letter", "opening")
        if before != "opening" and kind != "sign" and not is_of_word:
            yield begin, end
            begin = start
        if not (kind == "sign" and before == "spaced" and first.isascii()):  # 3.5, O'Neill
            before = kind
        end = stop
    yield begin, end


def _kind(character: str) -> str:
    """Returns the kind of letters that make words with this one; "" in a script without spaces, and for signs."""
    if UNSPACED.match(character) or not (character.isalnum() or character == "_" or is_extending(character)):
        return ""
    if _KATAKANA.match(character):
        return "Katakana"
    return "Hangul" if _HANGUL.match(character) else "spaced"


def _sign(character: str) -> str:
    return "opening" if unicodedata.category(character) in ("Ps", "Pi") else "sign"
