"""Numbers, addresses and part numbers in texts of any language, and whether a translation has those of its source."""

import re
import unicodedata
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from docsegments.language_codes import primary
from docsegments.orthography.words import holds

ADDRESS = re.compile(r"(?:https?://|www\.|[\w.%+-]{1,64}@)[!-;=?-~]+", re.ASCII)
"""An address of the web or of mail, with the punctuation after it."""
AFTER = ".,;:!?)]}'\""
"""Signs after an address that are not part of it."""
DATE = re.compile(r"(?<!\d)\d{1,4}(?:[./-]\d{1,2}[./-]|\s?[年년]\s?\d{1,2}\s?[月월]\s?)\d{1,4}(?!\d)")
"""A date whose day, month and year are numbers."""
_CODE = (
    r"(?<![\w./-])(?!(?:USD|EUR|GBP|CHF|JPY|CNY)\d)(?:\d++-?)?[A-Z]{1,6}-?\d++"
    r"(?:[-/.]?(?:\d++|[A-Z]{1,3}+(?![A-Z])))*+(?!\w)"
)
_VERBATIM = re.compile(f"{ADDRESS.pattern}|(?P<code>{_CODE})", re.ASCII)
_VERBATIM_IN_ANY_CASE = re.compile(_VERBATIM.pattern, re.ASCII | re.IGNORECASE)
_NUMBER = re.compile(
    r"""
    (?:
    (?<!\d[.,])                                     # the middle of a date or a version is no thousand
    (?P<groups>[1-9]\d{0,2} (?P<mark>[.,'’\ \u00a0\u2009\u202f]) \d{3} (?:(?P=mark)\d{3})* | [1-9]\d?(?:,\d\d)+,\d{3})
    (?:(?!(?P=mark))[.,](?P<cents>\d+))? (?![.,]?\d)
    | (?<!\d[.,]) (?P<whole>\d+) [.,] (?P<fraction>\d+) (?![.,]?\d)
    | (?P<plain>\d+)
    )
    (?:\s?(?P<scale>[십백천十百千]?[万萬만亿億억]|लाख|करोड़|lakh|crore))?
    """,
    re.VERBOSE,
)
_SCALES = {
    "十": 1, "십": 1, "百": 2, "백": 2, "千": 3, "천": 3, "万": 4, "萬": 4, "만": 4, "亿": 8, "億": 8, "억": 8,
    "लाख": 5, "lakh": 5, "करोड़": 7, "crore": 7,
}  # fmt: skip
"""The zeros that signs after a number stand for."""
_CLOCK = re.compile(
    r"(?<![\d.:])\d{1,2}(?:[:.h]\d\d)?\s?(?:Uhr|uur|h\b|heures|ore|hodin|час|点|點|時|시|बजे|น\.|o['’]clock|[ap]\.?\s?m\b)"
    r"|(?<![\d:])\d{1,2}:\d\d(?![\d:])",
    re.IGNORECASE,
)
_DAY = re.compile(r"(?<![\d.])\d{1,2}\.\d{1,2}\.(?!\d)")
"""A day and a month, as languages with a decimal comma write them."""
_ANY = re.compile(r"\d|@|www|://")
_OTHER_DIGITS = re.compile(r"(?![0-9])\d|[٫٬]")
_WITH_COMMA = (
    "af az be bg bs ca cs da de el et eu fi fo fr gl hr hu hy id is it ka kk ky lb lt lv mk mn nb nl nn no pl pt ro ru "
    "sk sl sq sr sv tr uk uz vi"
)
_WITH_POINT = "bn cy en ga gu he hi ja km kn ko ml mr ms mt my ne pa si sw ta te th tl ur yo zh zu"
_DECIMAL = dict.fromkeys(_WITH_COMMA.split(), ",") | dict.fromkeys(_WITH_POINT.split(), ".")
"""The decimal marks of languages that always have the same one."""
_WORDS = {
    "cs": "deset jedenáct dvanáct", "da": "ti elleve tolv", "de": "zehn elf zwölf", "en": "ten eleven twelve",
    "es": "diez once doce", "fi": "kymmenen yksitoista kaksitoista", "fr": "dix onze douze",
    "it": "dieci undici dodici", "ja": "十 十一 十二", "nb": "ti elleve tolv", "nl": "tien elf twaalf",
    "pl": "dziesięć jedenaście dwanaście", "pt": "dez onze doze", "ru": "десять одиннадцать двенадцать",
    "sv": "tio elva tolv", "tr": "on onbir oniki", "uk": "десять одинадцять дванадцять", "zh": "十 十一 十二",
}  # fmt: skip
"""The words for 10, 11 and 12, which many write in letters."""
MANY = 100
"""The number of lost numbers from which on a text is a table, in which no other forms are sought."""


