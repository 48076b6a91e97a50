"""What every search can be asked for."""

from transduce.config import Settings


class SearchSettings(Settings, frozen=True):
    """How many outputs are wanted, how long they may become, and what they may not hold."""

    n_best: int = 1
    """Outputs returned for each sentence: of a beam the best, best first; of sampling so many draws, as drawn."""
    max_ratio: float = 2.0
    """Longest output: this times the source's tokens, plus max_extra."""
    max_extra: int = 50
    """Tokens added to the longest output."""
    min_ratio: float = 0.0
    """Shortest output: this times the source's tokens."""
    allow_unknown: bool = False
    """Whether the unknown token may be chosen; it is then left out of the text all the same."""
    no_repeat_ngram: int = 0
    """No run of so many tokens comes twice in an output; 0 for no such rule."""

    def __post_init__(self) -> None:
        if self.n_best < 1:
            raise ValueError("n_best must be at least 1")
        if self.max_ratio < 0 or self.max_extra < 0 or self.max_ratio + self.max_extra == 0:
            raise ValueError("max_ratio and max_extra must leave room for an output")
        if self.no_repeat_ngram < 0:
            raise ValueError("no_repeat_ngram must be at least 0")
