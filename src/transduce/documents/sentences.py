"""Sentences of a text, for models that learned from single ones."""

import re
from collections.abc import Iterator

_END = re.compile(
    r"""
    (?: [.!?…]+ ["'”’»)\]]* (?=\s+ ["'“„‘«¿¡(\[]* [\w%{<&]) | [。！？]+ [」』”]* )
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


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Begin and end of each sentence, without the blanks between them; abbreviations and initials end none, nor does
    what goes on with a small letter."""
    begin = 0
    for found in _END.finditer(text):
        if _ends_sentence(text[begin : found.end()].rstrip(), text[found.end() :]):
            end = begin + len(text[begin : found.end()].rstrip())
            if text[begin:end].strip():
                yield begin + len(text[begin:end]) - len(text[begin:end].lstrip()), end
            begin = found.end()
    if rest := text[begin:].strip():
        start = text.index(rest, begin)
        yield start, start + len(rest)


def ends_sentence(text: str) -> bool:
    """Whether a text's last sentence is complete."""
    return not text.strip() or re.search(r"[.!?…:;。！？][\"'”’»)\]」』]*\s*$", text) is not None


def _ends_sentence(sentence: str, rest: str) -> bool:
    """Whether a text that ends in a sign of an end is a sentence, before this rest."""
    if sentence.endswith(("。", "！", "？", "」", "』")):
        return True
    if (first := rest.lstrip("\"'“„‘«¿¡([")[:1]).islower():
        return False
    if not sentence.endswith("."):
        return True
    word = re.split(r"[\s(\[\"'“„]", sentence)[-1].rstrip(".").casefold()
    is_ordinal = word.isdecimal() and len(word) <= 2 and first.isalpha() and len(sentence.split()) > 1
    return not (word in _ABBREVIATIONS or (len(word) == 1 and word.isalpha()) or is_ordinal)
