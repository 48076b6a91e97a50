"""Divides text into words and punctuation, and joins these to normally spaced text."""

import re
from collections.abc import Sequence

WORD_PATTERN = r"\p{N}+(?:[.,:]\p{N}+)+|[\p{L}\p{M}\p{N}]+|['’](?:s|re|ve|ll|d|m|t)\b|[^\s]"
"""A number, a run of letters and digits, an English contraction, or any other single character."""

_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m|t)", re.IGNORECASE)
_ELISION = re.compile(r"[b-df-hj-np-tv-zo]|.*(?:qu|jourd|ll)", re.IGNORECASE)  # l'herbe, qu'il, dell'arte, O'Brien
_CLOSING = frozenset(".,!?;:%)]}…”»›")
_OPENING = frozenset("([{“„«‹¿¡#$€£")
_JOINING = frozenset("-/_@")
_APOSTROPHES = frozenset("'’")
_PAIRED = frozenset("\"'")
_SUSPENDED = frozenset(["und", "oder", "bzw", "sowie"])  # after a German hyphen that replaces a word


def detokenize(words: Sequence[str]) -> str:
    """Joins words as they are normally written: punctuation to its word, quotation marks by turns.

    Spacing that the words do not show is guessed: a hyphen between words joins them, an abbreviation has no spaces.
    """
    text = ""
    open_quotes: set[str] = set()
    glue = True  # whether the next word follows without a space
    for i, word in enumerate(words):
        before, after = words[i - 1] if i else "", words[i + 1] if i + 1 < len(words) else ""
        joins = _joins(before, word, after) and not glue
        is_quote = word in _PAIRED and not joins and not _ends_word(before, word, after, open_quotes)
        closes = (
            word in _CLOSING
            or word in open_quotes
            or (word == "“" and "„" in open_quotes)
            or (word in _APOSTROPHES and not is_quote)
            or (word == "-" and bool(text) and text[-1].isalnum() and after in _SUSPENDED)
            or _CLITIC.fullmatch(word) is not None
            or _is_initial(words, i)
        )
        text += word if glue or closes or joins else f" {word}"
        glue = joins or (word in _OPENING and not closes) or (is_quote and word not in open_quotes)
        if is_quote:
            open_quotes ^= {word}
        elif word == "„":
            open_quotes.add(word)
        elif word == "“":
            open_quotes.discard("„")
    return text


def _joins(before: str, word: str, after: str) -> bool:
    """Returns True if the words on both sides of this one follow it without a space."""
    if not after[:1].isalnum() or (word == "-" and after in _SUSPENDED):
        return False
    if word in _APOSTROPHES:
        return _ELISION.fullmatch(before) is not None
    if word == "&":  # R&B, but black & white
        return max(len(before), len(after)) <= 2 and before.isupper() and after.isupper()
    return word in _JOINING and (before[-1:].isalnum() or (word == "-" and before in ('"', "“", "”")))


def _ends_word(before: str, word: str, after: str, open_quotes: set[str]) -> bool:
    """Returns True if this apostrophe belongs to the word before it: welders' masks, nothin'."""
    if word not in _APOSTROPHES or word in open_quotes or not before[-1:].isalpha():
        return False
    return (len(before) > 2 and before.endswith("s")) or not after[:1].isalnum()


def _is_initial(words: Sequence[str], i: int) -> bool:
    """Returns True if this is the second letter of an abbreviation such as "p.m." or "U.S."."""
    if i < 2 or i + 1 >= len(words):
        return False
    is_letter = len(words[i]) == len(words[i - 2]) == 1 and words[i].isalpha() and words[i - 2].isalpha()
    return is_letter and words[i - 1] == words[i + 1] == "."
