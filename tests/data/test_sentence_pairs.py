"""Batches of an epoch are a function of seed and epoch, hold every pair as often as asked, and keep their budget."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.base.config import convert
from transduce.base.errors import ConfigError, DataError
from transduce.data.batch import SpecialIds
from transduce.data.parts import batches_by_length, buckets, needs
from transduce.data.sentence_pairs import BOTH_SIDES, BatchingConfig, SentencePairs
from transduce.data.store import Side, TokenStore

SPECIAL = SpecialIds(source_pad=2, source_eos=3, target_pad=5, target_bos=7, target_eos=11)


def store(first, pairs, random):
    """Pairs that can be told apart: each side begins with a number of the pair's own."""

    def side(shift):
        rows = [[first + i + shift, *[0] * random.integers(0, 9)] for i in range(pairs)]
        return Side.of(np.concatenate(rows).astype(np.uint16), list(map(len, rows)))

    return TokenStore(side(100), side(1000), {})


def training_data(sizes=(53, 7, 30), weights=(1.0, 1.0, 1.0), seed=1, **config):
    random = np.random.default_rng(seed)
    firsts = np.cumsum([0, *sizes]).tolist()
    stores = [store(first, size, random) for first, size in zip(firsts, sizes, strict=False)]
    return SentencePairs(stores, weights, SPECIAL, BatchingConfig(**config), seed)


def of_lengths(lengths, target_tokens=None, weights=(1.0,), **config):
    """Pairs of so many source and target tokens, the end token counted."""
    without_end = [[length - 1 for length in side] for side in zip(*lengths, strict=True)]
    sides = [Side.of(np.zeros(sum(side), np.uint16), side) for side in without_end]
    stores = [TokenStore(*sides, {})]
    return SentencePairs(stores, weights, SPECIAL, BatchingConfig(target_tokens=target_tokens, **config), 1)


def plain(pairs, epoch):
    return [batch.tolist() for batch in pairs.planned().epoch(epoch).batches]


@given(st.integers(0, 5), st.integers(0, 5))
def test_a_plan_is_a_function_of_seed_and_epoch(seed, epoch):
    weights = (1.0, 1.5, 0.3)
    pairs = replace(training_data(weights=weights, target_tokens=40), seed=seed)
    data, wanted = pairs.planned(), plain(pairs, epoch)
    other = [batch.tolist() for batch in data.epoch(epoch + 1).batches]
    np.random.default_rng().random()
    assert [batch.tolist() for batch in data.epoch(epoch).batches] == wanted
    assert plain(replace(training_data(weights=weights, target_tokens=40), seed=seed), epoch) == wanted
    assert other != wanted
    assert plain(replace(pairs, seed=seed + 1), epoch) != wanted


def test_what_is_beyond_the_memory_is_said_with_what_helps():
    data = of_lengths([(9, 5), (1500, 700), (8, 6)]).planned().epoch(0)
    assert data.too_large(np.array([0, 2])) == (
        "the largest part of a batch, 2 pairs of 30 tokens with padding,",
        "lower batching.target_tokens (or sentences)",
    )
    what, remedy = data.too_large(np.array([1]))
    assert what == "a pair of 1,500 source and 700 target tokens"
    assert remedy == "leave such pairs out by data.max_tokens, 1,498 or fewer"


@pytest.mark.parametrize("config", [{"target_tokens": 40}, {"sentences": 11}, {}])
def test_every_pair_is_seen_once_an_epoch(config):
    plan = training_data(**config).planned().epoch(3).batches
    assert Counter(np.concatenate(plan).tolist()) == Counter(range(90))


@pytest.mark.parametrize("epoch", [0, 3])
def test_weights_say_how_often_pairs_are_seen(epoch):
    data = training_data(weights=(2.0, 1.0, 0.5), sentences=11).planned()
    seen = Counter(np.concatenate(data.epoch(epoch).batches).tolist())
    assert all(seen[pair] == 2 for pair in range(53))
    assert all(seen[pair] == 1 for pair in range(53, 60))
    assert sorted(seen[pair] for pair in range(60, 90)) == [0] * 15 + [1] * 15


def test_a_part_of_a_corpus_is_another_one_in_each_epoch():
    data = training_data(weights=(1.0, 1.0, 2.5), sentences=11).planned()
    counts = [Counter(np.concatenate(data.epoch(epoch).batches).tolist()) for epoch in range(2)]
    assert all({count[pair] for pair in range(60, 90)} == {2, 3} for count in counts)
    assert counts[0] != counts[1]


lengths = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), max_size=60)


