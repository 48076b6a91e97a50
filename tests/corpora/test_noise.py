"""Copies of pairs are written as people type, the same in every pass, beside the pairs themselves."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.config import convert
from transduce.base.errors import ConfigError
from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.data_settings import DataConfig
from transduce.corpora.noise import WAYS_OF_TYPING, Noise

PAIR = SentencePair("The old dog's bowl is empty.", "Der Napf des alten Hundes ist leer.")


def corpus_of(*pairs: SentencePair) -> ParallelCorpus:
    return ParallelCorpus.of_pairs("pairs", pairs)


@pytest.mark.parametrize(
    ("way", "copy"),
    [
        ("capitals", ("THE OLD DOG'S BOWL IS EMPTY.", "DER NAPF DES ALTEN HUNDES IST LEER.")),
        ("titles", ("The Old Dog's Bowl Is Empty.", PAIR.target)),
        ("lowercase", ("the old dog's bowl is empty.", PAIR.target)),
        ("unpunctuated", ("The old dog's bowl is empty", "Der Napf des alten Hundes ist leer")),
    ],
)
def test_a_copy_follows_its_pair(way: str, copy: tuple[str, str]) -> None:
    noise = convert({way: 1.0}, Noise, "noise")
    assert list(noise.copies(PAIR)) == [SentencePair(*copy)]


@given(st.text())
def test_typing_errors_are_few_and_leave_no_mark_alone(text: str) -> None:
    pair = SentencePair(text, "x")
    copy = WAYS_OF_TYPING["typos"](pair)
    assert copy == WAYS_OF_TYPING["typos"](pair)
    assert copy.target == "x"
    assert abs(len(copy.source) - len(text)) <= 40 + len(text) // 2
    if not unicodedata.category((text or " ")[0]).startswith("M"):
        assert not unicodedata.category((copy.source or " ")[0]).startswith("M")


def test_a_sentence_gets_a_typing_error() -> None:
    copy = WAYS_OF_TYPING["typos"](PAIR)
    assert copy.source != PAIR.source
    assert sum(a != b for a, b in zip(copy.source.split(), PAIR.source.split(), strict=True)) == 1


@pytest.mark.parametrize(
    ("way", "source"),
    [("capitals", "犬が走る。"), ("titles", "हिन्दी में"), ("unpunctuated", "No sign"), ("lowercase", "ok")],
)
def test_a_text_that_a_way_of_typing_leaves_as_it_is_gets_no_copy(way: str, source: str) -> None:
    assert not list(convert({way: 1.0}, Noise, "noise").copies(SentencePair(source, "x.")))


def test_shares_are_those_of_the_pairs_that_get_a_copy() -> None:
    pairs = [SentencePair(f"Dog number {number} runs.", f"Hund {number} läuft.") for number in range(4000)]
    noisy = ParallelCorpus("noisy", lambda: iter(pairs), lambda: "x", noise=Noise(capitals=0.1, lowercase=0.2))
    given = set(pairs)
    copies = [pair for pair in noisy if pair not in given]
    assert list(noisy) == list(noisy)
    assert [pair for pair in noisy if pair in given] == pairs
    assert sum(pair.source.isupper() for pair in copies) == pytest.approx(400, abs=80)
    assert sum(pair.source.islower() for pair in copies) == pytest.approx(800, abs=100)
    assert len({noisy.content(), corpus_of(*pairs).content()}) == 2


def test_shares_add_up_to_all_pairs_at_the_most() -> None:
    with pytest.raises(ConfigError, match="capitals, typos: the shares must add up to 1"):
        convert({"train": ["a", "b"], "noise": {"capitals": 0.7, "typos": 0.4}}, DataConfig, "data")


@given(st.text(alphabet="aabcäß .", min_size=1))
def test_each_text_with_two_different_letters_side_by_side_gets_a_typing_error(text: str) -> None:
    copy = WAYS_OF_TYPING["typos"](SentencePair(text, "x")).source
    has_places = any(a.isalpha() and b.isalpha() for a, b in pairwise(text))
    assert (copy != text) == has_places
