"""What every search can be asked for."""

from transduce.config import Settings
from transduce.ranges import ExtraLength, LengthRatio, NBest, NonNegativeInt


class SearchSettings(Settings, frozen=True):
    """How many outputs are wanted, how long they may become, and what they may not hold."""

    n_best: NBest = 1
    """Outputs returned for each sentence: of a beam the best, best first; of sampling so many draws, as drawn."""
    max_ratio: LengthRatio = 2.0
    """Longest output: this times the source's tokens, plus max_extra."""
    max_extra: ExtraLength = 50
    """Tokens added to the longest output."""
    min_ratio: LengthRatio = 0.0
    """Shortest output: this times the source's tokens."""
    allow_unknown: bool = False
    """Whether the unknown token may be chosen, which reads <unk> in the text."""
    no_repeat_ngram: NonNegativeInt = 0
    """Do not repeat n-grams of this size (0: off)."""

    def _check_together(self) -> None:
        if self.max_ratio + self.max_extra == 0:
            raise ValueError("max_ratio and max_extra must leave room for an output")
        if self.max_extra == 0 and self.min_ratio > self.max_ratio:
            raise ValueError("min_ratio must be at most max_ratio where max_extra is 0: no output is long enough")
