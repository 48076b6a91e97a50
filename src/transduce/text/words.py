"""Text into words and punctuation, and back into normally spaced text."""

import re
from collections.abc import Sequence

WORD_PATTERN = r"\p{N}+(?:[.,:]\p{N}+)+|[\p{L}\p{M}\p{N}]+|['’](?:s|re|ve|ll|d|m|t)\b|[^\s]"
"""A number, a run of letters and digits, an English contraction, or any other single character."""

_CLITIC = re.compile(r"['’](?:s|re|ve|ll|d|m|t)", re.IGNORECASE)
_CLOSING = frozenset(".,!?;:%)]}…”»›")
_OPENING = frozenset("([{“„«‹¿¡#$€£")
_JOINING = frozenset("-/_@’'&")
_PAIRED = frozenset('"')


def detokenize(words: Sequence[str]) -> str:
    """Join words as they are normally written: punctuation to its word, quotation marks by turns."""
    text = ""
    open_quotes: set[str] = set()
    glue = True  # whether the next word follows without a space
    for i, word in enumerate(words):
        after = words[i + 1] if i + 1 < len(words) else ""
        closes = word in _CLOSING or word in open_quotes or _CLITIC.fullmatch(word) is not None
        joins = word in _JOINING and bool(text) and text[-1].isalnum() and after[:1].isalnum()
        text += word if glue or closes or joins else f" {word}"
        glue = word in _OPENING or joins or (word in _PAIRED and word not in open_quotes)
        if word in _PAIRED:
            open_quotes ^= {word}
    return text
