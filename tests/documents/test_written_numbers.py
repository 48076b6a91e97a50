"""Numbers are read and compared however a language writes them, each as often as it occurs."""

import random
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from docsegments.text.written_numbers import changes, forms_of, numbers_in, read_numbers

ZEROS = "0٠۰०০੦૦௦౦೦൦๐໐၀០０"
"""The zeros of sixteen scripts."""
LANGUAGES = ["de", "en", "fr", "hi", "ru", "zh", "es", "", "pt_BR"]
languages = st.sampled_from(LANGUAGES)
longer = st.integers(10, 10**12)


def in_digits(text: str, zero: str) -> str:
    return "".join(chr(ord(zero) + int(sign)) if sign.isdecimal() else sign for sign in text)


@given(longer, st.sampled_from(ZEROS), st.sampled_from(ZEROS))
def test_digits_of_all_scripts_are_alike(number: int, zero: str, other: str) -> None:
    source, target = f"- {in_digits(str(number), zero)}.", f"({in_digits(str(number), other)})"
    assert not changes(source, target, ("ar", "hi")).changed
    assert numbers_in(source) == numbers_in(target) == {Decimal(number): 1}
    wrong = f"({in_digits(str(number + 1), other)})"
    assert changes(source, wrong, ("ar", "hi")).changed == [in_digits(str(number), zero)]


@given(st.decimals(0, 10**9, places=2), languages, languages, st.sampled_from(ZEROS))
def test_a_form_of_a_language_is_read_as_the_number(value: Decimal, one: str, other: str, zero: str) -> None:
    mark = "," if one in ("de", "fr", "ru", "pt_BR") else "."
    source = f"{value:,f}".translate({ord(","): ".", ord("."): ","} if mark == "," else {})
    (number,) = read_numbers(source, one)
    assert number.value == value
    for form in forms_of(number, other, zero):
        assert not changes(f"x {source} x", f"y {form} y", (one, other)).changed
        assert changes(f"x {source} x", f"y {form}1 y", (one, other)).changed == [source]


@given(st.lists(st.integers(13, 40), min_size=1, max_size=12), st.data())
def test_each_number_is_to_occur_as_often_as_in_the_source(numbers: list[int], data: st.DataObject) -> None:
    source = ", x ".join(map(str, numbers))
    shuffled = data.draw(st.permutations(numbers))
    assert not changes(source, " y ".join(map(str, shuffled)), ("en", "de")).changed
    less = shuffled[1:]
    assert changes(source, " y ".join(map(str, less)), ("en", "de")).changed == [str(shuffled[0])]
    more = changes(source, " y ".join(map(str, [*shuffled, shuffled[0]])), ("en", "de"))
    assert more.changed == [str(shuffled[0])] and not more.lost


@pytest.mark.parametrize(
    ("source", "target", "languages", "changed"),
    [
        ("1.234,5 Euro", "1,234.5 euros", "de-en", []),
        ("1.234 Euro", "1.234 euros", "de-en", ["1.234"]),
        ("3,50 Euro", "350 euros", "de-en", ["3,50"]),
        ("3,141 m", "3.141 m", "de-en", []),
        ("1,00,000", "100,000", "hi-en", []),
        ("١٬٢٣٤٫٥", "1,234.5", "ar-en", []),
        ("am 12.05.2010", "on May 12, 2010", "de-en", []),
        ("am 10.11.2012", "on November 10, 2012", "de-en", []),
        ("am 10.11.2012", "in November 2012", "de-en", ["10"]),
        ("am 12.05.10", "on 12 May 2010", "de-en", []),
        ("am 10.12. kam er", "he came on December 10", "de-en", []),
        ("11 November 2011", "11.11.2011", "en-de", []),
        ("2010年11月12日", "12 November 2010", "zh-en", []),
        ("at 11 pm", "um 23 Uhr", "en-de", []),
        ("um 15.30 Uhr", "at 3:30 p.m.", "de-en", []),
        ("15 dogs", "3 Hunde", "en-de", ["15"]),
        ("10,000 people", "1万人", "en-zh", []),
        ("1.5 million", "150万", "en-zh", []),
        ("12 Hunde", "twelve dogs", "de-en", []),
        ("12 Hunde", "some dogs", "de-en", ["12"]),
        ("7 Hunde", "seven dogs", "de-en", []),
        ("50 Meilen", "80 km", "de-en", ["50"]),
        ("die 1990er, der 21.", "the 1990s, the 21st", "de-en", []),
        ("der A380, COVID-19", "the a380, covid-19", "de-en", []),
        ("Teil XJ-4500B", "part XJ-4500C", "de-en", ["XJ-4500B"]),
        ("使用A380飞机", "the A380", "zh-en", []),
        ("USD50 um 10AM", "50 USD at 10 a.m.", "en-en", []),
        ("www.a.de/12.", "www.a.de/13.", "de-en", ["www.a.de/12"]),
        ("an me@a.de, bitte", "to me@a.de please", "de-en", []),
        ("Tel. 030 1234 567", "phone 0301234567", "de-en", []),
        ("Nr. 007", "no. 7", "de-en", ["007"]),
        ("Version 1.2.30", "version 1.2.30", "de-en", []),
        ("9" * 9999, "9" * 9998, "de-en", ["9" * 9999]),
    ],
)
def test_what_is_a_change(source: str, target: str, languages: str, changed: list[str]) -> None:
    one, other = languages.split("-")
    assert changes(source, target, (one, other)).changed == changed


def test_numbers_of_one_digit_and_those_that_only_the_translation_has_are_no_changes() -> None:
    found = changes("zwölf und 7 und 350", "12 and 530", ("de", "en"))
    assert (found.changed, [number.text for number in found.invented]) == (["350"], ["12", "530"])


@given(st.text(alphabet="0123456789.,:/- '€年万٣٫AB@w\u00a0é", max_size=60))
def test_any_text_has_its_own_numbers(text: str) -> None:
    for language in ("", "de", "en"):
        found = changes(text, text, (language, language))
        assert not found.changed and not found.invented


def test_a_table_of_numbers_takes_no_long_time_whatever_differs() -> None:
    numbers = [str(random.Random(1).randrange(10, 10**6)) for _ in range(3000)]
    assert len(changes(" x ".join(numbers), " x ".join(f"{number}1" for number in numbers)).changed) == 3000