@given(lengths, st.integers(1, 90))
def test_no_batch_has_more_tokens_than_its_budget_with_padding_unless_it_is_a_single_pair(pairs, budget):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = buckets(source, target, BatchingConfig(target_tokens=budget).fits)
    assert all(is_within(source[batch], target[batch], budget) or len(batch) == 1 for batch in batches)
    assert sorted(i for batch in batches for i in batch.tolist()) == list(range(len(pairs)))
    for one, following in pairwise(batches):  # none could have taken one more
        more = [*one, following[0]]
        assert not is_within(source[more], target[more], budget)


def is_within(source, target, budget):
    tokens = len(target) * (source.max() + target.max())
    return len(target) * target.max() <= budget and tokens <= BOTH_SIDES * budget


@given(lengths, st.integers(1, 13))
def test_batches_by_sentences_have_just_as_many_but_for_the_last(pairs, sentences):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    sizes = [len(batch) for batch in buckets(source, target, BatchingConfig(sentences=sentences).fits)]
    whole, rest = divmod(len(pairs), sentences)
    assert sizes == [sentences] * whole + [rest] * (rest > 0)


@given(lengths, st.sampled_from([{"target_tokens": 60}, {"sentences": 7}]))
def test_pairs_of_similar_length_share_a_batch(pairs, config):
    source, target = np.array(pairs, np.int64).reshape(-1, 2).T
    batches = buckets(source, target, BatchingConfig(**config).fits)
    in_order = [(target[i], source[i]) for batch in batches for i in batch]
    assert in_order == sorted(in_order)


@given(st.lists(st.integers(1, 30), max_size=60), st.integers(1, 90), st.booleans())
def test_rows_of_similar_length_fill_a_batch_within_its_tokens(lengths, tokens, longest_first):
    batches = batches_by_length(lengths, tokens, longest_first)
    in_order = [i for batch in batches for i in batch]
    assert in_order == sorted(range(len(lengths)), key=lambda i: -lengths[i] if longest_first else lengths[i])
    assert all(padded(lengths, batch) <= tokens or len(batch) == 1 for batch in batches)
    for batch, following in pairwise(batches):  # none could have taken one more
        assert padded(lengths, [*batch, following[0]]) > tokens


def padded(lengths, batch):
    return len(batch) * max(lengths[i] for i in batch)


def test_batches_are_not_trained_in_order_of_length():
    data = training_data(sentences=5).planned().epoch(0)
    longest = [data.make(batch).target_out.shape[1] for batch in data.batches]
    assert longest not in (sorted(longest), sorted(longest, reverse=True))


def test_pairs_of_equal_length_meet_others_in_another_epoch():
    data = training_data(sizes=(60,), weights=(1.0,), sentences=5).planned()
    groups = [{frozenset(batch.tolist()) for batch in data.epoch(epoch).batches} for epoch in range(2)]
    assert groups[0] != groups[1]


def test_a_batch_holds_both_sides_of_just_the_pairs_asked_for_across_stores():
    data = training_data(target_tokens=40)
    asked = np.array([89, 0, 53, 52, 60, 59, 53])
    batch = data.planned().epoch(0).make(asked)
    assert (batch.source[:, 0] - 100).tolist() == asked.tolist()
    assert (batch.target_out[:, 0] - 1000).tolist() == asked.tolist()
    together = [store.target.lengths for store in data.stores]
    assert (batch.target_is_real.sum(1) - 1).tolist() == np.concatenate(together)[asked].tolist()


def test_planned_batches_keep_the_budget_once_they_are_padded():
    data = training_data(target_tokens=40).planned().epoch(2)
    assert all(data.make(batch).target_out.numel() <= 40 for batch in data.batches)


@pytest.mark.parametrize("config", [{"target_tokens": 120, "groups": 3}, {"sentences": 13, "groups": 5}])
def test_a_batch_of_several_groups_keeps_every_pair_once(config):
    data = training_data(**config).planned()
    for number in (0, 3):
        epoch = data.epoch(number)
        assert Counter(np.concatenate(epoch.batches).tolist()) == Counter(range(90))
        for batch in epoch.batches:
            parts = epoch.split(batch, 3)
            assert np.concatenate(parts).tolist() == batch.tolist()
            assert 1 <= len(parts) <= 3 or number > 0  # which may be cut further, so as to need no more than the first


