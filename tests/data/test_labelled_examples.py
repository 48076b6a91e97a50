"""Batches of examples: all of them once, as large as is asked for, the same for the same seed and epoch."""

import numpy as np
import pytest

from transduce.data.batch import SpecialIds
from transduce.data.examples import ExampleData, TextBatchingConfig
from transduce.data.planned import PlannedData
from transduce.data.text_batch import make_text_batch, row_length, shorten

LENGTHS = np.random.default_rng(1).integers(3, 40, size=203)
SPECIAL = SpecialIds(0, 3, 0, 2, 3)


def data(config: TextBatchingConfig, seed: int = 1) -> PlannedData[list[int]]:
    return ExampleData(LENGTHS, lambda examples: examples.tolist(), config, seed).planned()


@pytest.mark.parametrize("config", [TextBatchingConfig(examples=7), TextBatchingConfig(tokens=90)], ids=str)
def test_an_epoch_has_every_example_once_and_repeats_for_its_seed(config: TextBatchingConfig) -> None:
    plan = data(config).epoch(1).batches
    assert sorted(np.concatenate(plan).tolist()) == list(range(203))
    again = data(config).epoch(1).batches
    assert [batch.tolist() for batch in plan] == [batch.tolist() for batch in again]
    other = np.concatenate(data(config).epoch(2).batches).tolist()
    assert other != np.concatenate(plan).tolist()


def test_batches_by_tokens_fit_and_have_similar_lengths() -> None:
    plan = data(TextBatchingConfig(tokens=90)).epoch(0).batches
    assert max(int(LENGTHS[batch].sum()) for batch in plan) < 90 + LENGTHS.max()
    spread = np.mean([LENGTHS[batch].max() - LENGTHS[batch].min() for batch in plan])
    assert spread < 10


def test_no_part_is_larger_than_the_largest() -> None:
    found = data(TextBatchingConfig(examples=7))
    (largest,) = found.largest(2).parts
    epochs = [found.epoch(number) for number in range(3)]
    parts = [part for epoch in epochs for batch in epoch.batches for part in epoch.split(batch, 2)]
    assert epochs[0].tokens(largest) >= max(map(epochs[0].tokens, parts))


@pytest.mark.parametrize("processes", [2, 3])
def test_parts_of_several_processes_have_about_equally_many_tokens(processes: int) -> None:
    found = data(TextBatchingConfig(examples=29)).epoch(0)
    for batch in found.batches:
        parts = found.split(batch, 2, processes)
        assert len(parts) % processes == 0
        assert sorted(np.concatenate(parts).tolist()) == sorted(batch.tolist())
        tokens = [found.tokens(part) for part in parts]
        assert max(tokens) - min(tokens) <= 2 * LENGTHS.max()


def test_a_row_is_one_text_or_two_between_special_tokens() -> None:
    batch = make_text_batch([([5, 6], None), ([7], [8, 9])], SPECIAL)
    assert batch.tokens.tolist() == [[2, 5, 6, 3, 0, 0], [2, 7, 3, 8, 9, 3]]
    assert batch.segments.tolist() == [[0] * 6, [0, 0, 0, 1, 1, 1]]
    assert batch.is_real.sum(1).tolist() == [row_length([5, 6], None), row_length([7], [8, 9])] == [4, 6]


@pytest.mark.parametrize(
    ("first", "second", "limit", "expected"),
    [
        ([1, 2, 3, 4], None, 5, ([1, 2, 3], None)),
        ([1, 2, 3, 4], [5], 7, ([1, 2, 3], [5])),
        ([1], [5, 6, 7, 8], 6, ([1], [5, 6])),
        ([1, 2, 3, 4], [5, 6, 7, 8], 8, ([1, 2, 3], [5, 6])),
        ([1, 2], [5, 6], 9, ([1, 2], [5, 6])),
    ],
)
def test_of_two_texts_the_longer_one_is_cut(
    first: list[int], second: list[int] | None, limit: int, expected: tuple[list[int], list[int] | None]
) -> None:
    assert shorten(first, second, limit) == expected
    assert row_length(*shorten(first, second, limit)) <= limit
