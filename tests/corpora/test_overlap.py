"""Held-out sentences in the training data are counted as a plain comparison would."""

from hypothesis import given
from hypothesis import strategies as st

from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.overlap import SCOPES, find_overlaps, plain

texts = st.sampled_from(["a", "A ", "b", "a b", "c"])
pairs = st.lists(st.builds(SentencePair, texts, texts), max_size=7)


def corpus(name, found):
    return ParallelCorpus.of_pairs(name, found)


@given(st.lists(pairs, max_size=2), pairs, pairs)
def test_counts_are_those_of_a_plain_comparison(training, validation, test):
    found = find_overlaps((corpus("train", part) for part in training), [corpus("v", validation), corpus("t", test)])

    def key(pair, scope):
        return (plain(pair.source), plain(pair.target)) if scope == "pair" else plain(getattr(pair, scope))

    for overlap, held_out in zip(found, (validation, test), strict=True):
        assert overlap.pairs == len(held_out)
        for scope in SCOPES:
            known = {key(pair, scope) for part in training for pair in part}
            assert overlap.found[scope] == sum(key(pair, scope) in known for pair in held_out)
        assert bool(overlap.examples) == any(overlap.found.values())


def test_it_is_reported_in_a_line_with_examples():
    train = corpus("train", [SentencePair(f"s{n}", "x") for n in range(9)])
    (overlap,) = find_overlaps([train], [corpus("test", [SentencePair(f"S{n}", "y") for n in range(4, 99)])])
    assert (
        overlap.describe() == "of 95 pairs of test, 5 sources, 0 targets and 0 whole pairs are in the training data too"
    )
    assert overlap.examples == ["S4 | y", "S5 | y", "S6 | y"]
