"""Words that were misread when pages were scanned are told by the corpus itself; rare words are left alone."""

import pytest

from transduce.corpora.corpus import SentencePair
from transduce.corpora.doctor.doctor import Doctor
from transduce.corpora.doctor.misread import Misread
from transduce.corpora.generated.grammar import derive_pairs

USUAL = ["The modern house was inside the wall with the translation of 1850"] * 50


@pytest.mark.parametrize(
    "text",
    [
        "tlie modem house",
        "The rnodern h0use was inside",
        "the hou5e was vvith the tal1 wa1l",
        "a trans- lation inside the wall and trans-lation of it",
        "lnside",
    ],
)
def test_misread_words_look_like_frequent_ones(text: str) -> None:
    assert Misread([*USUAL, text]).holds(text) and Misread(USUAL).holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "a short sentence of other words",
        "the house inside the wall was tlie best",  # one word of many may be a rare one
        "in 1B50, 185o, 1850, is it so",
        "well- known inside- outside 18-50",
        "\u4eca\u5929\u597d",
        "",
    ],
)
def test_other_words_and_numbers_are_left_alone(text: str) -> None:
    assert not Misread([*USUAL, text]).holds(text)


def test_words_that_are_frequent_themselves_are_known() -> None:
    alike = ["modem modern hut but lit hit"] * 50
    assert not any(map(Misread(alike).holds, alike))


def test_a_long_word_that_is_written_alike_three_times_is_one_of_its_own() -> None:
    assert Misread([*USUAL, "a rnodern house"]).holds("a rnodern house")
    assert not Misread([*USUAL, *["a rnodern house"] * 3]).holds("a rnodern house")
    assert not Misread(["iil llli in a text"] * 50).holds("III, III")


@pytest.mark.slow
def test_a_doctor_leaves_out_pairs_with_misread_words() -> None:
    pairs = derive_pairs(2_000, seed=1)
    wrong = [SentencePair(p.source.replace("e", "c").replace("h", "li"), p.target) for p in pairs[:10]]
    faults = [finding.fault for finding in Doctor([*pairs, *wrong]).judge([*pairs, *wrong])]
    assert faults[len(pairs) :].count("misread") >= 0.7 * len(wrong)
    assert faults[: len(pairs)].count("misread") <= 0.001 * len(pairs)
