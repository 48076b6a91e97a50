"""Splits a data set that comes in one piece into training, validation and test parts, by a seed."""

import unicodedata
from dataclasses import dataclass
from typing import Literal

from transduce.corpora.corpus import Keeps, SentencePair
from transduce.corpora.fingerprints import fingerprint

Part = Literal["train", "validation", "test"]
Side = Literal["source", "target"]
SplitKind = Literal["grouped", "random"]


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

    def start(self) -> Keeps:
        """Begins a pass."""
        number = 0

        def keeps(pair: SentencePair) -> bool:
            nonlocal number
            number += 1
            key = letters_of(getattr(pair, self.grouped_by)) if self.split.kind == "grouped" else str(number)
            return self._draw(key) == self.part

        return keeps

    def _draw(self, key: str) -> Part:
        drawn = fingerprint(key, salt=f"split {self.split.seed}") / 2**64
        if drawn < self.split.test:
            return "test"
        return "validation" if drawn < self.split.test + self.split.validation else "train"


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
