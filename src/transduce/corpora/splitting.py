"""Splits a data set that comes in one piece into training, validation and test parts, by a seed."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

from transduce.corpora.corpus import Keeps, SentencePair
from transduce.corpora.fingerprints import fingerprint

Part = Literal["train", "validation", "test"]
HeldOut = Literal["validation", "test"]
HELD_OUT: tuple[HeldOut, ...] = ("validation", "test")
Side = Literal["source", "target"]
SplitKind = Literal["grouped", "random", "blocks"]
BLOCK = 10  # pairs in a row that stay together in a split by blocks
GOLDEN = (5**0.5 - 1) / 2  # multiples of it, modulo 1, are spread evenly however many there are
HELD_OUT_OF_ROOT, LARGEST_SHARE, MAX_HELD_OUT = 3, 0.1, 2_000  # of files: times the root of their pairs, and limits


@dataclass(frozen=True)
class Split:
    """The split of a data set without its own."""

    kind: SplitKind = "grouped"
    validation: float = 0.05
    """The share of the pairs to validate on, 0 to 1."""
    test: float = 0.05
    """The share of the pairs to test on, 0 to 1."""
    seed: int = 1

    def __post_init__(self) -> None:
        if self.validation + self.test >= 1:
            raise ValueError("validation_share and test_share together must be below 1")

    def draws(self, grouped_by: Side) -> Callable[[SentencePair], float]:
        """Begins a pass; returns a function that draws a number from 0 to below 1 for each of its pairs, in order."""
        number, first = 0, fingerprint("", salt=f"split {self.seed}") / 2**64

        def draw(pair: SentencePair) -> float:
            nonlocal number
            number += 1
            if self.kind == "blocks":
                return (first + (number - 1) // BLOCK * GOLDEN) % 1
            key = letters_of(getattr(pair, grouped_by)) if self.kind == "grouped" else str(number)
            return fingerprint(key, salt=f"split {self.seed}") / 2**64

        return draw

    def part_of(self, drawn: float) -> Part:
        """Returns the part of a pair for which this number was drawn."""
        if drawn < self.test:
            return "test"
        return "validation" if drawn < self.test + self.validation else "train"


@dataclass(frozen=True)
class SplitRule:
    """A split of which some shares follow the number of pairs."""

    split: Split
    follows_number: tuple[HeldOut, ...] = ()
    """The parts whose share is `default_share`."""

    def of(self, pairs: int) -> Split:
        """Returns the split of this many pairs."""
        shares: dict[str, Any] = dict.fromkeys(self.follows_number, default_share(pairs))
        return replace(self.split, **shares)

    def held_out(self, pairs: int) -> float:
        """Returns the share of all held-out pairs; of more pairs it is no larger."""
        shares = ((name in self.follows_number, getattr(self.split, name)) for name in HELD_OUT)
        return sum(default_share(pairs) if follows else share for follows, share in shares)


def default_share(pairs: int) -> float:
    """Returns the share of the pairs to validate on, and to test on: enough to measure, and no more than that."""
    held_out = min(HELD_OUT_OF_ROOT * pairs**0.5, LARGEST_SHARE * pairs, MAX_HELD_OUT)
    return float(f"{held_out / max(pairs, 1) or LARGEST_SHARE:.3g}")


@dataclass(frozen=True)
class PartFilter:
    """Keeps the pairs of one part; each is drawn by a hash, so that nothing is remembered."""

    part: Part
    split: Split
    grouped_by: Side
    """The side whose sentences stay in one part, if they should."""

    reason: str | None = None

    @property
    def content(self) -> str:
        """A text of all that decisions depend on."""
        return f"{self.part} {self.split} {self.grouped_by}"

    @property
    def remembers(self) -> bool:
        """True if a decision depends on earlier pairs: on their number."""
        return self.split.kind != "grouped"

    def start(self) -> Keeps:
        """Begins a pass."""
        draw = self.split.draws(self.grouped_by)
        return lambda pair: self.split.part_of(draw(pair)) == self.part


def letters_of(text: str) -> str:
    """Returns a sentence without case, accents, punctuation and spacing: equal for spellings of the same one."""
    return " ".join(text.casefold().translate(_LETTERS).split())


class _Letters(dict[int, str]):
    """A table for str.translate that fills itself: letters and digits stay, accents go, all else becomes a space.

    Characters are taken apart one by one (NFKD): a whole text would have its accents sorted, which are to go anyway, in
    quadratic time.
    """

    def __missing__(self, code: int) -> str:
        self[code] = "".join(
            character if character.isalnum() else "" if unicodedata.combining(character) else " "
            for character in unicodedata.normalize("NFKD", chr(code))
        )
        return self[code]


_LETTERS = _Letters()
