"""Batches of an epoch are a function of seed and epoch, hold every pair as often as asked, and keep their budget."""

from collections import Counter
from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transduce.config import convert
from transduce.data.batch import SpecialIds
from transduce.data.batching import BatchingConfig, TrainingData, least_padding, plan_batches
from transduce.data.store import Side, TokenStore
from transduce.errors import ConfigError, DataError

SPECIAL = SpecialIds(source_pad=2, source_eos=3, target_pad=5, target_bos=7, target_eos=11)


def store(first, pairs, random):
    """Pairs that can be told apart: each side begins with a number of the pair's own."""

    def side(shift):
        rows = [[first + i + shift, *[0] * random.integers(0, 9)] for i in range(pairs)]
        return Side(np.concatenate(rows).astype(np.uint16), np.cumsum([0, *map(len, rows)]).astype(np.int64))

    return TokenStore(side(100), side(1000), {})


def training_data(sizes=(53, 7, 30), weights=(1.0, 1.0, 1.0), seed=1, **config):
    random = np.random.default_rng(seed)
    firsts = np.cumsum([0, *sizes]).tolist()
    stores = [store(first, size, random) for first, size in zip(firsts, sizes, strict=False)]
    return TrainingData(stores, weights, SPECIAL, BatchingConfig(**config), seed)


def plain(plan):
    return [batch.tolist() for batch in plan]


@given(st.integers(0, 5), st.integers(0, 5))
def test_a_plan_is_a_function_of_seed_and_epoch(seed, epoch):
    weights = (1.0, 1.5, 0.3)
    data = replace(training_data(weights=weights, target_tokens=40), seed=seed)
    wanted = plain(data.plan(epoch))
    data.plan(epoch + 1)
    np.random.default_rng().random()
    assert plain(data.plan(epoch)) == wanted
    assert plain(replace(training_data(weights=weights, target_tokens=40), seed=seed).plan(epoch)) == wanted
    assert plain(data.plan(epoch + 1)) != wanted
    assert plain(replace(data, seed=seed + 1).plan(epoch)) != wanted


@pytest.mark.parametrize("config", [{"target_tokens": 40}, {"sentences": 11}, {}])
def test_every_pair_is_seen_once_an_epoch(config):
    plan = training_data(**config).plan(3)
    assert Counter(np.concatenate(plan).tolist()) == Counter(range(90))


@pytest.mark.parametrize("epoch", [0, 3])
def test_weights_say_how_often_pairs_are_seen(epoch):
    seen = Counter(np.concatenate(training_data(weights=(2.0, 1.0, 0.5), sentences=11).plan(epoch)).tolist())
    assert all(seen[pair] == 2 for pair in range(53))
    assert all(seen[pair] == 1 for pair in range(53, 60))
    assert sorted(seen[pair] for pair in range(60, 90)) == [0] * 15 + [1] * 15


def test_a_part_of_a_corpus_is_another_one_in_each_epoch():
    data = training_data(weights=(1.0, 1.0, 2.5), sentences=11)
    counts = [Counter(np.concatenate(data.plan(epoch)).tolist()) for epoch in range(2)]
    assert all({count[pair] for pair in range(60, 90)} == {2, 3} for count in counts)
    assert counts[0] != counts[1]


lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=60)


@given(lengths, st.integers(1, 90))
def test_no_batch_has_more_target_tokens_than_its_budget_with_padding_unless_it_is_a_single_pair(pairs, budget):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = plan_batches(source, target, BatchingConfig(target_tokens=budget))
    assert all(len(batch) * target[batch].max() <= budget or len(batch) == 1 for batch in batches)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(pairs)))
    for one, following in pairwise(batches):  # none could have taken one more
        assert (len(one) + 1) * target[following[0]] > budget


