"""Sentences of a text, for models that learned from single ones."""

import re
import tomllib
from collections.abc import Iterator
from importlib.resources import files

from docsegments.orthography.characters import UNSPACED

FINAL = "。！？｡．।॥۔؟։።။၊។៕།"
"""Signs that end a sentence before any text: those of scripts without capital letters."""

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
WINDOW = 64  # characters beside a sign of an end that decide whether it is one


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yields begin and end of each sentence, without the blanks between them; no sentence ends after an abbreviation or
    initial, nor before a small letter."""
    begin = len(text) - len(text.lstrip())
    for match in _END.finditer(text):
        if match["cased"] is None or _ends_sentence(text, begin, match.end()):
            yield begin, _without_last_blanks(text, begin, match.end())
            begin = match.end()
    if begin < len(text):
        yield begin, _without_last_blanks(text, begin, len(text))


def ends_sentence(text: str) -> bool:
    """Returns True if a text's last sentence is complete."""
    return not text.strip() or re.search(rf"[.!?…:;{FINAL}][\"'”’»)\]」』）]*\s*$", text) is not None


def words_at_stops() -> dict[str, list[str]]:
    """Returns the words by which `may_end_before` decides, for a web page that has the same rules: names, numbers,
    units, more (abbreviations) and begins."""
    kinds = {"names": _NAMES, "numbers": _NUMBERS, "units": _UNITS, "more": _MORE, "begins": _BEGINS}
    return {kind: sorted(words) for kind, words in kinds.items()}


def _ends_sentence(text: str, begin: int, after: int) -> bool:
    """Returns True if the text from `begin` to `after`, which ends in a sign of an end and blanks, is a sentence."""
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


_WORDS = tomllib.loads(files(__package__).joinpath("abbreviations.toml").read_text("utf-8"))
_NAMES, _NUMBERS, _UNITS = (frozenset(_WORDS[key].split()) for key in ("before_names", "before_numbers", "no_stop"))
_MORE, _BEGINS = (frozenset(" ".join(_WORDS[key].values()).split()) for key in ("abbreviations", "beginning"))
_INITIALS = re.compile(r"(?:[^\W\d_]{1,2}\.[-‑]?)+[^\W\d_]{1,2}")
_NO_VOWELS = re.compile(r"[b-df-hj-np-tv-xz]{2,5}|[бвгджзйклмнпрстфхцчшщ]{2,5}", re.IGNORECASE)
_ROMAN = re.compile(r"[IVX]{1,6}")


def may_end_before(word: str, following: str) -> bool:
    """Returns True if a full stop after a word may end a sentence before the word that follows.

    An abbreviation does if it may be the last word of a sentence, and a word follows that often begins one. A number of
    two digits that another word follows is taken for an ordinal, as many languages write it.

    Args:
        word: the text before the full stop, back to white space or an opening bracket or quotation mark.
        following: the first word after it, from its first letter or digit.
    """
    last = word.rpartition("-")[2] or word
    small = last.casefold().replace("’", "'")
    if small in _NAMES:
        return False
    is_number = following[:1].isdecimal()
    if small in _NUMBERS and is_number:
        return False
    is_ordinal = (word.isdecimal() and len(word) <= 2) or _ROMAN.fullmatch(word) is not None
    if is_ordinal and not following[:1].isalpha():
        return True
    is_short = (
        small in _MORE
        or (small.endswith(("str", "nr")) and len(small) > 3 and small != last.upper())
        or _INITIALS.fullmatch(word) is not None
        or (_NO_VOWELS.fullmatch(last) is not None and small not in _UNITS and not last.isupper())
    )
    is_initial = len(last) == 1 and last.isalpha() and not "\u3000" < last < "\uf000"
    if not (is_short or is_ordinal or is_initial):
        return True
    return following in _BEGINS and not (is_initial and len(following) < 3)
