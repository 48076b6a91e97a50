"""Texts in capitals are spelled as they are usually written."""

import pytest

from small_corpus import small_corpus
from transduce.text.capitals import in_usual_case
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

TEXTS = [pair.target for pair in small_corpus()]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "words"])
def test_words_are_spelled_as_the_vocabulary_knows_them(kind: str) -> None:
    tokenizer = train_tokenizer(SideConfig(kind=kind, max_size=600), TEXTS)
    spelled = [(in_usual_case(text.upper(), tokenizer), text) for text in TEXTS]
    words = [(a, b) for each in spelled for a, b in zip(*map(str.split, each), strict=True)]
    right = sum(usual == written for usual, written in words)
    small = sum(written.islower() for _, written in words) + len(TEXTS)  # with the first words
    assert right > 0.8 * len(words) > small


@pytest.mark.parametrize("text", ["", "...", "MAY 5TH, N.Y.!", "L'ÉTÉ -- «DÉJÀ» 2", "ΣΟΦΟΣ", "ЁЛКА И СНЕГ", "ИЙ"])
def test_nothing_but_case_changes(text: str) -> None:
    tokenizer = train_tokenizer(SideConfig(kind="characters"), TEXTS)
    usual = in_usual_case(text, tokenizer)
    assert usual.upper() == text.upper() and not usual[1:].isupper()
