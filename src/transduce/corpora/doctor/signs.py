"""What can be seen in a pair alone: broken encodings, markup, numbers that differ; and repairs that are certain."""

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from docsegments.extras import require
from docsegments.orthography.characters import INVISIBLE
from docsegments.text.written_numbers import ADDRESS, AFTER, DATE, with_our_digits
from transduce.corpora.corpus import SentencePair
from transduce.corpora.overlap import plain

_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_NUMBER = re.compile(r"(?<!\d)\d{1,3}(?:[.,\s’']\d{3})+(?!\d)|\d+")  # with thousands apart, or without
_MONTHS = frozenset(map(str, range(1, 13)))
_NO_DIGIT = re.compile(r"\D+")
_PATH = re.compile(r"(?:https?://)?(?:www\.)?([^/?#]*).*", re.ASCII)
"""An address, of which the host counts: a translated page has another path, and a form another code."""
_VOWEL_SIGNS = ("Mn", "Mc")
"""Categories of signs that belong to the letter before them."""
_LETTERS = re.compile(r"[^\W\d_]+")
_SPACES = re.compile(r"\s{2,}|[\t\r\n\f\v]")
REASONS = {
    "characters lost": "with characters that were lost",
    "copied": "of which one side is a copy of the other",
    "other numbers": "with other numbers on both sides",
    "other addresses": "with other addresses on both sides",
    "source in another language": "whose source is in another language",
    "target in another language": "whose target is in another language",
    "misread": "with words that were misread when pages were scanned",
    "boilerplate": "with a side that stands beside many others",
    "in the test data": "of which a side is in the test data",
    "repeated": "which came before, but for case, numbers and punctuation",
    "unlike": "which are less like the text that was asked for than others",
}
"""Faults that a pair alone shows or that are asked for, by name, in words that follow a number of pairs."""
LOST_CHARACTER = "\ufffd"
ALIKE = 0.8
"""Share of the words of the shorter side, from which on a side is a copy of the other."""
FEWEST_WORDS = 4
"""Words of a side from which on shared ones say that it is a copy, if half as many of them are not names."""
PERSONAL = {
    "e-mail": re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@(?:[\w-]{1,63}\.){1,5}[A-Za-z]{2,24}(?![\w-])"),
    "IBAN": re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b"),
    "phone": re.compile(
        r"(?<![\w.,/-])(?!\d{1,2}[ /-]\d{1,2}[ /-]\d{4}(?!\d))"
        r"(?:\+\d{1,3}|00\d{1,3}|0)[ /-]?(?:\(\d{1,4}\)|\d{1,5})(?:[ /-]?\d{2,5}){2,4}(?![\w.,]\d)"
    ),
}


def repaired(text: str) -> tuple[str, set[str]]:
    """Returns a text with what is certainly wrong put right, and the kinds of repairs."""
    if text.isascii() and "&" not in text and text.isprintable() and "  " not in text and text == text.strip():
        return text, set()
    kinds: set[str] = set()
    for kind, repair in _REPAIRS.items():
        changed = repair(text)
        if changed != text:
            kinds.add(kind)
            text = changed
    return text, kinds


def _encoding(text: str) -> str:
    return text if text.isascii() else str(require("ftfy", "train").fix_encoding(text))


def _entities(text: str) -> str:
    return str(require("ftfy.fixes", "train").unescape_html(text)) if _ENTITY.search(text) else text


def _invisible(text: str) -> str:
    if text.isprintable() and not INVISIBLE & set(text):
        return text
    return "".join(
        sign for sign in text if sign not in INVISIBLE and (sign.isspace() or unicodedata.category(sign) != "Cc")
    )


def _spaces(text: str) -> str:
    return _SPACES.sub(" ", text).strip()


_REPAIRS: dict[str, Callable[[str], str]] = {
    "encoding": _encoding,
    "entities": _entities,
    "invisible characters": _invisible,
    "spaces": _spaces,
}
"""Repairs by what they are of, in the order in which they are done."""


