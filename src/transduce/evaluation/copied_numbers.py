"""Matching the numbers of a source sentence with those of its translation, however each language writes them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

_NUMBER = re.compile(
    r"""
    (?<!\d[.,])                                     # the middle of a date or a version is no thousand
    (?P<groups>[1-9]\d{0,2} (?P<mark>[.,'’\ \u00a0\u2009\u202f]) \d{3} (?:(?P=mark)\d{3})*)
    (?:(?!(?P=mark))[.,](?P<cents>\d+))? (?![.,]?\d)
    | (?<!\d[.,]) (?P<whole>\d+) [.,] (?P<fraction>\d+) (?![.,]?\d)
    | (?P<plain>\d+)
    """,
    re.VERBOSE,
)


@dataclass(frozen=True)
class CopiedNumbers:
    """The share of the source's numbers that the translations have."""

    in_source: int
    reference: float | None
    """Share, 0 to 1, that the reference has: as many as a faithful human wrote in digits. None without numbers."""
    systems: dict[str, float | None]
    """Share, 0 to 1, that each system has."""


NO_NUMBERS = CopiedNumbers(0, None, {})
"""The numbers of systems that do not translate."""


def count_copied_numbers(
    sources: Sequence[str], references: Sequence[str], systems: Mapping[str, Sequence[str]]
) -> CopiedNumbers:
    """Counts the sources' numbers in line-aligned references and outputs; a repeated one must be repeated."""
    wanted = [numbers_in(source) for source in sources]
    total = sum(numbers.total() for numbers in wanted)

    def share(texts: Sequence[str]) -> float | None:
        pairs = zip(wanted, texts, strict=True)
        return sum((numbers & numbers_in(text)).total() for numbers, text in pairs) / total if total else None

    return CopiedNumbers(total, share(references), {name: share(outputs) for name, outputs in systems.items()})


def numbers_in(text: str) -> Counter[Decimal]:
    """Returns the numbers written in digits, by value: 1,000 and 1.000 and 1 000 are 1000, and 3,50 is 3.5.

    Any mark between groups of three digits separates thousands, so that the language need not be known: 3.141 is 3141
    on both sides. Dates and versions (12.05.2010) are several numbers; signs and units do not matter.
    """
    return Counter(_value(match) for match in _NUMBER.finditer(text))


def _value(match: re.Match[str]) -> Decimal:
    if match["groups"]:
        return Decimal(match["groups"].replace(match["mark"], "") + "." + (match["cents"] or "0"))
    if match["whole"]:
        return Decimal(match["whole"] + "." + match["fraction"])
    return Decimal(match["plain"])