@dataclass(frozen=True)
class WrittenNumber:
    """A number, an address or a part number as a text writes it."""

    text: str
    value: Decimal | None = None
    """The value; None for addresses and part numbers, which are copied letter by letter."""
    others: tuple[Decimal, ...] = ()
    """Values that may stand in its place: the hours of another clock, the four digits of a year."""
    is_scaled: bool = False
    """True if its text ends with a sign for ten thousand, a lakh and so on."""
    month_of: int | None = None
    """The place of the date of which it may be the month, which can have a name in its place."""

    @cached_property
    def key(self) -> str:
        """The key that equal numbers share; zeros before more than two digits are part of it, as in telephone
        numbers."""
        if self.value is None or (self.text.isdecimal() and len(self.text) > 2 and self.digits.startswith("0")):
            return self.digits if self.value is not None else self.text.casefold()
        value = f"{self.value:f}"
        return value.rstrip("0").rstrip(".") if "." in value else value

    @property
    def digits(self) -> str:
        """The digits, from 0 to 9."""
        return "".join(filter(str.isdecimal, with_our_digits(self.text)))

    @property
    def is_long(self) -> bool:
        """True unless it is of one digit, which often becomes a word."""
        return re.fullmatch(r"0?\d\D*", with_our_digits(self.text)) is None


@dataclass(frozen=True)
class Changes:
    """Differences of the numbers of a translation and those of its source; only `invented` has any of one digit."""

    equal: list[WrittenNumber]
    """Numbers of the source that the translation has."""
    lost: list[WrittenNumber]
    """Numbers of the source that the translation lacks, once for each time."""
    repeated: list[WrittenNumber]
    """Numbers of the source that the translation has too often, once for each time."""
    invented: list[WrittenNumber]
    """Numbers of the translation that the source has not; words of the source may say them."""

    @property
    def changed(self) -> list[str]:
        """The numbers that are not as often in the translation as in the source, as the source writes them."""
        return [number.text for number in (*self.lost, *self.repeated)]


def numbers_in(text: str) -> Counter[Decimal]:
    """Returns the numbers written in digits, by value: 1,000 and 1.000 and 1 000 are 1000, and 3,50 is 3.5.

    Any mark between groups of three digits separates thousands, so that the language need not be known: 3.141 is 3141
    on both sides. Dates and versions (12.05.2010) are several numbers; signs and units do not matter.
    """
    return Counter(number.value for number in _numbers(text, with_our_digits(text), "") if number.value is not None)


def changes(source: str, target: str, languages: tuple[str, str] = ("", "")) -> Changes:
    """Compares the numbers of a translation with those of its source, given the codes of both languages.

    Each number of the source is to be in the translation as often, in a form of its language: with other marks and
    digits, 3 万 for 30,000, the hour of another clock, the name of a month, ten to twelve in words. Addresses and part
    numbers (A380, XJ-4500B) are to be the same but for upper case. The language decides which mark is the decimal one.
    """
    wanted = read_numbers(source, languages[0]) if _ANY.search(source) else []
    if not wanted:
        return Changes([], [], [], [])
    found = read_numbers(target, languages[1], {number.key for number in wanted if number.value is None})
    lacking, extra = _without_equal(wanted, found), _without_equal(found, wanted)
    words = zip(("10", "11", "12"), _WORDS.get(primary(languages[1]), "").split(), strict=False)
    in_words = {key for key, word in words if lacking and holds(target.casefold(), word)}
    left = []
    for number in lacking:
        others = extra if len(lacking) < MANY else []
        if (match := next((other for other in others if _may_be(number, other)), None)) is not None:
            extra.remove(match)
        elif number.key not in in_words:
            left.append(number)
    digits = ["".join(number.digits for number in numbers) for numbers in (left, extra)]
    is_whole = all(number.value is not None and "." not in number.key for number in (*left, *extra))
    if digits[0] == digits[1] and is_whole:
        left, extra = [], []  # grouped in another way
    written = {number.key: number for number in wanted}
    repeated = _without_months([number for number in extra if number.key in written])
    absent = set(map(id, lacking))
    equal = [number for number in wanted if id(number) not in absent and number.is_long]
    lost = [number for number in _without_months(left) if number.is_long]
    too_often = [written[number.key] for number in repeated if number.is_long]
    return Changes(equal, lost, too_often, [number for number in extra if number.key not in written])


def read_numbers(text: str, language: str = "", codes: Container[str] | None = None) -> list[WrittenNumber]:
    """Returns the addresses and part numbers of a text, then its other numbers; with `codes`, only what has one of
    these keys, in upper or lower case, is taken for an address or a part number."""
    plain = with_our_digits(text)
    verbatim = []

    def blank(match: re.Match[str]) -> str:
        written = match[0].rstrip(AFTER)
        number = WrittenNumber(text[match.start() : match.start() + len(written)])
        if number.key not in codes if codes is not None else match["code"] and len(number.digits) == 1:
            return match[0]
        verbatim.append(number)
        return "\n" * len(written) + match[0][len(written) :]

    for pattern in (_VERBATIM,) if codes is None else (_VERBATIM, _VERBATIM_IN_ANY_CASE):
        plain = pattern.sub(blank, plain)
    return [*verbatim, *_numbers(text, plain, _DECIMAL.get(primary(language), ""))]


