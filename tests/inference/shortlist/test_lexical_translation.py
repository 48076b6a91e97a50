"""IBM Model 1 over token stores is what the textbook's loops give, however the pairs are read."""

from collections import defaultdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.base.errors import DataError
from transduce.corpora.lexical_translation import LexicalTable, Links, learn_lexical_table
from transduce.data.store import Side, TokenStore
from transduce.inference.shortlist import pair_sample as module
from transduce.inference.shortlist.pair_sample import PairSample

SOURCES, TARGETS = 5, 7
Pairs = list[tuple[list[int], list[int]]]


def store_of(pairs: Pairs) -> TokenStore:
    sides = []
    for side in (0, 1):
        lengths = [len(pair[side]) for pair in pairs]
        ids = np.array([token for pair in pairs for token in pair[side]], np.uint16)
        sides.append(Side.of(ids, lengths))
    return TokenStore(*sides, {})


def written_out(pairs: Pairs, iterations: int) -> dict[tuple[int, int], float]:
    """The loops of the paper; the null word is SOURCES."""
    probability: dict[tuple[int, int], float] = defaultdict(lambda: 1 / TARGETS)
    for _ in range(iterations):
        counts: dict[tuple[int, int], float] = defaultdict(float)
        totals: dict[int, float] = defaultdict(float)
        for source, target in pairs:
            for word in target:
                norm = sum(probability[other, word] for other in [*source, SOURCES])
                for other in [*source, SOURCES]:
                    counts[other, word] += probability[other, word] / norm
                    totals[other] += probability[other, word] / norm
        probability = defaultdict(float, {pair: count / totals[pair[0]] for pair, count in counts.items()})
    return probability


def learned(stores: list[TokenStore], iterations: int = 3, most_pairs: int = 1000) -> LexicalTable:
    return PairSample.spread(stores, most_pairs).learn(SOURCES, TARGETS, iterations)


sides = [st.lists(st.integers(0, size - 1), min_size=1, max_size=6) for size in (SOURCES, TARGETS)]
corpora = st.lists(st.tuples(*sides), min_size=1, max_size=9)


@given(corpora, corpora, st.integers(1, 60))
def test_probabilities_are_those_of_the_papers_loops_in_chunks_of_any_size(first: Pairs, second: Pairs, at_once: int):
    at_once = max(at_once, *((len(source) + 1) * len(target) for source, target in first + second))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LINKS_AT_ONCE", at_once)
        table = learned([store_of(first), store_of(second)])
    expected = written_out(first + second, 3)
    found = {divmod(int(key), TARGETS): p for key, p in zip(table.keys, table.probabilities, strict=True)}
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("is_held", [True, False])
def test_a_chunk_of_pairs_without_words_teaches_nothing(is_held: bool) -> None:
    none, some = np.empty(0, np.int64), np.array([1, 1])
    chunks = [Links(none, none), Links(some, np.array([2]))]
    table = learn_lexical_table(lambda: chunks, 1, 2, 2, is_held)
    assert table.keys.tolist() == [1] and learn_lexical_table(lambda: chunks[:1], 1, 2, 2, is_held).keys.size == 0


def test_a_token_is_translated_to_its_constant_counterpart() -> None:
    dictionary = {0: 4, 1: 6, 2: 3, 3: 5}
    sentences = [[0, 1], [1, 2], [2, 3], [3, 0], [0, 2], [1, 3]]
    table = learned([store_of([(source, [dictionary[token] for token in reversed(source)]) for source in sentences])])
    assert table.likeliest(1, fill=0)[:4, 0].tolist() == list(dictionary.values())


def test_lists_are_by_probability_then_number_and_filled_up() -> None:
    keys = np.array([1, 2, 4, TARGETS + 3, SOURCES * TARGETS + 6])  # of the tokens 0 and 1, and the null word
    table = LexicalTable(keys, np.array([0.25, 0.5, 0.25, 1.0, 1.0]), SOURCES, TARGETS)
    assert table.likeliest(3, fill=0).tolist() == [[2, 1, 4], [3, 0, 0], [0] * 3, [0] * 3, [0] * 3]
    assert table.likeliest(2, fill=0)[0].tolist() == [2, 1]


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 99))
def test_samples_are_as_large_as_asked_and_spread_evenly_over_all_stores(first: int, second: int, most: int) -> None:
    stores = [store_of([([0], [number % TARGETS])] * count) for number, count in enumerate((first, second))]
    sample = PairSample.spread(stores, most)
    assert len(sample) == min(most, first + second)
    one, other = sample.chosen
    assert not len(other) or other[-1] < second
    places = [*one, *(first + other)]
    gaps = np.diff(places)
    assert places[0] == 0 and (not len(gaps) or gaps.max() - gaps.min() <= 1)


def test_pairs_of_too_many_links_are_left_out_and_nothing_else_left_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "LINKS_AT_ONCE", 12)
    short, long = ([1, 2], [3, 4, 5, 6]), ([1, 2], [3, 4, 5, 6, 6])
    assert len(PairSample.spread([store_of([long, short, long])], 9)) == 1
    with pytest.raises(DataError, match="all 2 sentence pairs are too long to learn from"):
        PairSample.spread([store_of([long, long])], 9)
