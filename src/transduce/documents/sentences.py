"""Sentences of a text, for models that learned from single ones."""

import re
from collections.abc import Iterator

_END = re.compile(
    r"""
    (?: (?<![.!?…])[.!?…]++ ["'”’»)\]]* (?=\s+ ["'“„‘«¿¡(\[]* [\w%{<&]) | [。！？]+ [」』”]* )
    \s*
    """,
    re.VERBOSE,
)
_SHORT = (
    "mr mrs ms dr prof st sr jr vs etc no nos vol fig eq sec ch pp approx dept inc ltd co corp e.g i.e cf al "
    "bzw ca usw evtl ggf inkl nr str z.b d.h u.a o.ä hr fr abb abs art bd bsp "
    "m mm mme mlle av env p.ex sra srta ud uds pág núm"
)
_ABBREVIATIONS = frozenset(_SHORT.split())
_OPENING = re.compile(r"\A[\"'“„‘«¿¡(\[]+")
_BLANK = re.compile(r"\s")
WINDOW = 64  # characters beside a sign of an end that tell whether it is one


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence, without the blanks between them; abbreviations and initials end none, nor does
    what goes on with a small letter."""
    begin = len(text) - len(text.lstrip())
    for found in _END.finditer(text):
        if _ends_sentence(text, begin, found.end()):
            yield begin, _without_last_blanks(text, begin, found.end())
            begin = found.end()
    if begin < len(text):
        yield begin, _without_last_blanks(text, begin, len(text))


def ends_sentence(text: str) -> bool:
    """Whether a text's last sentence is complete."""
    return not text.strip() or re.search(r"[.!?…:;。！？][\"'”’»)\]」』]*\s*$", text) is not None


def _ends_sentence(text: str, begin: int, after: int) -> bool:
    """Whether what begins at the one place and ends in a sign of an end, and blanks, before the other is a sentence."""
    end = _without_last_blanks(text, begin, after)
    if text[end - 1] in "。！？」』":
        return True
    first = _OPENING.sub("", text[after : after + WINDOW])[:1]
    if first.islower():
        return False
    if text[end - 1] != ".":
        return True
    word = re.split(r"[\s(\[\"'“„]", text[max(begin, end - WINDOW) : end])[-1].rstrip(".").casefold()
    follows_words = end - begin > WINDOW or _BLANK.search(text, begin, end) is not None
    is_ordinal = word.isdecimal() and len(word) <= 2 and first.isalpha() and follows_words
    return not (word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()) or is_ordinal)


def _without_last_blanks(text: str, begin: int, end: int) -> int:
    while end > begin and text[end - 1].isspace():
        end -= 1
    return end
