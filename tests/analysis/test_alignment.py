"""Alignments: links, their union and error rate, and the truth of the grammar."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.analysis.alignment import (
    NO_WORDS,
    alignment_error_rate,
    link_words,
    pharaoh,
    symmetrize,
    without_punctuation,
)
from transduce.text.tokenizer_settings import SideConfig, TokenizerKind
from transduce.text.tokenizer_training import train_tokenizer

links = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 6)), max_size=12)


@given(links, links)
def test_growing_stays_between_intersection_and_union(
    forward: set[tuple[int, int]], back: set[tuple[int, int]]
) -> None:
    grown = symmetrize(forward, back, "grow-diag")
    assert forward & back == symmetrize(forward, back, "intersection")
    assert forward & back <= grown <= forward | back == symmetrize(forward, back, "union")
    if not forward & back:
        assert not grown


def test_growing_adds_neighbours_of_words_without_a_link() -> None:
    forward, back = {(0, 0), (1, 1), (3, 3)}, {(0, 0), (1, 2), (0, 1)}
    assert symmetrize(forward, back, "grow-diag") == {(0, 0), (0, 1), (1, 1), (1, 2)}


def numbers(*words: int) -> list[range]:
    return [range(word, word + 1) for word in words]


def test_links_of_tokens_are_links_of_their_words() -> None:
    assert link_words([0, None, 2, 2], numbers(0, 0, 1), numbers(0, 0, 1, 2)) == {(0, 0), (1, 1), (1, 2)}
    assert link_words([0, 1], [NO_WORDS, range(1, 2)], [range(1), NO_WORDS]) == set()
    assert link_words([0], [range(2, 4)], [range(1, 3)]) == {(2, 1), (2, 2), (3, 1), (3, 2)}  # tokens of several words
    found = without_punctuation(numbers(0, 1, 1, 2), ["▁the", "▁dog", ".", "!"])
    assert found == [range(1), range(1, 2), NO_WORDS, range(2, 3)]
    assert pharaoh({(10, 0), (0, 1), (0, 0)}) == "0-0 0-1 10-0"


def test_error_rate_is_that_of_och_and_ney() -> None:
    sure, possible = {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 2)}
    assert alignment_error_rate([sure], [sure], [possible]) == 0
    assert alignment_error_rate([possible], [sure], [possible]) == 0
    found = {(0, 0), (1, 2)}  # one sure link of two, and one that is wrong
    assert alignment_error_rate([found], [sure], [possible]) == pytest.approx(1 - (1 + 1) / (2 + 2))


@pytest.mark.parametrize("kind", ["bpe", "wordpiece", "unigram", "words", "characters", "bytes"])
def test_each_token_knows_its_word(kind: TokenizerKind) -> None:
    texts = ["the dog sees the cat .", "a cat, a dog: the end"] * 20
    tokenizer = train_tokenizer(SideConfig(kind=kind), texts)
    for text in (*texts[:2], "  the  dög  sees🙂 it ", "a"):
        ids, words = tokenizer.encode(text), [own.stop - 1 for own in tokenizer.words_of(text)]
        assert len(ids) == len(words)
        assert words == sorted(words)
        assert not ids or words[-1] < len(text.split())
        if kind != "words":
            assert set(words) == set(range(len(text.split())))
