"""Validation data that are drawn from labelled training data."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.errors import DataError
from transduce.corpora.labelled_text import ExampleCorpus


def corpus(texts: Sequence[str]) -> ExampleCorpus[tuple[int, str]]:
    return ExampleCorpus("letters", lambda: iter(list(enumerate(texts))), lambda: repr(texts))


def text(example: tuple[int, str]) -> str:
    return example[1]


@given(
    st.lists(st.sampled_from("abcdefghij"), min_size=2).filter(lambda texts: len(set(texts)) > 1),
    st.floats(0.01, 0.9),
)
def test_examples_of_a_text_stay_together_and_none_is_lost(texts: list[str], share: float) -> None:
    learned, drawn = corpus(texts).drawn(share, text)
    assert sorted([*learned, *drawn]) == list(enumerate(texts))
    assert not set(map(text, learned)) & set(map(text, drawn))
    many = len(set(texts))
    assert len(set(map(text, drawn))) == min(max(round(share * many), 1), many - 1)
    assert list(drawn) == list(corpus(texts).drawn(share, text)[1])


def test_where_all_examples_are_of_one_text_none_can_be_drawn() -> None:
    for part in corpus("aaa").drawn(0.1, text):
        with pytest.raises(DataError, match=re.escape("letters: all its examples are of one text")):
            next(iter(part))
