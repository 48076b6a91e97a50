"""Joins sentences of a language: with a blank between them, or without one."""

import re
from collections.abc import Sequence
from itertools import pairwise

WITHOUT_BLANKS = frozenset(("ja", "zh", "yue", "wuu", "hak", "nan", "lzh"))
"""Languages that write no blank between sentences."""
_WIDE = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef\U00020000-\U0003ffff]")
"""A Chinese or Japanese letter or sign."""


def joint(before: str, after: str, language: str = "") -> str:
    """Returns the text between two sentences: nothing in Chinese and Japanese, a blank in other languages. If the
    language is not known, or words of another script meet, the characters that meet decide."""
    is_wide = _WIDE.match(before[-1:]) is not None, _WIDE.match(after[:1]) is not None
    code = language.replace("_", "-").partition("-")[0].casefold()
    if code in WITHOUT_BLANKS or not 2 <= len(code) <= 3:
        return "" if is_wide[0] or (is_wide[1] and code in WITHOUT_BLANKS) else " "
    return " "


def join_sentences(sentences: Sequence[str], language: str = "") -> str:
    """Returns sentences of a language as one text."""
    kept = [sentence for sentence in sentences if sentence]
    return "".join([*kept[:1], *(joint(*both, language) + both[1] for both in pairwise(kept))])


def gap_in_translation(gap: str, source: tuple[str, str], translation: tuple[str, str], language: str) -> str:
    """Returns the text between two sentences of a translation.

    Args:
        gap: the text between the sentences of the source. Line ends, tabs and several blanks stay as they are.
        source: the two sentences of the source.
        translation: the two sentences in the other language.
        language: the language of the translation.
    """
    if gap not in ("", " ", "\u3000"):
        return gap
    is_cut = not gap and not (_WIDE.match(source[0][-1:]) or _WIDE.match(source[1][:1]))
    return "" if is_cut or not all(translation) else joint(*translation, language)
