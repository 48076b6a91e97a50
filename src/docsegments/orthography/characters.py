"""Finds characters as readers see them, and which scripts write words without spaces."""

import re
import unicodedata
from collections.abc import Iterator

Span = tuple[int, int]
"""A range of characters of a text, from the first to before the last."""

_HAN = "\u3005-\u3007\u3021-\u3029\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_SOUTH_EAST_ASIAN = (
    "\u0e01-\u0e4e\u0e80-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109d\u1780-\u17d3\u1950-\u19cf"
    "\u1a20-\u1a7c\ua9e0-\ua9ef\uaa60-\uaadf"
)  # Thai, Lao, Burmese, Khmer, Tai Le, New Tai Lue, Tai Tham, Tai Viet, without their digits
UNSPACED = re.compile(f"[{_HAN}\u3041-\u3096\u309d-\u309f\u3105-\u312f\u31a0-\u31bf\ua000-\ua48c{_SOUTH_EAST_ASIAN}]")
"""A letter of a script in which any letter may begin a word: Chinese characters, hiragana, bopomofo, Yi, Thai and its
neighbours. Katakana are not among them: a run of katakana is a word."""
SPELLED = re.compile(f"[{_SOUTH_EAST_ASIAN}]")
"""A letter of the South-East Asian scripts, which spell sounds and write vowels onto consonants."""

_JOINER = "\u200d"
INVISIBLE = frozenset("\u00ad\u200b\u2060\ufeff")
"""Characters that only mark where a line may break, or where a file begins."""
_FOLLOWING = frozenset("ะาำๅະາຳぁぃぅぇぉゃゅょゎゝゞーヽヾ\uff70\uff9e\uff9f\u200c\u200d")
"""Characters beside Unicode's marks that belong to the one before them: vowels, small kana."""
_LEADING = frozenset("เแโใไເແໂໃໄ")
"""Vowels that are written before the consonant that they follow in speech."""
_SILENCING = frozenset("\u103a\u0e4c\u0ecc")
"""Marks that take the vowel from a consonant, which then ends the syllable before it."""
_VIRAMA = 9  # the combining class of signs that join a consonant to the next,
_NOT_JOINING = frozenset("\u0bcd\u0e3a\u0eba\u103a")  # signs of that class that do not join


def is_extending(character: str) -> bool:
    """Returns True for a character that is written onto the one before it, or cannot be without it."""
    return (
        unicodedata.category(character)[0] == "M"
        or character in _FOLLOWING
        or "\u1160" <= character <= "\u11ff"  # vowels and finals of Korean syllables that are taken apart
        or "\U0001f3fb" <= character <= "\U0001f3ff"  # skin colours
        or "\U000e0020" <= character <= "\U000e007f"  # tags that make a flag that of a region
    )


def is_within_character(text: str, offset: int) -> bool:
    """Returns True if a cut at an offset of a text would divide a character as readers see it.

    Such are a letter with its marks, a syllable or conjunct of an Indic script, an emoji of several code points. Flags,
    of two letters each, are left to `characters`.
    """
    if not 0 < offset < len(text):
        return False
    before, after = text[offset - 1], text[offset]
    if before.isspace() or after.isspace():
        return False
    return (
        is_extending(after)
        or before == _JOINER
        or before in _LEADING
        or (unicodedata.combining(before) == _VIRAMA and before not in _NOT_JOINING and after.isalpha())
        or (text[offset + 1 : offset + 2] in _SILENCING and SPELLED.match(after) is not None)
    )


def characters(text: str) -> Iterator[Span]:
    """Yields the span of each character of a text, as readers see them."""
    start = letters_of_flags = 0
    for offset in range(1, len(text)):
        letters_of_flags = letters_of_flags + 1 if _is_of_flag(text[offset - 1]) else 0
        is_second = letters_of_flags % 2 == 1 and _is_of_flag(text[offset])
        if not is_second and not is_within_character(text, offset):
            yield start, offset
            start = offset
    if text:
        yield start, len(text)


def _is_of_flag(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def without_invisible(text: str) -> str:
    """Returns a text without characters that only say where a line may break: soft hyphens, zero-width spaces, word
    joiners, byte order marks. Joiners and non-joiners (U+200D, U+200C) change what is read in Persian, Hindi or emoji,
    and stay."""
    return text if text.isascii() else "".join(c for c in text if c not in INVISIBLE)
