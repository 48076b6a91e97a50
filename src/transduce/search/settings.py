"""What every search can be asked for."""

from transduce.config import Settings
from transduce.ranges import ExtraLength, LengthRatio, NBest, NonNegativeInt, RepetitionPenalty


class SearchSettings(Settings, frozen=True):
    """How many outputs are wanted, how long they may become, and what they may not hold."""

    n_best: NBest = 1
    """Outputs per sentence: the n best hypotheses of a beam, best first, or n samples."""
    max_ratio: LengthRatio = 2.0
    """Maximum output length: this times the source length in tokens, plus max_extra."""
    max_extra: ExtraLength = 50
    """Tokens added to the longest output."""
    min_ratio: LengthRatio = 0.0
    """Minimum output length: this times the source length in tokens."""
    allow_unknown: bool = False
    """Allow the unknown token, printed as <unk>."""
    no_repeat_ngram: NonNegativeInt = 0
    """Do not repeat n-grams of this size (0: off)."""
    repetition_penalty: RepetitionPenalty = 1.0
    """Multiplies the log-probability of tokens that have been written, a prompt's too (Keskar et al. 2019; 1: off)."""

    def _check_together(self) -> None:
        if self.max_ratio + self.max_extra == 0:
            raise ValueError("max_ratio and max_extra must not both be 0")
        if self.max_extra == 0 and self.min_ratio > self.max_ratio:
            raise ValueError("min_ratio must be at most max_ratio where max_extra is 0: no output is long enough")
