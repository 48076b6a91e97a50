"""Held-out sentences in the training data are counted as a plain comparison would."""

from hypothesis import given
from hypothesis import strategies as st

from transduce.corpora.corpus import ParallelCorpus, SentencePair
from transduce.corpora.overlap import SCOPES, OverlapSearch, plain

texts = st.sampled_from(["a", "A ", "b", "a b", "c"])
pairs = st.lists(st.builds(SentencePair, texts, texts), max_size=7)


def corpus(name, found):
    return ParallelCorpus.of_pairs(name, found)


@given(st.lists(pairs, max_size=2), pairs, pairs)
def test_counts_are_those_of_a_plain_comparison(tmp_path_factory, training, validation, test):
    search = OverlapSearch([corpus("v", validation), corpus("t", test)], tmp_path_factory.mktemp("cache"))
    found = search.find(corpus("train", part) for part in training)

    def key(pair, scope):
        return (plain(pair.source), plain(pair.target)) if scope == "pair" else plain(getattr(pair, scope))

    for overlap, held_out in zip(found, (validation, test), strict=True):
        assert overlap.pairs == len(held_out)
        for scope in SCOPES:
            known = {key(pair, scope) for part in training for pair in part}
            assert overlap.found[scope] == sum(key(pair, scope) in known for pair in held_out)
        assert bool(overlap.examples) == any(overlap.found.values())


def test_it_is_reported_in_a_line_with_examples(tmp_path):
    train = corpus("train", [SentencePair(f"s{n}", "x") for n in range(9)])
    (overlap,) = OverlapSearch([corpus("test", [SentencePair(f"S{n}", "y") for n in range(4, 99)])], tmp_path).find(
        [train]
    )
    assert (
        overlap.describe() == "of 95 pairs of test, 5 sources, 0 targets and 0 whole pairs are in the training data too"
    )
    assert overlap.examples == ["S4 | y", "S5 | y", "S6 | y"]


def test_a_corpus_is_read_once_unless_it_or_the_held_out_sentences_change(tmp_path):
    passes = []

    def train_of(content):
        def read():
            passes.append(content)
            return iter([SentencePair("a", "x"), SentencePair("b", "y")])

        return ParallelCorpus("train", read, lambda: content)

    held_out = [corpus("test", [SentencePair("A", "z")])]
    for content in ("first", "first", "second"):
        train = train_of(content)
        search = OverlapSearch(held_out, tmp_path)
        if content == "first" and not passes:
            assert len(list(search.watched(train, train))) == 2  # a pass that is made for another purpose
        (overlap,) = search.find([train])
        assert overlap.found == {"pair": 0, "source": 1, "target": 0}
    assert passes == ["first", "second"]
    OverlapSearch([corpus("test", [SentencePair("b", "y")])], tmp_path).find([train])
    assert passes == ["first", "second", "second"]


def test_a_pass_that_is_broken_off_is_not_taken_for_a_whole_one(tmp_path):
    train = corpus("train", [SentencePair("a", "x"), SentencePair("b", "y")])
    search = OverlapSearch([corpus("test", [SentencePair("b", "y")])], tmp_path)
    next(search.watched(train, train))
    assert search.find([train])[0].found["pair"] == 1
