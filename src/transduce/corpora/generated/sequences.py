"""Random sequences of integers, to be copied or reversed: tasks whose right answers are known."""

from random import Random
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta

from transduce.base.config import Settings
from transduce.base.errors import DataError
from transduce.base.ranges import PositiveInt, Seed
from transduce.corpora.corpus import SentencePair

Task = Literal["copy", "reverse"]

DRAWS_PER_SEQUENCE = 100  # draws of each, after which there seem to be no new ones

SequenceLength = Annotated[int, Meta(ge=1, le=100_000)]
Sequences = Annotated[int, Meta(ge=1, le=100_000_000)]


class SequencesConfig(Settings, frozen=True):
    """The random sequences of the data sets copy and reverse; no sequence is in two splits, or twice in one."""

    symbols: PositiveInt = 10
    """The largest integer of sequences, which are made of 1 to this."""
    min_length: SequenceLength = 5
    """Integers in the shortest sequences."""
    max_length: SequenceLength = 10
    """Integers in the longest sequences; all lengths are drawn equally often."""
    max_length_held_out: SequenceLength | None = None
    """Integers in the longest sequences of validation and test (default: max_length)."""
    train: Sequences = 18_000
    """Sequences to train on."""
    validation: Sequences = 1_000
    """Sequences to validate on."""
    test: Sequences = 1_000
    """Sequences to test on."""
    seed: Seed = 1
    """Random seed of the sequences; apart from the run's seed."""

    def _check_together(self) -> None:
        if self.max_length < self.min_length:
            raise ValueError("max_length must be at least min_length")
        if self.max_length_held_out is not None and self.max_length_held_out < self.min_length:
            raise ValueError("max_length_held_out must be at least min_length")

    @property
    def sizes(self) -> dict[str, int]:
        """The number of sequences of each split, in the order in which they are drawn."""
        return {"test": self.test, "validation": self.validation, "train": self.train}


def sequence_pairs(task: Task, config: SequencesConfig) -> dict[str, list[SentencePair]]:
    """Returns all pairs of each split; a longer training set begins as a shorter one, beside the same other splits."""
    held_out = _Lengths(config.min_length, config.max_length_held_out or config.max_length)
    lengths = {"test": held_out, "validation": held_out, "train": _Lengths(config.min_length, config.max_length)}
    random, seen = Random(config.seed), set[tuple[int, ...]]()
    return {
        split: [_pair(task, _new_sequence(random, seen, lengths[split], config)) for _ in range(size)]
        for split, size in config.sizes.items()
    }


class _Lengths(NamedTuple):
    shortest: int
    longest: int


def _new_sequence(
    random: Random, seen: set[tuple[int, ...]], lengths: _Lengths, config: SequencesConfig
) -> tuple[int, ...]:
    for _ in range(DRAWS_PER_SEQUENCE * (len(seen) + 1)):
        length = random.randint(*lengths)
        sequence = tuple(random.randint(1, config.symbols) for _ in range(length))
        if sequence not in seen:
            seen.add(sequence)
            return sequence
    raise DataError(
        f"data.sequences: {sum(config.sizes.values()):,} different sequences wanted, but there are hardly more than "
        f"{len(seen):,} of {lengths.shortest} to {lengths.longest} of {config.symbols} symbols; ask for fewer, or "
        "raise max_length or symbols"
    )


def _pair(task: Task, sequence: tuple[int, ...]) -> SentencePair:
    source = [str(number) for number in sequence]
    return SentencePair(" ".join(source), " ".join(source if task == "copy" else reversed(source)))
