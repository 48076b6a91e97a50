"""Sentences of a text, for models that learned from single ones."""

import re
from collections.abc import Iterator

from transduce.documents.abbreviations import may_end_before
from transduce.orthography.characters import UNSPACED

FINAL = "。！？｡．।॥۔؟։።။၊។៕།"
"""Signs that end a sentence whatever follows: those of scripts without capital letters."""

_UNSPACED = UNSPACED.pattern
_END = re.compile(
    rf"""
    (?: (?P<cased>(?<![.!?…])[.!?…]++ ["'”’»›)\]]*+) (?=\s+ ["'“„‘«‹¿¡(\[]* [\w%{{<&])
      | (?<={_UNSPACED})\.(?={_UNSPACED}) | (?<![.!?…])[!?]++ (?={_UNSPACED})
      | (?<=[\u0370-\u03ff\u1f00-\u1fff])[;\u037e] (?=\s)
      | (?<![{FINAL}])[{FINAL}]++ [」』”’"）)》〉】\]]*+ (?! [」』”’"）)》〉】\]、，,：；とって])
    )
    \s*
    """,
    re.VERBOSE,
)
_OPENING = re.compile(r"\A[\"'“„‘«¿¡(\[]+")
_BLANK = re.compile(r"\s")
_FIRST_WORD = re.compile(r"\w+")
WINDOW = 64  # characters beside a sign of an end that tell whether it is one


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence, without the blanks between them; abbreviations and initials end none, nor does
    what goes on with a small letter."""
    begin = len(text) - len(text.lstrip())
    for found in _END.finditer(text):
        if found["cased"] is None or _ends_sentence(text, begin, found.end()):
            yield begin, _without_last_blanks(text, begin, found.end())
            begin = found.end()
    if begin < len(text):
        yield begin, _without_last_blanks(text, begin, len(text))


def ends_sentence(text: str) -> bool:
    """Whether a text's last sentence is complete."""
    return not text.strip() or re.search(rf"[.!?…:;{FINAL}][\"'”’»)\]」』）]*\s*$", text) is not None


def _ends_sentence(text: str, begin: int, after: int) -> bool:
    """Whether what begins at the one place and ends in a sign of an end, and blanks, before the other is a sentence."""
    end = _without_last_blanks(text, begin, after)
    first = _OPENING.sub("", text[after : after + WINDOW])[:1]
    if first.islower():
        return False
    if text[end - 1] != ".":
        return True
    word = re.split(r"[\s(\[\"“„«]|\B'", text[max(begin, end - WINDOW) : end])[-1].rstrip(".")
    follows_words = end - begin > WINDOW or _BLANK.search(text, begin, end) is not None
    if not follows_words and word.isdecimal():  # the number of a heading
        return True
    following = _FIRST_WORD.match(_OPENING.sub("", text[after : after + WINDOW]))
    return following is None or may_end_before(word, following[0])


def _without_last_blanks(text: str, begin: int, end: int) -> int:
    while end > begin and text[end - 1].isspace():
        end -= 1
    return end