def forms_of(number: WrittenNumber, language: str, digits_like: str = "") -> list[str]:
    """Returns the forms in which a language may write a number, the most likely one first.

    Args:
        number: a number of the source.
        language: the code of the target language; all marks are possible if it is unknown.
        digits_like: a text whose digits may be of another script, which may be used too.
    """
    if number.value is None:
        return [number.text]
    if number.text.isdecimal():
        forms = [number.digits]
    else:
        whole, _, fraction = (number.key if number.is_scaled else f"{number.value:f}").partition(".")
        decimals = [_DECIMAL[primary(language)]] if primary(language) in _DECIMAL else [".", ","]
        marks = {".": [(",", "."), ("", ".")], ",": [(".", ","), ("", ","), (" ", ",")]}
        groups = f"{Decimal(whole):,f}"
        forms = [
            groups.replace(",", mark) + (sign + fraction if fraction else "")
            for decimal in decimals
            for mark, sign in marks[decimal]
        ]
    zeros = {ord(sign) - unicodedata.decimal(sign) for sign in digits_like if sign.isdecimal()} - {ord("0")}
    tables = [{ord("0") + digit: chr(zero + digit) for digit in range(10)} for zero in sorted(zeros)]
    forms += [form.translate(table) for table in tables for form in forms]
    return list(dict.fromkeys([*forms, *([number.text] if number.is_scaled else [])]))


def _numbers(text: str, plain: str, decimal: str) -> list[WrittenNumber]:
    """Returns the numbers of a text, given it with our digits, and the decimal mark of its language or ""."""
    hours = {match.start() for match in _CLOCK.finditer(plain)}
    dates = [*DATE.finditer(plain), *(_DAY.finditer(plain) if decimal == "," else ())]
    for apart in (_CLOCK, _DAY) if decimal == "," else (_CLOCK,):  # 15.30 Uhr and 10.12. are two numbers
        plain = apart.sub(lambda match: match[0].replace(".", "\n", 1), plain)
    month_of, years = dict[int, int](), set[int]()
    for date in dates:
        first, month, *_ = parts = [date.start() + part.start() for part in re.finditer(r"\d+", date[0])]
        month_of |= dict.fromkeys([month, *([first] if "/" in date[0] else [])], date.start())
        years.add(parts[-1])
    numbers = []
    for match in _NUMBER.finditer(plain):
        start, value = match.start(), _value(match, decimal)
        others: tuple[Decimal, ...] = ()
        if start in hours and value <= 24:
            others = (value + 12, value - 12)
        elif start in years and len(match[0]) == 2:
            others = (1900 + value, 2000 + value)
        month = month_of.get(start) if 1 <= value <= 12 else None
        numbers.append(WrittenNumber(text[start : match.end()], value, others, match["scale"] is not None, month))
    return numbers


def _value(match: re.Match[str], decimal: str) -> Decimal:
    written = match["scale"] or ""
    scale = 10 ** sum(_SCALES[sign] for sign in ([written] if written in _SCALES else written))
    if match["groups"]:
        first, *rest = re.split(r"\D", match["groups"])
        if match["mark"] == decimal and len(rest) == 1 and not match["cents"]:
            return Decimal(f"{first}.{rest[0]}") * scale
        return Decimal("".join([first, *rest]) + "." + (match["cents"] or "0")) * scale
    if match["whole"]:
        return Decimal(match["whole"] + "." + match["fraction"]) * scale
    return Decimal(match["plain"]) * scale


def with_our_digits(text: str) -> str:
    """Returns a text with digits from 0 to 9, and ASCII's marks for Arabic ones: as many characters."""
    if text.isascii():
        return text
    return _OTHER_DIGITS.sub(lambda sign: {"٫": ".", "٬": ","}.get(sign[0]) or str(unicodedata.decimal(sign[0])), text)


def _without_months(numbers: Sequence[WrittenNumber]) -> list[WrittenNumber]:
    """Returns the numbers without the first one of each date that may be its month."""
    months = {number.month_of: id(number) for number in reversed(numbers) if number.month_of is not None}
    named = set(months.values())
    return [number for number in numbers if id(number) not in named]


def _without_equal(numbers: Sequence[WrittenNumber], others: Sequence[WrittenNumber]) -> list[WrittenNumber]:
    """Returns the numbers without as many equal ones as the others have."""
    keys = Counter(number.key for number in others)
    left = []
    for number in numbers:
        if keys[number.key]:
            keys[number.key] -= 1
        else:
            left.append(number)
    return left


def _may_be(number: WrittenNumber, other: WrittenNumber) -> bool:
    """Returns True if another number may stand in the place of one: at another clock, or counted in ten thousands."""
    if other.value is None or number.value is None:
        return False
    if other.value in number.others or number.value in other.others:
        return True
    if not number.is_scaled and not other.is_scaled:
        return False
    return number.digits.strip("0") == other.digits.strip("0")
