"""A number is copied however either language writes it."""

from decimal import Decimal

import pytest

from docsegments.text.written_numbers import numbers_in
from transduce.evaluation.copied_numbers import count_copied_numbers


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1,000 1.000 1'000 1’000 1\u202f000 1000", [1000] * 6),
        ("it cost 10 000 euros", [10_000]),
        ("1,234,567.89 and 1.234.567,89 and 1 234 567,89", [Decimal("1234567.89")] * 3),
        ("3.5 and 3,5 and 3,50", [Decimal("3.5")] * 3),
        ("0.125 and 0,125", [Decimal("0.125")] * 2),
        ("3,0 is 3", [3, 3]),
        ("12.05.2010, 12/5/2010", [12, 5, 2010, 12, 5, 2010]),
        ("version 1.2.3, pages 10-12, at 10:30", [1, 2, 3, 10, 12, 10, 30]),
        ("one, two and 1, 2, 3.", [1, 2, 3]),
        ("in 2010 300 people, in 1998, 12 of them", [2010, 300, 1998, 12]),
        ("the A380, the 1990s, the 2nd, -7, 50%, $20", [380, 1990, 2, 7, 50, 20]),
        ("٣ ٤", [3, 4]),
        ("²", []),
        ("no digits", []),
    ],
)
def test_numbers_are_read_by_their_value(text: str, numbers: list[Decimal]) -> None:
    assert sorted(numbers_in(text).elements()) == sorted(map(Decimal, numbers))


def test_the_share_is_of_the_sources_numbers_each_counted_as_often_as_it_occurs() -> None:
    sources = ["1.000 Hunde", "2 und 2 Katzen", "7 Tage", "keine"]
    references = ["1,000 dogs", "2 and 2 cats", "seven days", "none"]
    systems = {"one": ["1000 dogs", "2 cats", "7 days", "9"], "none": ["1,001 dogs", "", "17 days", "4"]}
    found = count_copied_numbers(sources, references, systems)
    assert found.in_source == 4
    assert found.reference == 3 / 4
    assert found.systems == {"one": 3 / 4, "none": 0}


def test_a_test_set_without_numbers_has_no_share() -> None:
    found = count_copied_numbers(["ein Hund"], ["a dog"], {"one": ["a dog"]})
    assert (found.in_source, found.reference, found.systems) == (0, None, {"one": None})