def repaired_pair(pair: SentencePair) -> tuple[SentencePair, set[str]]:
    """Returns a pair with its sides repaired, without tags that one side alone has, and the kinds of repairs."""
    source, kinds = repaired(pair.source)
    target, others = repaired(pair.target)
    tags = [_TAG.findall(text) for text in (source, target)]
    if len(tags[0]) != len(tags[1]):
        source, target = (_spaces(_TAG.sub(" ", text)) for text in (source, target))
        kinds = kinds | {"markup"}
    if not kinds | others:
        return pair, kinds
    return replace(pair, source=source, target=target), kinds | others


def faults_of(pair: SentencePair) -> Iterator[str]:
    """Yields the names of the faults that a pair alone shows, which is repaired already."""
    if LOST_CHARACTER in pair.source or LOST_CHARACTER in pair.target:
        yield "characters lost"
    if is_copy(pair):
        yield "copied"
    if _differ(pair.source, pair.target):
        yield "other numbers"
    addresses = [
        {_PATH.sub(r"\1", found.rstrip(AFTER)) for found in ADDRESS.findall(text)}
        for text in (pair.source, pair.target)
    ]
    if all(addresses) and addresses[0] != addresses[1]:
        yield "other addresses"


def is_copy(pair: SentencePair) -> bool:
    """Returns True if a side is the other one, not translated."""
    if plain(pair.source) == plain(pair.target):
        return True
    words = [set(_LETTERS.findall(ADDRESS.sub(" ", text))) for text in (pair.source, pair.target)]
    shared = {word.lower() for word in words[0]} & {word.lower() for word in words[1]}
    is_text = sum(word == word.lower() for word in words[0] & words[1]) >= FEWEST_WORDS / 2
    return is_text and min(map(len, words)) >= FEWEST_WORDS and len(shared) >= ALIKE * max(map(len, words))


def _numbers(text: str) -> list[str]:
    """Returns the digits of a text's numbers; those before and after a decimal sign, and parts of a date, are two."""
    return [with_our_digits(_NO_DIGIT.sub("", number)).lstrip("0") for number in _NUMBER.findall(text)]


def _differ(source: str, target: str) -> bool:
    """Returns True if both sides have as many numbers, and others: not 15 for 2015, nor digits grouped in another way;
    numbers of one digit may be hours of other clocks, or ordinals, and a month may have a name on one side."""
    numbers = [Counter(_numbers(text)) for text in (source, target)]
    left, right = numbers[0] - numbers[1], numbers[1] - numbers[0]
    if left.total() != right.total() or sorted("".join(left.elements())) == sorted("".join(right.elements())):
        return False
    dates = [DATE.findall(text) for text in (source, target)]
    for own, some, others in zip((left, right), dates, dates[::-1], strict=True):
        if len(some) > len(others) and not _MONTHS.isdisjoint(own.keys() & set(_numbers(" ".join(some)))):
            return False
    pairs = [(one, other) for one in left for other in right]
    return max(map(len, [*left, *right])) > 1 and not any(a.endswith(b) or b.endswith(a) for a, b in pairs)


def key_of(text: str) -> str:
    """Returns the letters of a text: equal for texts that differ in case, numbers and punctuation alone."""
    if text.isascii():
        return "".join(_LETTERS.findall(text.lower()))
    return "".join(sign for sign in text.lower() if sign.isalpha() or unicodedata.category(sign) in _VOWEL_SIGNS)


def masked(pair: SentencePair) -> tuple[SentencePair, set[str]]:
    """Returns a pair with personal data replaced by what they are, and their kinds."""
    kinds, texts = set(), [pair.source, pair.target]
    for place, text in enumerate(texts):
        for kind, pattern in PERSONAL.items():
            text, count = pattern.subn(f"[{kind}]", text)
            if count:
                kinds.add(kind)
        texts[place] = text
    return replace(pair, source=texts[0], target=texts[1]), kinds