@given(lengths, st.integers(1, 13))
def test_batches_by_sentences_have_just_as_many_but_for_the_last(pairs, sentences):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    sizes = [len(batch) for batch in plan_batches(source, target, BatchingConfig(sentences=sentences))]
    whole, rest = divmod(len(pairs), sentences)
    assert sizes == [sentences] * whole + [rest] * (rest > 0)


@given(lengths, st.sampled_from([{"target_tokens": 60}, {"sentences": 7}]))
def test_pairs_of_similar_length_share_a_batch(pairs, config):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = plan_batches(source, target, BatchingConfig(**config))
    in_order = [(target[i], source[i]) for batch in batches for i in batch]
    assert in_order == sorted(in_order)


def test_batches_are_not_trained_in_order_of_length():
    data = training_data(sentences=5)
    longest = [data.batch(batch).target_out.shape[1] for batch in data.plan(0)]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_pairs_of_equal_length_meet_others_in_another_epoch():
    data = training_data(sizes=(60,), weights=(1.0,), sentences=5)
    groups = [{frozenset(batch.tolist()) for batch in data.plan(epoch)} for epoch in range(2)]
    assert groups[0] != groups[1]


def test_a_batch_holds_both_sides_of_just_the_pairs_asked_for_across_stores():
    data = training_data(target_tokens=40)
    asked = np.array([89, 0, 53, 52, 60, 59, 53])
    batch = data.batch(asked)
    assert (batch.source[:, 0] - 100).tolist() == asked.tolist()
    assert (batch.target_out[:, 0] - 1000).tolist() == asked.tolist()
    together = [store.target.lengths for store in data.stores]
    assert (batch.target_is_real.sum(1) - 1).tolist() == np.concatenate(together)[asked].tolist()


def test_planned_batches_keep_the_budget_once_they_are_padded():
    data = training_data(target_tokens=40)
    assert all(data.batch(batch).target_out.numel() <= 40 for batch in data.plan(2))


@pytest.mark.parametrize("config", [{"target_tokens": 120, "groups": 3}, {"sentences": 13, "groups": 5}])
def test_a_batch_of_several_groups_keeps_every_pair_once(config):
    data = training_data(**config)
    plan = data.plan(3)
    assert Counter(np.concatenate(plan).tolist()) == Counter(range(90))
    for batch in plan:
        parts = data.split(batch, 3)
        assert 1 <= len(parts) <= 3
        assert np.concatenate(parts).tolist() == batch.tolist()


def padded(source, target, runs):
    return sum((stop - start) * (source[start:stop].max() + target[start:stop].max()) for start, stop in runs)


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(1, 7)), min_size=1, max_size=9), st.integers(1, 4))
def test_parts_of_a_batch_need_the_least_padding_of_all_that_keep_a_target_length_together(pairs, parts):
    target, source = np.array(sorted((target, source) for source, target in pairs)).T
    runs = least_padding(source, target, parts)
    edges = [i for i in range(1, len(target)) if target[i] != target[i - 1]]
    cuts = [cut for count in range(parts) for cut in combinations(edges, count)]
    every = [list(pairwise([0, *cut, len(target)])) for cut in cuts]
    assert runs in every
    assert padded(source, target, runs) == min(padded(source, target, other) for other in every)


def test_weights_that_leave_an_epoch_without_pairs_are_an_error():
    with pytest.raises(DataError, match=r"data\.train: with these weights an epoch has no pairs; raise"):
        training_data(sizes=(3,), weights=(0.1,)).plan(0)


@pytest.mark.parametrize(
    ("tree", "pattern"),
    [
        ({"target_tokens": 2, "sentences": 3}, "give either target_tokens or sentences"),
        ({"sentences": -1}, "sentences: must be at least 1, found -1"),
        ({"target_tokens": 0}, "target_tokens: must be at least 1, found 0"),
        ({"groups": 0}, "groups: must be at least 1, found 0"),
    ],
)
def test_settings_that_make_no_batch_say_so(tree, pattern):
    with pytest.raises(ConfigError, match=pattern):
        convert(tree, BatchingConfig, "x.toml")
