"""Parts of a batch need little padding, and none needs much more than its share."""

from itertools import combinations, pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from transduce.data.parts import cut, cut_evenly, halve, least_padding, needs, runs_that_fit, within

short = st.tuples(st.integers(1, 5), st.integers(1, 7))
odd = st.tuples(st.sampled_from([1, 2, 3, 40]), st.sampled_from([1, 2, 30]))
few_pairs = st.lists(short, min_size=1, max_size=9)
pairs_of_any_length = st.lists(short | odd, min_size=1, max_size=25)


def sorted_lengths(pairs):
    """Of pairs of target and source length."""
    target, source = np.array(sorted(pairs)).T
    return source, target


def tokens(source, target, run):
    start, stop = run
    return (stop - start) * int(source[start:stop].max() + target[start:stop].max())


def padded(source, target, runs):
    return sum(tokens(source, target, run) for run in runs)


def much(source, target, parts):
    """Twice a part's share, or that and a quarter of the batch."""
    longest = int(source.max() + target.max())
    share = -(-len(target) // parts) * longest
    return min(2 * share, share + len(target) * longest / 4)


def is_whole(runs, pairs):
    return [start for start, _ in runs] == [0, *(stop for _, stop in runs[:-1])] and runs[-1][1] == pairs


@settings(max_examples=50)
@given(few_pairs, st.integers(1, 4))
def test_parts_of_a_batch_need_the_least_padding_of_all_that_keep_a_target_length_together(pairs, parts):
    source, target = sorted_lengths(pairs)
    runs = least_padding(source, target, parts)
    edges = [i for i in range(1, len(target)) if target[i] != target[i - 1]]
    cuts = [cut for count in range(parts) for cut in combinations(edges, count)]
    every = [list(pairwise([0, *cut, len(target)])) for cut in cuts]
    assert runs in every
    assert padded(source, target, runs) == min(padded(source, target, other) for other in every)


@settings(max_examples=50)
@given(few_pairs, st.integers(1, 4))
def test_of_even_parts_the_largest_is_as_small_as_can_be(pairs, parts):
    source, target = sorted_lengths(pairs)
    parts = min(parts, len(pairs))
    runs = cut_evenly(source, target, parts)
    assert is_whole(runs, len(pairs)) and len(runs) == parts
    every = [pairwise([0, *cut, len(target)]) for cut in combinations(range(1, len(target)), parts - 1)]
    least = min(max(tokens(source, target, run) for run in other) for other in every)
    assert max(tokens(source, target, run) for run in runs) <= least / 0.99


@settings(max_examples=50)
@given(pairs_of_any_length, st.integers(1, 9))
def test_no_part_needs_much_more_than_its_share_of_the_batch(pairs, parts):
    source, target = sorted_lengths(pairs)
    runs = cut(source, target, parts)
    assert is_whole(runs, len(pairs)) and len(runs) <= parts
    assert all(tokens(source, target, run) <= much(source, target, parts) for run in runs)


@settings(max_examples=50)
@given(pairs_of_any_length, st.integers(1, 9))
def test_where_the_least_padding_is_even_enough_it_is_what_is_cut(pairs, parts):
    source, target = sorted_lengths(pairs)
    runs = least_padding(source, target, parts)
    if all(tokens(source, target, run) <= much(source, target, parts) for run in runs):
        assert cut(source, target, parts) == runs


@settings(max_examples=50)
@given(st.integers(1, 200), st.integers(1, 13), st.integers(1, 30), st.integers(1, 30))
def test_pairs_of_one_length_are_divided_evenly(pairs, parts, source_length, target_length):
    source, target = np.full(pairs, source_length), np.full(pairs, target_length)
    runs = cut(source, target, parts)
    assert is_whole(runs, pairs)
    assert max(stop - start for start, stop in runs) <= -(-pairs // parts)


@settings(max_examples=50)
@given(pairs_of_any_length, st.integers(1, 5), st.integers(1, 300))
def test_no_part_takes_more_tokens_than_it_may_unless_it_is_a_single_pair(pairs, parts, most):
    source, target = sorted_lengths(pairs)
    runs = cut(source, target, parts, most)
    assert is_whole(runs, len(pairs))
    assert all(tokens(source, target, run) <= most or run[1] - run[0] == 1 for run in runs)
    if tokens(source, target, (0, len(pairs))) <= most:
        assert len(runs) <= parts


@settings(max_examples=50)
@given(pairs_of_any_length, st.integers(1, 300))
def test_runs_that_fit_hold_as_many_as_fit(pairs, most):
    source, target = sorted_lengths(pairs * 5)  # more than are looked at together at first
    runs = runs_that_fit(source, target, lambda rows, s, t: rows * (s + t) <= most)
    assert is_whole(runs, len(target))
    for start, stop in runs:
        assert stop - start == 1 or tokens(source, target, (start, stop)) <= most
        assert stop == len(target) or tokens(source, target, (start, stop + 1)) > most


@settings(max_examples=50)
@given(pairs_of_any_length, st.tuples(*[st.integers(1, 400)] * 6))
def test_halves_need_no_more_than_they_may_by_any_measure(pairs, most):
    source, target = sorted_lengths(pairs)
    runs = halve(source, target, within(most))
    assert is_whole(runs, len(target))
    for start, stop in runs:
        found = needs(stop - start, source[start:stop].max(), target[start:stop].max())
        assert stop - start == 1 or all(need <= known for need, known in zip(found, most, strict=True))
