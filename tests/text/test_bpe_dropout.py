"""BPE-dropout follows its paper's algorithm, keeps the text, and without dropout is the tokenizer itself."""

import json
import random
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.errors import ConfigError
from transduce.corpora.generated.grammar import derive_pairs
from transduce.text.bpe_dropout import BpeDropout, BpeMerges, Segmented
from transduce.text.tokenizer import Tokenizer
from transduce.text.tokenizer_settings import SideConfig
from transduce.text.tokenizer_training import train_tokenizer

TEXTS = [text for pair in derive_pairs(300, seed=2) for text in (pair.source, pair.target)]
TOKENIZER = train_tokenizer(SideConfig(kind="bpe", size=500), TEXTS)
MERGES = BpeMerges(TOKENIZER)


def segmented(texts: list[str], tokenizer: Tokenizer = TOKENIZER) -> Segmented:
    rows = tokenizer.encode_batch(texts)
    ids = np.array([token for row in rows for token in row], dtype=np.int64)
    return Segmented(ids, np.cumsum([0, *map(len, rows)]))


def rows(found: Segmented) -> list[list[int]]:
    return [found.ids[start:stop].tolist() for start, stop in zip(found.offsets, found.offsets[1:], strict=False)]


def slow(word: str, dropout: float, chance: random.Random) -> tuple[str, ...]:
    """Algorithm 1 of Provilkov et al. (2020), for one word."""
    merges = json.loads(TOKENIZER.backend.to_str())["model"]["merges"]
    rank = {tuple(merge): number for number, merge in enumerate(merges)}
    split = list(word)
    while True:
        possible = [
            (rank[pair], place)
            for place, pair in enumerate(pairwise(split))
            if pair in rank and chance.random() >= dropout
        ]
        if not possible:
            return tuple(split)
        place = min(possible)[1]
        split[place : place + 2] = ["".join(split[place : place + 2])]


@given(st.lists(st.text("Der kleinHuß.,-!▁中\t<>0x4", max_size=20) | st.sampled_from(TEXTS), max_size=5))
def test_without_dropout_it_segments_as_the_tokenizer_does(texts: list[str]) -> None:
    plain = segmented(texts)
    found = MERGES.segment(plain, 0.0, np.random.default_rng(1))
    assert rows(found) == rows(plain)
    MERGES.check(plain)


@given(st.lists(st.text("Der kleinHuß.,-!中", max_size=20) | st.sampled_from(TEXTS), max_size=5), st.floats(0, 0.99))
def test_the_text_stays_and_no_token_joins_words(texts: list[str], dropout: float) -> None:
    plain = segmented(texts)
    found = MERGES.segment(plain, dropout, np.random.default_rng(1))
    assert [TOKENIZER.decode(row) for row in rows(found)] == [TOKENIZER.decode(row) for row in rows(plain)]
    assert all(0 <= token < len(TOKENIZER) for token in found.ids.tolist())
    assert (np.diff(found.offsets) >= np.diff(plain.offsets)).all()


@pytest.mark.slow
def test_segmentations_are_as_frequent_as_the_papers_algorithm_makes_them() -> None:
    word, count, chance = max((w for text in TEXTS for w in text.split()), key=len), 4000, random.Random(5)
    wanted = Counter(slow(f"▁{word}", 0.3, chance) for _ in range(count))
    found = MERGES.segment(segmented([word] * count), 0.3, np.random.default_rng(7))
    drawn = Counter(tuple(TOKENIZER.pieces(row)) for row in rows(found))
    assert len(wanted) > 10
    half_the_distance = sum(abs(wanted[one] - drawn[one]) for one in wanted.keys() | drawn.keys()) / 2 / count
    chance_distance = sum(
        abs(wanted[one] - again[one])
        for again in [Counter(slow(f"▁{word}", 0.3, chance) for _ in range(count))]
        for one in wanted.keys() | again.keys()
    ) / (2 * count)
    assert half_the_distance < 1.5 * chance_distance


def test_the_same_seed_draws_the_same_and_every_occurrence_for_itself() -> None:
    text = " ".join([max((w for text in TEXTS for w in text.split()), key=len)] * 50)
    dropout = BpeDropout(MERGES, 0.3)
    first, again, other = (dropout.segment(segmented([text]), np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert rows(first) == rows(again) != rows(other)
    words = "".join(TOKENIZER.pieces(first.ids.tolist())).split("▁")
    assert len(set(words)) == 2  # nothing, and the word
    assert len(set(" ".join(TOKENIZER.pieces(first.ids.tolist())).split("▁"))) > 5


def test_tokenizers_that_are_no_bpe_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"tokenizer.dropout is for BPE, which the tokenizer is not"):
        BpeMerges(train_tokenizer(SideConfig(kind="unigram", size=400), TEXTS))
    with pytest.raises(ValueError, match='dropout is for kind = "bpe"; leave it out'):
        SideConfig(kind="words", dropout=0.1)


def test_a_tokenizer_that_does_more_than_merge_is_refused() -> None:
    ids = np.array([TOKENIZER.backend.token_to_id(character) for character in "Der"])  # as no merge would leave them
    with pytest.raises(ConfigError, match="segments texts by more than its merges"):
        MERGES.check(Segmented(ids, np.array([0, 3])))
