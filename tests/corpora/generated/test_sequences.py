"""Generated tasks are right, distinct, and the same for the same settings."""

import pytest

from transduce.base.errors import DataError
from transduce.corpora.generated.sequences import SequencesConfig, sequence_pairs

SMALL = SequencesConfig(symbols=5, min_length=2, max_length=6, train=300, validation=70, test=30, seed=3)


@pytest.mark.parametrize(("task", "step"), [("copy", 1), ("reverse", -1)])
def test_targets_are_what_the_task_says(task, step):
    for pairs in sequence_pairs(task, SMALL).values():
        for pair in pairs:
            numbers = pair.source.split()
            assert pair.target.split() == numbers[::step]
            assert 2 <= len(numbers) <= 6
            assert set(numbers) <= {"1", "2", "3", "4", "5"}


def test_no_sequence_comes_twice():
    pairs = sequence_pairs("copy", SMALL)
    assert {split: len(found) for split, found in pairs.items()} == {"train": 300, "validation": 70, "test": 30}
    assert len({pair.source for found in pairs.values() for pair in found}) == 400


def test_a_longer_training_set_leaves_the_others_as_they_are():
    longer = SequencesConfig(symbols=5, min_length=2, max_length=6, train=500, validation=70, test=30, seed=3)
    before, after = sequence_pairs("copy", SMALL), sequence_pairs("copy", longer)
    assert (after["test"], after["validation"]) == (before["test"], before["validation"])
    assert after["train"][:300] == before["train"]
    other = SequencesConfig(symbols=5, min_length=2, max_length=6, train=300, validation=70, test=30, seed=4)
    assert sequence_pairs("copy", other) != before


def test_held_out_sequences_may_be_longer_than_those_trained_on():
    longer = SequencesConfig(
        symbols=5, min_length=2, max_length=4, max_length_held_out=6, train=90, validation=70, test=30
    )
    lengths = {
        split: {len(pair.source.split()) for pair in pairs} for split, pairs in sequence_pairs("copy", longer).items()
    }
    assert lengths == {"train": {2, 3, 4}, "validation": {2, 3, 4, 5, 6}, "test": {2, 3, 4, 5, 6}}


def test_more_sequences_than_there_are_is_an_error():
    few = SequencesConfig(symbols=2, min_length=1, max_length=3, train=10, validation=4, test=1)
    with pytest.raises(DataError, match=r"15 different sequences wanted, .* 14 of 1 to 3 of 2 symbols; ask for fewer"):
        sequence_pairs("copy", few)


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"train": 0}, "train must be from 1"),
        ({"max_length": 4}, "max_length must be at least min_length"),
        ({"max_length_held_out": 4}, "max_length_held_out must be at least min_length"),
    ],
)
def test_sizes_that_make_no_sense_are_refused(changes, pattern):
    with pytest.raises(ValueError, match=pattern):
        SequencesConfig(**changes)
