"""Settings of the sentences that are read before a source."""

from typing import Literal

from transduce.base.config import Settings
from transduce.base.ranges import PositiveInt, ShareBelowOne


class ContextConfig(Settings, frozen=True):
    """The sentences before a source in its document, which are read with it (Tiedemann and Scherrer 2017)."""

    before: PositiveInt = 2
    """Maximum number of sentences before a source that are read with it, each followed by a break."""
    side: Literal["source", "both"] = "source"
    """What is read of a sentence before: its source alone, or its translation after it, too (both), where one is known:
    then a line's form of address or term follows those before. Both languages need one vocabulary."""
    dropout: ShareBelowOne = 0.2
    """Share of the pairs of an epoch whose source is read alone, so that the model translates one without context as
    well; with both sides as many of the others are read without the translations before."""

    @property
    def texts(self) -> int:
        """The most texts that are read before a source."""
        return self.before * (2 if self.side == "both" else 1)