@pytest.mark.parametrize("config", [{"target_tokens": 120, "groups": 3}, {"sentences": 13, "groups": 5}])
@pytest.mark.parametrize(("parts", "processes"), [(1, 3), (4, 2), (5, 3)])
def test_several_processes_get_every_pair_once_in_as_many_parts_each(config, parts, processes):
    data = training_data(**config).planned()
    for batch in data.epoch(0).batches:
        split = data.epoch(0).split(batch, parts, processes)
        assert np.concatenate(split).tolist() == batch.tolist()
        whole = -(-parts // processes) * processes
        assert len(split) == (
            min(whole, len(batch) // processes * processes) if len(batch) >= processes else len(batch)
        )


def test_parts_of_several_processes_take_about_equally_long():
    random = np.random.default_rng(3)
    lengths = [(int(length), int(length + random.integers(0, 4))) for length in random.integers(3, 60, 2000)]
    data = of_lengths(lengths, target_tokens=9000, groups=6).planned()
    for batch in data.epoch(0).batches[:-1]:
        tokens = [data.epoch(0).tokens(part) for part in data.epoch(0).split(batch, 4, 4)]
        assert max(tokens) < 1.2 * np.mean(tokens)


def test_accumulate_divides_what_a_batch_needs_though_its_targets_are_of_one_length():
    data = of_lengths([(9, 9)] * 400, target_tokens=400).planned().epoch(0)
    for batch in data.batches:
        assert max(map(len, data.split(batch, 8))) <= -(-len(batch) // 8)


def test_target_tokens_bounds_long_sources_too():
    data = of_lengths([(200 if i % 50 == 0 else 10, 10) for i in range(1000)], target_tokens=400)
    epoch = data.planned().epoch(0)
    assert max(map(epoch.tokens, epoch.batches)) <= BOTH_SIDES * 400


def test_groups_that_exceed_their_part_leave_a_batch_with_fewer_of_them():
    data = of_lengths([(90, 90), (3, 3)] * 40, target_tokens=200, groups=20)
    for batch in data.planned().epoch(1).batches:
        lengths = data.stores[0].target.lengths[batch] + 1
        assert lengths[lengths > 10].sum() <= 200  # each is a group of its own, of more than ten tokens


@pytest.mark.parametrize("parts", [1, 3])
def test_no_part_mixes_lengths_until_it_needs_six_times_its_target_tokens(parts):
    data = of_lengths([(500, 20) if i == 7 else (i % 11 + 1, i % 13 + 1) for i in range(400)], 240, groups=6)
    for epoch in map(data.planned().epoch, range(3)):
        for batch in epoch.batches:
            tokens = [epoch.tokens(part) for part in epoch.split(batch, parts)]
            assert max(tokens) <= max(6 * 240 // parts, 520)


def test_sentences_bound_the_number_of_pairs_alone():
    data = of_lengths([(90, 90), (3, 3)] * 40, sentences=20)
    assert {len(batch) for batch in data.planned().epoch(0).batches} == {20}


@settings(max_examples=10)
@given(
    st.sampled_from([{"target_tokens": 60}, {"target_tokens": 60, "groups": 5}, {"sentences": 11, "groups": 3}]),
    st.sampled_from([(1.0, 1.0, 1.0), (1.0, 1.5, 0.3), (0.1, 2.0, 1.0)]),
    st.integers(0, 9),
)
def test_no_part_of_any_epoch_needs_more_than_the_largest_that_are_known_from_the_start(config, weights, seed):
    data = training_data(weights=weights, seed=seed, **config)
    planned = data.planned()
    for parts in (1, 4):
        largest = planned.largest(parts)
        epochs = [planned.epoch(number) for number in range(3)]
        split = [epoch.split(batch, parts) for epoch in epochs for batch in epoch.batches]
        found = [needs_of(data, part) for of_batch in split for part in of_batch]
        assert all((np.array(need) <= largest.needs).all() for need in found)
        assert np.array([needs_of(data, part) for part in largest.parts]).max(0).tolist() == list(largest.needs)
        assert largest.has_several or max(map(len, split)) == 1


def needs_of(data, pairs):
    source, target = (np.concatenate([getattr(s, side).lengths for s in data.stores]) for side in ("source", "target"))
    return needs(len(pairs), source[pairs].max() + 1, target[pairs].max() + 1)


def test_a_long_pair_is_among_what_needs_most_beside_what_has_most_tokens():
    data = of_lengths([(150, 150)] + [(10, 10)] * 90, target_tokens=400).planned()
    assert sorted(map(len, data.largest(1).parts)) == [1, 40]


def test_of_equal_parts_one_is_named():
    assert len(of_lengths([(5, 5)] * 40, target_tokens=30).planned().largest(1).parts) == 1


def test_a_long_pair_is_known_from_the_start_though_its_corpus_is_seldom_seen():
    pairs = [(300, 300)] + [(2, 2)] * 99
    data = of_lengths(pairs, weights=(0.02,), target_tokens=40)
    assert data.planned().largest(1).needs[:3] == (300, 300, 600)


def test_weights_that_leave_an_epoch_without_pairs_are_an_error():
    with pytest.raises(DataError, match=r"data\.train: with these weights an epoch has no pairs; raise"):
        training_data(sizes=(3,), weights=(0.1,)).planned().epoch(0)


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
